// The audit of tokens, and how long the links of the start page work.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Runtime } from 'pawl'
import { openServerApp, type ServerApp, tokenOf } from '../kit/server/server-app.ts'

let app: ServerApp
let runtime: Runtime
beforeEach(async () => {
  app = await openServerApp({ data: false })
  ;({ runtime } = app)
})
afterEach(() => app.close())

async function send(token: string, path: string, body?: unknown): Promise<{ status: number; text: string }> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const response = await app.server.fetch(new Request(`http://localhost${path}`, { ...init, headers }))
  return { status: response.status, text: await response.text() }
}

async function audited(token: string, query = ''): Promise<object[]> {
  const { text } = await send(token, `/v1/audit${query}`)
  return (JSON.parse(text) as { events: { body: object }[] }).events.map(({ body }) => body)
}

test('DOOR-1: the audit has tokens for all tenants, for those who may see the whole store', async () => {
  const made = { name: 'root', roles: ['admin'], principal: 'user:bea' }
  expect((await send(tokenOf('all', 'admin'), '/v1/tokens', { ...made, allTenants: true })).status).toBe(200)
  const entry = expect.objectContaining({ ...made, by: 'user:all-admin' }) as object
  for (const query of ['', '?tenant=acme', '?tenant=rival'])
    expect(await audited(tokenOf('all', 'operator'), query), query).toContainEqual(entry)
  expect(await audited(tokenOf('acme', 'admin'))).not.toContainEqual(entry)
})

test('DOOR-1: the audit of a tenant has the person whom a new token stands for', async () => {
  await send(tokenOf('acme', 'admin'), '/v1/tokens', { name: 'ci', roles: ['approver'], principal: 'user:bea' })
  const entry = expect.objectContaining({ name: 'ci', principal: 'user:bea', by: 'user:acme-admin' }) as object
  expect(await audited(tokenOf('acme', 'operator'))).toContainEqual(entry)
  expect(await audited(tokenOf('all', 'operator'), '?tenant=rival')).not.toContainEqual(entry)
})

async function request(id: string): Promise<string> {
  const chat = runtime.session('chat', { tenant: 'acme', principal: 'user:ada' })
  await chat.run([{ id, name: 'refund', input: { order: id, cents: 1 } }], { until: 'waiting' })
  const item = (await runtime.inbox({ tenant: 'acme' })).find(({ callId }) => callId === id)
  return item?.id as string
}

test('DOOR-5: links of the start page work for an hour, not long after the login has ended', async () => {
  await request('a')
  const { text } = await send(tokenOf('acme', 'approver'), '/')
  const link = await runtime.links.verify(/\/decide\/([^"]+)/.exec(text)?.[1] as string)
  expect(link).toMatchObject({ by: 'user:acme-approver', tenant: 'acme' })
  expect((link?.expiresAt as number) - Date.now()).toBeLessThanOrEqual(3_600_000)
})

test('DOOR-5: the start page is shown although an item is decided while it is made', async () => {
  const item = await request('a')
  const { inbox } = runtime
  vi.spyOn(runtime, 'inbox').mockImplementationOnce(async (query) => {
    const items = await inbox(query)
    await runtime.decide(item, { deny: true, by: 'user:bea' })
    return items
  })
  const { status, text } = await send(tokenOf('acme', 'approver'), '/')
  expect(status).toBe(200)
  expect(text).not.toContain('/decide/')
})

test('POL-3: a rule with a condition that would be lost is refused, and decides nothing', async () => {
  const item = await request('lost')
  const when = JSON.parse('{"order":{"eq":"lost"},"__proto__":{"eq":"safe"}}') as object
  const body = `{"approve":true,"remember":{"when":${JSON.stringify(when)}}}`
  expect(body).toContain('__proto__')
  const { status, text } = await send(
    tokenOf('acme', 'approver'),
    `/v1/inbox/${item}/decision`,
    JSON.parse(body) as object,
  )
  expect([status, text]).toEqual([400, expect.stringContaining('remember')])
  expect((await runtime.inbox({ tenant: 'acme' })).map(({ id }) => id)).toContain(item)
})
