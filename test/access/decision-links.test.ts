// Signed decision links: what they are bound to, that nothing else passes for one, and that each decides once.

import { createHmac, hkdfSync } from 'node:crypto'
import type { DecisionLink, Runtime } from 'pawl'
import { describe, expect, test } from 'vitest'
import { opening } from '../kit/open-runtime.ts'
import { simpleTool } from '../kit/simple-tools.ts'
import { onEveryStore, until } from '../kit/stores/all-stores.ts'

const bea = 'user:bea'
const wipe = simpleTool('wipe', () => 'wiped')
const asking = (quorum: number) => ({ rules: [{ tool: 'wipe', then: 'ask' as const, quorum }] })

onEveryStore('decision links', (ground) => {
  let sessions = 0
  const open = async (options: Parameters<typeof ground.worker>[0] = {}): Promise<Runtime> =>
    (await ground.worker({ tools: [wipe], policy: asking(1), ...options })).runtime
  /** Starts a call that waits for approval. */
  const request = async (runtime: Runtime, tenant = 'acme') => {
    const session = runtime.session(`s${++sessions}`, { tenant, principal: 'user:ada' })
    const outcome = session.run([{ id: 'a', name: 'wipe', input: {} }]).then(([first]) => first)
    outcome.catch(() => {}) // the runtime closes first
    let item = (await runtime.inbox({ tenant, session: session.id }))[0]
    await until(async () => (item = (await runtime.inbox({ tenant, session: session.id }))[0]) !== undefined)
    return { item: item as NonNullable<typeof item>, outcome, session }
  }
  const decide = (runtime: Runtime, { item, by, tenant, session, fingerprint }: DecisionLink) =>
    runtime.decide(item, { approve: true, door: 'link', by, tenant, session, fingerprint })

  test('DOOR-5: a link proves the item, its session and fingerprint, the person and the expiry', async () => {
    const runtime = await open()
    const { item, outcome, session } = await request(runtime)
    const signed = await runtime.links.sign({ item: item.id, by: bea })
    expect(signed).toMatch(/^[A-Za-z0-9._-]+$/)
    const link = await runtime.links.verify(signed)
    expect(link).toEqual({
      item: item.id,
      by: bea,
      tenant: 'acme',
      session: session.id,
      fingerprint: item.fingerprint,
      expiresAt: ground.clock.now() + 86_400_000,
    })
    expect(await decide(runtime, link as DecisionLink)).toMatchObject({ answer: 'accepted', status: 'approved' })
    expect((await outcome)?.status).toBe('success')
    const again = await decide(runtime, (await runtime.links.verify(signed)) as DecisionLink)
    expect(again).toMatchObject({ answer: 'already_decided', status: 'approved', by: [{ by: bea, door: 'link' }] })
  })

  test('DOOR-5: with a quorum of two, each link is one vote, and a repeated one is refused', async () => {
    const runtime = await open({ policy: asking(2) })
    const { item, outcome } = await request(runtime)
    const verified = async (by: string) =>
      (await runtime.links.verify(await runtime.links.sign({ item: item.id, by }))) as DecisionLink
    const [first, second] = [await verified(bea), await verified('user:bob')]
    expect(await decide(runtime, first)).toMatchObject({ answer: 'accepted', status: 'pending', approvals: 1 })
    expect(await decide(runtime, first)).toMatchObject({ answer: 'refused', why: 'voted_already' })
    expect(await decide(runtime, await verified(bea))).toMatchObject({ answer: 'refused', why: 'voted_already' })
    const both = await Promise.all([decide(runtime, second), decide(runtime, second)])
    expect(both.map(({ answer }) => answer).toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
      'accepted',
      'already_decided',
    ])
    expect((await outcome)?.status).toBe('success')
    expect(await decide(runtime, first)).toMatchObject({ answer: 'already_decided' })
  })

  test('DOOR-5: a link expires, and its expiry can be chosen', async () => {
    const runtime = await open()
    const { item } = await request(runtime)
    const signed = await runtime.links.sign({ item: item.id, by: bea, expiresIn: '10m' })
    await ground.clock.advance(599_999)
    expect(await runtime.links.verify(signed)).toBeDefined()
    await ground.clock.advance(1)
    expect(await runtime.links.verify(signed)).toBeUndefined()
  })

  test('DOOR-5: no changed, cut or re-encoded text passes for a link', async () => {
    const runtime = await open()
    const { item } = await request(runtime)
    const signed = await runtime.links.sign({ item: item.id, by: bea })
    const other = await runtime.links.sign({ item: item.id, by: 'user:bob' })
    const [body = '', signature = ''] = signed.split('.')
    const forged = (fields: unknown[], key: string | Buffer): string => {
      const text = Buffer.from(JSON.stringify(fields)).toString('base64url')
      return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
    }
    const fields = JSON.parse(Buffer.from(body, 'base64url').toString()) as unknown[]
    const guessed = Buffer.from(hkdfSync('sha256', 'guess', '', 'pawl decision link v1', 32))
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const lastCharacters = Array.from(alphabet, (char) => signed.slice(0, -1) + char).filter((text) => text !== signed)
    const wrong = [
      ...Array.from(signed, (char, at) => signed.slice(0, at) + (char === 'A' ? 'B' : 'A') + signed.slice(at + 1)),
      ...Array.from(signed, (_, at) => signed.slice(0, at)),
      ...lastCharacters,
      `${other.split('.')[0]}.${signature}`,
      `${signed}A`,
      `${signed}=`,
      ` ${signed}`,
      `${body}.`,
      forged(fields, ''),
      forged(fields, guessed),
      forged([], ''),
      'x'.repeat(1_000_000),
      null,
      7,
      [signed],
    ]
    for (const text of wrong.filter((each) => each !== signed))
      expect(await runtime.links.verify(text as string), JSON.stringify(text)?.slice(0, 200)).toBeUndefined()
    expect(await runtime.links.verify(signed)).toBeDefined()
  })

  test('POL-2: a link signed for an earlier request decides nothing after the call has changed', async () => {
    const runtime = await open()
    const { item } = await request(runtime)
    const link = (await runtime.links.verify(await runtime.links.sign({ item: item.id, by: bea }))) as DecisionLink
    const wrong: Partial<DecisionLink>[] = [{ fingerprint: 'other' }, { tenant: 'other' }, { session: 'other' }]
    const answers = await Promise.all(wrong.map(async (each) => (await decide(runtime, { ...link, ...each })).answer))
    expect(answers).toEqual(['refused', 'unknown', 'unknown'])
  })

  test('DOOR-5: an unknown, foreign, decided, expired or client item is not signed, in words', async () => {
    const runtime = await open({ tools: [wipe, simpleTool('page', { client: true } as never, undefined as never)] })
    const sign = (item: string, more: object = {}) => runtime.links.sign({ item, by: bea, ...more })
    await expect(sign('nothing')).rejects.toMatchObject({ code: 'item_unknown' })
    const { item } = await request(runtime)
    await expect(sign(item.id, { tenant: 'other' })).rejects.toMatchObject({ code: 'item_unknown' })
    expect(await sign(item.id, { tenant: 'acme' })).toBeDefined()
    await runtime.decide(item.id, { deny: true, by: bea })
    await expect(sign(item.id)).rejects.toThrow('The inbox item is decided or has ended.')
    await expect(sign(item.id, { tenant: 'other' })).rejects.toMatchObject({ code: 'item_unknown' })
    await expect(runtime.links.sign({ item: item.id, by: ' ' })).rejects.toMatchObject({ code: 'config_invalid' })
    await expect(runtime.links.sign({ item: item.id } as never)).rejects.toThrow('`by` is missing')
    const session = runtime.session('client', { tenant: 'acme' })
    await session.run([{ id: 'c', name: 'page', input: {} }], { until: 'waiting' })
    const { wait } =
      (await ground.store.callAt({ tenant: 'acme', session: 'client', batch: '', id: 'c', occurrence: 0 })) ?? {}
    await expect(sign(wait ?? '')).rejects.toMatchObject({ code: 'item_unknown' })
    const late = await request(runtime)
    await ground.clock.advance(late.item.expiresAt - ground.clock.now())
    await expect(sign(late.item.id)).rejects.toMatchObject({ code: 'item_decided' })
  })
})

