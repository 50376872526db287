// Secrets in places where only people and models write: remembered rules, reasons, names of tools and ids of calls.

import { afterEach, beforeEach, expect, test } from 'vitest'
import type { FeedEvent, Session } from 'pawl'
import { openServerApp, type ServerApp, tokenOf } from '../kit/server/server-app.ts'

const secret = 'hush-S3cr"et-0042'
const base64 = Buffer.from(secret).toString('base64')
let app: ServerApp
let chat: Session
beforeEach(async () => {
  app = await openServerApp({ data: false })
  chat = app.runtime.session('chat', { tenant: 'acme', principal: 'user:ada' })
  await chat.secrets.set('password', secret)
})
afterEach(() => app.close())

async function send(path: string, body?: unknown): Promise<string> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const headers = { authorization: `Bearer ${tokenOf('acme', 'admin')}`, 'content-type': 'application/json' }
  const response = await app.server.fetch(new Request(`http://localhost${path}`, { ...init, headers }))
  return response.text()
}

const expectNoSecret = (text: string): void => {
  expect(text).not.toContain('hush-S3cr')
  expect(text).not.toContain(base64)
}

test('DUR-12 DOOR-1: a secret in a remembered rule or in a reason is not shown by any route', async () => {
  await chat.run([{ id: 'a', name: 'refund', input: { order: 'o', cents: 1 } }], { until: 'waiting' })
  const [item] = await app.runtime.inbox({ tenant: 'acme' })
  const decision = `/v1/inbox/${item?.id}/decision`
  const reason = `I know ${secret} and ${base64}`
  const remember = { when: { order: `${secret} ${base64}` } }
  expect(await send(decision, { approve: true, reason, remember })).toContain('"accepted"')
  const rules = await send('/v1/rules')
  expect(rules).toContain('I know [redacted] and [redacted]')
  expectNoSecret(rules)
  const [rule] = JSON.parse(rules) as { id: string }[]
  const again = await send(decision, { deny: true })
  expect(again).toContain('I know [redacted]')
  expectNoSecret(again)
  await app.runtime.rules.revoke(rule?.id as string, { by: 'user:bea', tenant: 'acme', reason })
  const revoked = await send('/v1/rules?all=true')
  expect(revoked).toContain('"revoked"')
  expectNoSecret(revoked)
})

test('DUR-12 FEED-1: a secret in the name of a tool or the id of a call is in no event', async () => {
  await chat.run([
    { id: 'a', name: `tool ${secret}` },
    { id: `id ${secret}`, name: 'lookup', input: { text: 'a' } },
  ])
  const events: FeedEvent[] = []
  for await (const event of chat.events({ until: 'now', internal: true, narrate: 'en' })) events.push(event)
  expect(events.filter(({ tool }) => tool === 'tool [redacted]').length).toBeGreaterThan(1)
  expect(events.filter(({ callId }) => callId === 'id [redacted]').length).toBeGreaterThan(1)
  expectNoSecret(JSON.stringify(events).replaceAll('\\', ''))
})

test('DUR-12 DOOR-1: a secret of a session in a task or a schedule is in no list of all sessions', async () => {
  const task = await chat.tasks.start({ tool: 'report', title: `Task ${secret} ${base64}` })
  const at = '2999-01-01T00:00:00Z'
  await chat.schedules.create({ tool: 'report', at, title: `Schedule ${secret} ${base64}` })
  const tasks = await send('/v1/tasks')
  expect(tasks).toContain('Task [redacted] [redacted]')
  expect(tasks).toContain(task.call)
  expectNoSecret(tasks)
  const schedules = await send('/v1/schedules')
  expect(schedules).toContain('Schedule [redacted] [redacted]')
  expectNoSecret(schedules)
})

test('DUR-12 DOOR-1: a secret in a task, in an earlier decision or in its end is shown by no route', async () => {
  const task = await chat.tasks.start({ tool: 'patient', id: 'export', title: `Export of ${secret} ${base64}` })
  const ask = async (id: string) => {
    await chat.run([{ id, name: 'refund', input: { order: 'o', cents: 1 } }], { until: 'waiting' })
    return (await app.runtime.inbox({ tenant: 'acme' })).find(({ callId }) => callId === id)?.id ?? ''
  }
  const earlier = await ask('a')
  await send(`/v1/inbox/${earlier}/decision`, { deny: true, reason: `I know ${secret} and ${base64}` })
  const item = await ask('b')
  const shown = {
    '/v1/tasks': 'Export of [redacted] [redacted]',
    [`/v1/inbox/${item}/context`]: 'I know [redacted] and [redacted]',
    [`/v1/inbox/${earlier}/decided`]: 'I know [redacted] and [redacted]',
    '/v1/audit': 'I know [redacted] and [redacted]',
  }
  for (const [path, text] of Object.entries(shown)) {
    const answer = await send(path)
    expect(answer, path).toContain(text)
    expectNoSecret(answer)
  }
  await chat.tasks.cancel(task.id)
})
