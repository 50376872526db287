// Attacks on wait keys, decisions and idempotency keys through HTTP, on every store.

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { InboxItem } from '../../../src/index.ts'
import { long } from '../../kit/long-run.ts'
import { openServerApp, type ServerApp, type StoreKind, tokenOf } from '../../kit/server/server-app.ts'
import { stableDigest, storeDigest } from '../../kit/server/store-digest.ts'
import { serverForFile } from '../../kit/stores/postgres-for-file.ts'

const kinds: readonly StoreKind[] = ['memory', 'sqlite', 'postgres']
const server = serverForFile()
const many = 100

interface Got {
  readonly status: number
  readonly headers: string
  readonly body: Record<string, unknown>
}

describe.each(kinds)('waits and decisions over HTTP on %s', { timeout: long ? 600_000 : 60_000 }, (kind) => {
  let app: ServerApp
  beforeAll(async () => {
    app = await openServerApp({ kind, ...(kind === 'postgres' ? { connection: server.connection } : {}) })
  })
  afterAll(() => app.close())

  async function send(
    method: string,
    path: string,
    { token, body, headers }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
  ): Promise<Got> {
    const response = await app.server.fetch(
      new Request(`http://localhost${path}`, {
        method,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
    )
    const text = await response.text()
    const { requestId: _, ...rest } = (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>
    const shown = [...response.headers].filter(([name]) => name !== 'x-request-id')
    return { status: response.status, headers: JSON.stringify(shown), body: rest }
  }
  const resolve = (key: unknown, answer: object = { value: 1 }): Promise<Got> =>
    send('POST', '/v1/waits/resolve', { body: { key, ...answer } })
  const approval = async (tenant: 'acme' | 'rival' = 'acme') => (await app.data[tenant].approval()) as InboxItem
  const decide = (item: string, body: object, token = tokenOf('acme', 'approver'), headers = {}): Promise<Got> =>
    send('POST', `/v1/inbox/${item}/decision`, { token, body, headers })
  const outcomeOf = async ({ call }: Pick<InboxItem, 'call'>, tenant = 'acme') => {
    await vi.waitUntil(async () => (await app.runtime.calls.get(call, { tenant }))?.state === 'settled', {
      interval: 5,
      timeout: 20_000,
    })
    return (await app.runtime.calls.get(call, { tenant }))?.outcome
  }
  const runsOf = (order: string): number =>
    app.ledger.filter(({ input }) => (input as { order?: string } | undefined)?.order === order).length

  test('WAIT-3: wrong, foreign, used-up and malformed keys have the same status, body and headers', async () => {
    const key = await app.data.acme.waitKey()
    const almost = key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A')
    const item = await approval()
    const expired = `pawl_${randomBytes(32).toString('base64url')}`
    const first = await resolve(expired)
    expect(first).toMatchObject({ status: 404, body: { code: 'not_found' } })
    const texts = [
      almost,
      key.toLowerCase(),
      `${key} `,
      '',
      'pawl_',
      item.id,
      item.fingerprint,
      item.call,
      'x\u0000',
      '\u00e9',
    ]
    for (const wrong of [...texts, 'x'.repeat(4_096)]) expect(await resolve(wrong), wrong).toEqual(first)
    for (const token of [tokenOf('acme', 'admin'), tokenOf('rival', 'admin'), 'garbage'])
      expect(await send('POST', '/v1/waits/resolve', { token, body: { key: almost, value: 1 } })).toEqual(first)
    for (const wrong of [7, null, [key], { key }, true]) expect((await resolve(wrong)).status).toBe(400)
    expect(await resolve(key)).toMatchObject({ status: 200, body: { answer: 'accepted' } })
  })

  test('WAIT-3: GET, HEAD and a key in the address never answer a wait', async () => {
    const key = await app.data.acme.waitKey()
    const before = await stableDigest(app.store)
    for (const path of [
      '/v1/waits/resolve',
      `/v1/waits/resolve?key=${key}&value=1`,
      `/v1/waits/${key}`,
      `/decide/${key}`,
    ])
      for (const method of ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'PUT'])
        expect((await send(method, path)).status, `${method} ${path}`).toBeGreaterThanOrEqual(400)
    const posted = await send('POST', `/v1/waits/resolve?key=${key}&value=1`, { body: {} })
    expect(posted.status).toBe(400)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    const asForm = new Request('http://localhost/v1/waits/resolve', { method: 'POST', headers: form, body: `key=${key}&value=1` }) // prettier-ignore
    expect((await app.server.fetch(asForm)).status).toBe(415)
    expect(await storeDigest(app.store)).toBe(before)
    expect((await resolve(key)).status).toBe(200)
  })

  test('WAIT-2: a malformed answer is refused and leaves the wait open; one of 100 wins', async () => {
    const key = await app.data.acme.waitKey()
    const wrong = [
      {},
      { value: 1, cancelled: 'x' },
      { failure: 'x' },
      { cancelled: 1 },
      { timeout: true },
      { by: 'user:eve', value: 1 },
    ]
    for (const answer of wrong) expect((await resolve(key, answer)).status, JSON.stringify(answer)).toBe(400)
    const answers = await Promise.all(Array.from({ length: many }, (_, n) => resolve(key, { value: n })))
    const accepted = answers.flatMap(({ status }, n) => (status === 200 ? [n] : []))
    expect(accepted).toHaveLength(1)
    const terminal = { value: accepted[0] }
    const late = { answer: 'already_resolved', terminal }
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(many - 1)
    for (const { status, body } of answers) if (status === 409) expect(body.answer).toEqual(late)
  })

  test('POL-2: If-Match binds a decision: a stale fingerprint is 412, and the shown one is accepted', async () => {
    const item = await approval()
    const other = await approval()
    const shown = await app.server.fetch(
      new Request(`http://localhost/v1/inbox/${item.id}`, {
        headers: { authorization: `Bearer ${tokenOf('acme', 'approver')}` },
      }),
    )
    const etag = shown.headers.get('etag') as string
    expect(etag).toBe(`"${item.fingerprint}"`)
    for (const stale of [`"${other.fingerprint}"`, '"x"', '*', '""', `"${item.fingerprint}x"`, other.fingerprint])
      expect((await decide(item.id, { approve: true }, undefined, { 'if-match': stale })).status, stale).toBe(412)
    const both = await decide(item.id, { approve: true, fingerprint: other.fingerprint }, undefined, {
      'if-match': etag,
    })
    expect(both.status).toBe(400)
    expect((await app.runtime.inbox({ id: item.id })).length).toBe(1)
    expect((await decide(item.id, { approve: true }, undefined, { 'if-match': etag })).status).toBe(200)
    expect((await decide(item.id, { approve: true }, undefined, { 'if-match': etag })).status).toBe(409)
    expect((await outcomeOf(item))?.status).toBe('success')
  })

  test('POL-2: exactly one of 100 concurrent decisions is accepted, and the others see which', async () => {
    for (const round of [0, 1]) {
      const item = await approval()
      const runs = app.ledger.length
      const verbs = Array.from({ length: many }, (_, n) => ((n + round) % 2 === 0 ? { approve: true } : { deny: true }))
      const tokens = [tokenOf('acme', 'approver'), tokenOf('acme', 'operator'), tokenOf('acme', 'admin')] as const
      const answers = await Promise.all(verbs.map((verb, n) => decide(item.id, verb, tokens[n % 3])))
      const won = answers.flatMap(({ status }, n) => (status === 200 ? [n] : []))
      expect(won).toHaveLength(1)
      const approved = 'approve' in (verbs[won[0] as number] as object)
      const status = approved ? 'approved' : 'denied'
      for (const [n, answer] of answers.entries())
        if (n !== won[0])
          expect(answer).toMatchObject({ status: 409, body: { answer: { answer: 'already_decided', status } } })
      expect((await outcomeOf(item))?.status).toBe(approved ? 'success' : 'failure')
      expect(app.ledger.length - runs).toBe(approved ? 1 : 0)
    }
  })

  test('POL-2: a foreign, decided, cancelled or unknown item is never decided', async () => {
    const mine = await approval()
    const theirs = await approval('rival')
    const [foreign, missing] = [
      await decide(theirs.id, { approve: true }),
      await decide('0mwmkv8wn00000164de704c670bdc81079b', { approve: true }),
    ]
    expect(foreign).toEqual(missing)
    expect(foreign.status).toBe(404)
    expect((await app.runtime.inbox({ id: theirs.id })).length).toBe(1)
    const { call } = mine
    const path = `/v1/sessions/chat-acme/calls/${call}/cancel`
    expect((await send('POST', path, { token: tokenOf('acme', 'caller'), body: {} })).status).toBe(200)
    const late = await decide(mine.id, { approve: true })
    expect(late).toMatchObject({ status: 409, body: { answer: { status: 'withdrawn' } } })
    expect((await outcomeOf(mine))?.status).toBe('cancelled')
    expect((await decide(theirs.id, { approve: true }, tokenOf('acme', 'caller'))).status).toBe(403)
  })

  test('POL-3 DOOR-1: a body that names by, tenant, principal or door is refused', async () => {
    const item = await approval()
    for (const field of ['by', 'tenant', 'principal', 'door']) {
      const refused = await decide(item.id, { approve: true, [field]: 'user:eve' })
      expect(refused).toMatchObject({ status: 400 })
      expect(refused.body.detail).toContain('taken from the token')
      const run = { name: 'lookup', input: { text: 'x' }, [field]: 'rival' }
      expect((await send('POST', '/v1/sessions/s/calls', { token: tokenOf('acme', 'caller'), body: run })).status).toBe(
        400,
      )
    }
    expect((await decide(item.id, { approve: true })).status).toBe(200)
    const [made] = (await outcomeOf(item), await auditOf(item.id))
    expect(made).toMatchObject({ by: 'user:acme-approver', door: 'http' })
  })
  const auditOf = async (wait: string) => {
    const found: object[] = []
    for await (const event of app.runtime.events({ until: 'now', tenant: 'acme' }))
      if (event.type === 'decision.made' && (event.body as { wait?: string }).wait === wait) found.push(event.body)
    return found
  }

  test('CALL-6 DOOR-1: 100 submits with one Idempotency-Key run once, others get 409', async () => {
    const rounds = long ? 100 : 5
    for (let round = 0; round < rounds; round++) {
      const order = `order-${kind}-${round}`
      const path = '/v1/sessions/idem/calls'
      const headers = { 'idempotency-key': `key-${round}` }
      const submit = (text: string, token = tokenOf('acme', 'caller')): Promise<Got> =>
        send('POST', path, { token, headers, body: { name: 'lookup', input: { text, order } } })
      const runs = runsOf(order)
      expect(runs).toBe(0)
      const answers = await Promise.all(Array.from({ length: many }, () => submit('same')))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
      expect(new Set(answers.map(({ body }) => JSON.stringify(body.value))).size).toBe(1)
      expect(
        app.ledger.filter(
          ({ tenant, session, input }) => tenant === 'acme' && session === 'idem' && textOf(input) === 'same',
        ).length,
      ).toBe(round + 1)
      const other = await submit('other')
      expect(other.status).toBe(409)
      expect(app.ledger.some(({ input }) => textOf(input) === 'other')).toBe(false)
      const elsewhere = await submit('same', tokenOf('rival', 'caller'))
      expect(elsewhere.status).toBe(200)
      expect(app.ledger.filter(({ tenant, session }) => tenant === 'rival' && session === 'idem').length).toBe(
        round + 1,
      )
    }
  })
})

const textOf = (input: unknown): unknown => (input as { text?: unknown } | undefined)?.text
