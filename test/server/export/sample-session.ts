// A session with every kind of outcome, an approval, a crash, a task, a schedule and a conversation, on a manual clock.

import { createRuntime, fail, retry, type Runtime, type RuntimeOptions, type Tool } from 'pawl'
import { manualClock, scriptedModel } from 'pawl/testing'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'
import { argumentTool, hang, rerunTask, rerunTool, simpleTool } from '../../kit/simple-tools.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'

export const start = Date.UTC(2026, 0, 5, 9, 30)
export const tenant = 'acme'
export const hostSecret = 'sk-live-51HostSecretValue'
export const hiddenPin = 'pin-4711-8822'
export const sessionSecret = 'tok-9f8e7d6c5b4a'

/** The body of `book` hangs in the first worker and returns in the second one. */
const toolsOf = (crashes: boolean): Tool[] => [
  argumentTool(
    'look_up_order',
    {
      type: 'object',
      properties: { order: { type: 'string' }, pin: { type: 'string', writeOnly: true } },
    } as const,
    { hints: { readOnly: true } },
    async (_, ctx) => {
      await ctx.step('read order', () => 1)
      await ctx.sleep('2s')
      await ctx.step('read customer', () => 2)
      return { order: 'A-1024', total: 129.9, customer: 'Ada', notes: ['gift', 'express'] }
    },
  ),
  rerunTool('flaky_search', { retry: { attempts: 3, base: '1s', cap: '4s' } }, async (_, ctx) => {
    await ctx.sleep(300)
    throw retry({ message: 'The search index is overloaded' })
  }),
  argumentTool(
    'refund',
    { type: 'object', properties: { order: { type: 'string' }, cents: { type: 'number' } } } as const,
    {
      approval: 'always',
      onCrash: 'rerun',
      preview: ({ order, cents }) => `Refund ${Number(cents) / 100} € for order ${order as string}`,
    },
    async (_, ctx) => {
      await ctx.sleep('1s')
      return { refunded: true }
    },
  ),
  rerunTool('book', async (_, ctx) => {
    await ctx.step('reserve', () => 'R-7')
    if (crashes) return hang()
    await ctx.sleep('3s')
    return { booking: 'R-7' }
  }),
  simpleTool('charge_card', () => (crashes ? hang() : 'charged')),
  simpleTool('not_found', () => {
    throw fail('No such order: A-9999', { code: 'not_found', class: 'invalid_request' })
  }),
  rerunTool('slow_report', async (_, ctx) => {
    await ctx.sleep('1d')
    return 'done'
  }),
  rerunTool('both', async (_, ctx) => {
    const outcomes = await ctx.run([
      { id: 'n1', name: 'look_up_order', input: { order: 'A-1' } },
      { id: 'n2', name: 'not_found' },
    ])
    return outcomes.map(({ status }) => status)
  }),
  simpleTool('sign', (_, ctx) => ctx.later({ name: 'signature', deadline: '2d' })),
  simpleTool('echo', (input) => input),
  rerunTask(
    'crawl',
    { timeout: '1d', background: { events: { page: { schema: { type: 'object' } } } } },
    async (_, ctx) => {
      ctx.task?.status('Reading pages')
      await ctx.task?.message('Found 12 pages')
      await ctx.emit('page', { url: 'https://shop.example/kettle' })
      await ctx.sleep('5s')
      return { pages: 12 }
    },
  ),
]

export interface Sample {
  readonly runtime: Runtime
  readonly clock: ReturnType<typeof manualClock>
}

/** Opens a runtime whose session `chat-42` has all of it. The caller closes the runtime. */
export async function sampleSession(options: Partial<RuntimeOptions> = {}): Promise<Sample> {
  const clock = manualClock(start)
  const store = memoryStore({ clock })
  let id = 0
  const ids = { next: () => `id${String(++id).padStart(5, '0')}` }
  const model = scriptedModel(
    [
      {
        think: 'I need the order first.',
        say: 'Let me look that up.',
        call: { id: 'm1', name: 'look_up_order', input: { order: 'A-1024', pin: hiddenPin } },
      },
      { say: 'Your order A-1024 costs **129.90 €**.' },
    ],
    { name: 'main' },
  )
  const common = {
    clock,
    ids,
    logger: quiet,
    lease: '10s' as const,
    models: [model],
    secrets: [hostSecret],
    ...options,
  }
  const dying = mortal(store)
  const first = await createRuntime({ ...common, store: dying.store, tools: toolsOf(true) })
  const before = first.session('chat-42', { tenant, principal: 'user:ada' })
  ignoreResult(before.run([{ id: 'c5', name: 'book' }], { batch: 'crash' }))
  ignoreResult(before.run([{ id: 'c6', name: 'charge_card', input: { cents: 12990 } }], { batch: 'crash 2' }))
  await clock.advance('4s')
  dying.die()
  await clock.advance('15s')
  const runtime = await createRuntime({ ...common, store, tools: toolsOf(false) })
  const session = runtime.session('chat-42', { tenant, principal: 'user:ada' })
  await clock.advance('10s')
  await session.secrets.set('api-token', sessionSecret)
  const turn = session.turn({ model: 'main', message: `How much was my order? My token is ${sessionSecret}`, id: 't1' })
  await clock.advance('3s')
  await turn.outcome
  const runs = [
    session.run([{ id: 'c2', name: 'flaky_search', input: { query: 'kettle' } }], { batch: 'm2' }),
    session.run([{ id: 'c3', name: 'refund', input: { order: 'A-1024', cents: 12990 } }], { batch: 'm3' }),
    session.run([{ id: 'c4', name: 'refund', input: { order: 'A-1', cents: 1 } }], { batch: 'm4' }),
    session.run([{ id: 'c7', name: 'not_found' }], { batch: 'm5' }),
    session.run([{ id: 'c8', name: 'slow_report' }], { batch: 'm6' }),
    session.run([{ id: 'c9', name: 'both' }], { batch: 'm7' }),
    session.run([{ id: 'c10', name: 'echo', input: { token: `Bearer ${sessionSecret}`, key: hostSecret } }], {
      batch: 'm8',
    }),
    session.run([{ id: 'c12', name: 'sign' }], { batch: 'm10' }),
    session.run([{ id: 'c13', name: 'refund', input: { order: 'B-2', cents: 500 } }], { batch: 'm11' }),
  ]
  for (const run of runs) ignoreResult(run)
  await session.tasks.start({ tool: 'crawl', title: 'Crawl the shop', id: 'task-1' })
  await session.schedules.create({ id: 'daily', tool: 'crawl', cron: '0 7 * * *', title: 'Every morning' })
  await clock.advance('4s')
  const items = await runtime.inbox({ tenant, session: 'chat-42' })
  const of = (callId: string): string => items.find((item) => item.callId === callId)?.id ?? ''
  await session.calls.cancel('c8', { batch: 'm6', reason: 'No longer needed', by: 'user:ada' })
  await clock.advance('6m')
  await runtime.decide(of('c3'), { approve: true, by: 'user:bea', door: 'cli', reason: 'The parcel was lost' })
  await runtime.decide(of('c4'), { deny: true, by: 'user:bea', door: 'http', reason: 'Not our order' })
  await clock.advance('8s')
  await clock.advance('8s')
  return { runtime, clock }
}
