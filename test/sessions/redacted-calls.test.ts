// session.calls.get({ redacted }) and session.redact: records as people may see them.

import { createRuntime, type CallDetails } from 'pawl'
import { expect, test } from 'vitest'
import { closedAfterEach } from '../kit/open-runtime.ts'
import { argumentTool, simpleTool } from '../kit/simple-tools.ts'
import { freshMemory, quiet } from '../kit/stores/fresh-store.ts'
import { keepOpen } from '../kit/stores/killable-store.ts'

const runtimes = closedAfterEach()
const login = argumentTool(
  'login',
  { type: 'object', properties: { user: { type: 'string' }, pin: { type: 'string', writeOnly: true } } } as const,
  {},
  ({ user }) => ({ user, token: 'tok-9f8e7d6c5b4a' }),
)

test('DUR-12 CALL-4: a call is read with or without its secrets and hidden arguments', async () => {
  const { clock, store } = freshMemory()
  const common = { clock, logger: quiet }
  const worker = await createRuntime({
    ...common,
    store: keepOpen(store),
    tools: [login, simpleTool('echo', (input) => input)],
  })
  const door = await createRuntime({ ...common, store: keepOpen(store), worker: false })
  runtimes.push(worker, door)
  const session = worker.session('s')
  await session.run([
    { id: 'a', name: 'login', input: { user: 'ada', pin: '4711-8822' } },
    { id: 'b', name: 'echo', input: { text: 'open' } },
  ])
  await session.secrets.set('token', 'tok-9f8e7d6c5b4a')
  expect(await session.calls.get('a')).toMatchObject({
    input: { pin: '4711-8822' },
    outcome: { value: { token: 'tok-9f8e7d6c5b4a' } },
  })
  const redacted = (of: typeof session, id: string): Promise<CallDetails | undefined> =>
    of.calls.get(id, { redacted: true })
  expect(await redacted(session, 'a')).toMatchObject({
    input: { user: 'ada', pin: '[hidden]' },
    outcome: { value: { user: 'ada', token: '[redacted]' } },
  })
  const there = door.session('s')
  expect(await redacted(there, 'a')).toMatchObject({ input: '[hidden]', outcome: { value: { token: '[redacted]' } } })
  expect(await redacted(there, 'b')).toMatchObject({ input: { text: 'open' } })
})

test('DUR-12: session.redact replaces the secrets of the session, set by any process', async () => {
  const { clock, store } = freshMemory()
  const common = { clock, logger: quiet, secrets: ['host-secret-1'] }
  const first = await createRuntime({ ...common, store: keepOpen(store) })
  const second = await createRuntime({ ...common, store: keepOpen(store), worker: false })
  runtimes.push(first, second)
  await first.session('s').secrets.set('token', 'tok-9f8e7d6c5b4a')
  const value = { list: ['a tok-9f8e7d6c5b4a', 'host-secret-1'], open: 'words', number: 5 }
  expect(await second.session('s').redact(value)).toEqual({
    list: ['a [redacted]', '[redacted]'],
    open: 'words',
    number: 5,
  })
})