describe('decision links and host secrets', () => {
  const opened = opening()

  test('DOOR-5: a link stays valid when the host secret is rotated, and is not valid elsewhere', async () => {
    const [old, next] = ['an old secret of at least 32 bytes', 'a new secret of at least 32 bytes']
    const options = { tools: [wipe], policy: asking(1) }
    const { runtime, store, clock } = await opened({ ...options, keys: { secret: old } })
    await runtime.session('s').run([{ id: 'a', name: 'wipe', input: {} }], { until: 'waiting' })
    const [item] = await runtime.inbox()
    const signed = await runtime.links.sign({ item: item?.id ?? '', by: bea })
    const [text = '', signature] = signed.split('.')
    const key = Buffer.from(hkdfSync('sha256', old, '', 'pawl decision link v1', 32))
    expect(signature).toBe(createHmac('sha256', key).update(text).digest('base64url')) // later releases accept it
    const rotated = await opened({ ...options, store, clock, keys: { secret: next, previous: [old] } })
    expect(await rotated.runtime.links.verify(signed)).toMatchObject({ item: item?.id, by: bea })
    const renewed = await rotated.runtime.links.sign({ item: item?.id ?? '', by: bea })
    expect(await runtime.links.verify(renewed)).toBeUndefined()
    const elsewhere = await opened({ clock, keys: { secret: next } })
    expect(await elsewhere.runtime.links.verify(signed)).toBeUndefined()
  })
})
