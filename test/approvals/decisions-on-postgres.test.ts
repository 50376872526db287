// Approvals, questions, connections and client calls on PostgreSQL: two workers, and a process that only decides.

import { randomBytes } from 'node:crypto'
import { connectionRequired, createRuntime, type Runtime, tool } from 'pawl'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type Server, startServer } from '../kit/stores/postgres-server.ts'
import { bea, ada } from '../kit/approval-workers.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { argumentTool, rerunTool, simpleTool } from '../kit/simple-tools.ts'

const empty = z.object({})
let server: Server
let door: Runtime
let workers: Runtime[] = []
const ran: string[] = []
const tools = [
  argumentTool(
    'pay',
    z.object({ n: z.number() }),
    { concurrency: 'parallel', approval: 'always' },
    ({ n }) => (ran.push(`${n}`), n),
  ),
  tool({ name: 'pick', description: 'd', input: empty, output: z.object({ path: z.string() }), client: true }),
  rerunTool('ask', async (_, ctx) => (await ctx.ask({ text: 'Which\u0000?', choices: ['a', 'b'] })).value),
  simpleTool('issues', async (_, ctx) => ((await ctx.connection('github')) ? 'read' : connectionRequired('github'))),
]

beforeAll(async () => {
  server = await startServer()
  const { user, password, host, port, database } = server.connection
  const store = `postgres://${user}:${password}@${host}:${port}/${database}`
  const common = {
    store,
    keys: { secret: randomBytes(32) },
    tools,
    logger: quiet,
    lease: '2s' as const,
    budgets: { session: { calls: 40 } },
  }
  workers = await Promise.all([0, 1].map(() => createRuntime(common)))
  door = await createRuntime({ ...common, worker: false })
}, 60_000)
afterAll(async () => {
  await Promise.all([...workers, door].map((runtime) => runtime.close({ grace: 0 })))
  await server?.stop()
})
const items = (count: number, session: string) =>
  vi.waitUntil(
    async () => ((found) => found.length === count && found)(await door.inbox({ tenant: 'default', session })),
    {
      interval: 20,
      timeout: 10_000,
    },
  )

test('POL-2, POL-4: twenty calls on two workers with five deciders each run at most once', async () => {
  const calls = Array.from({ length: 20 }, (_, n) => ({ id: `${n}`, name: 'pay', input: { n } }))
  const runs = Promise.all(workers.map((worker) => worker.session('pay', ada).run(calls, { batch: 'm' })))
  const found = await items(20, 'pay')
  const answers = await Promise.all(
    found.map(({ id, args }) =>
      Promise.all(
        [door, ...workers, door, workers[0] as Runtime].map((by, at) =>
          by.decide(
            id,
            (args as { n: number }).n % 2 === 0 && at % 2 === 0
              ? { approve: true, by: `user:${at}` }
              : { deny: true, by: `user:${at}` },
          ),
        ),
      ),
    ),
  )
  for (const each of answers) expect(each.filter(({ answer }) => answer === 'accepted')).toHaveLength(1)
  const [one, two] = await runs
  expect(one?.map(({ status }) => status)).toEqual(two?.map(({ status }) => status))
  expect(ran.length).toBe(new Set(ran).size)
  expect(one?.filter(({ status }) => status === 'success')).toHaveLength(ran.length)
  expect(await door.inbox()).toEqual([])
}, 30_000)

test('POL-5, SESS-7: concurrent processes answer a connection, question and client call once', async () => {
  const session = (workers[0] as Runtime).session('rest', ada)
  const run = session.run([
    { id: 'q', name: 'ask' },
    { id: 'c', name: 'pick' },
    { id: 'i', name: 'issues' },
  ])
  const handed = await vi.waitUntil(async () => (await door.session('rest').pendingClientCalls())[0], {
    interval: 20,
    timeout: 10_000,
  })
  expect(handed).toMatchObject({ callId: 'c' })
  expect(await door.session('rest').answer('c', { value: 1 })).toMatchObject({ answer: 'invalid' })
  const posted = await Promise.all(
    [1, 2, 3, 4, 5].map((n) => door.session('rest').answer('c', { value: { path: `/${n}` } })),
  )
  expect(posted.filter(({ answer }) => answer === 'accepted')).toHaveLength(1)
  const found = await items(2, 'rest')
  const question = found.find(({ kind }) => kind === 'question')
  await door.decide(question?.id ?? '', { answer: 'b', ...bea })
  await door.connections.set({ provider: 'github', principal: 'user:ada' }, { token: 'a long token', ...bea })
  const outcomes = await run
  expect(outcomes).toMatchObject([
    { value: { answer: 'b' } },
    { value: { path: expect.stringMatching(/^\/\d$/) } },
    { value: 'read' },
  ])
  expect(await door.inbox()).toEqual([])
  await door.erase({ session: 'rest' })
}, 30_000)
