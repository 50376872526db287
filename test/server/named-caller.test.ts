// A request that names the caller it was made for is refused if its token is that of somebody else.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { openServerApp, type ServerApp, tokenOf } from '../kit/server/server-app.ts'

let app: ServerApp
beforeAll(async () => {
  app = await openServerApp({ data: false })
})
afterAll(() => app.close())

async function send(path: string, caller: string, body?: object): Promise<number> {
  const headers = { authorization: `Bearer ${tokenOf('acme', 'admin')}`, 'x-pawl-caller': caller }
  const init = body
    ? { method: 'POST', body: JSON.stringify(body), headers: { ...headers, 'content-type': 'application/json' } }
    : { headers }
  return (await app.server.fetch(new Request(`http://localhost${path}`, init))).status
}

const self = 'acme/user%3Aacme-admin'

test('DOOR-1: a request for another person or tenant than that of its token is refused', async () => {
  expect(await send('/v1/inbox', self)).toBe(200)
  for (const other of ['acme/user%3Abea', 'rival/user%3Aacme-admin', 'acme', '', 'acme/user:acme-admin'])
    expect(await send('/v1/inbox', other), other).toBe(412)
})

test('DOOR-1: a decision for another person than that of its token changes nothing', async () => {
  const chat = app.runtime.session('chat', { tenant: 'acme', principal: 'user:ada' })
  await chat.run([{ id: 'a', name: 'refund', input: { order: 'a', cents: 1 } }], { until: 'waiting' })
  const [item] = await app.runtime.inbox({ tenant: 'acme' })
  const decide = (caller: string) =>
    send(`/v1/inbox/${item?.id}/decision`, caller, { approve: true, fingerprint: item?.fingerprint })
  expect(await decide('acme/user%3Abea')).toBe(412)
  expect(await app.runtime.inbox({ tenant: 'acme' })).toHaveLength(1)
  expect(await decide(self)).toBe(200)
})

test('DOOR-1: a request that needs no token is not about a caller', async () => {
  expect(await send('/v1/waits/resolve', 'acme/user%3Abea', { key: 'none', value: 1 })).toBe(404)
})
