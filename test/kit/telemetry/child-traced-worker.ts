// A worker of killed-worker tests, in a process of its own: exports its spans to the collector of the test. The first
// one starts a turn and hangs in the body of a call, the second one resumes it and answers its approval.

import { createRuntime } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import { scriptedModel } from 'pawl/testing'
import { readOnlyTool, rerunTask, rerunTool, simpleTool } from '../simple-tools.ts'
import { quiet } from '../stores/fresh-store.ts'
import type { Connection } from '../stores/postgres-server.ts'
import { openTelemetry } from './open-telemetry.ts'

export interface WorkerOrder {
  readonly collector: string
  readonly service: string
  readonly store: string | { readonly connection: Connection; readonly schema: string }
  /** Start the turn; otherwise only resume what is open. */
  readonly starts: boolean
  readonly randomIds: boolean
}

const order = JSON.parse(process.argv[2] as string) as WorkerOrder
const { collector, service, starts, randomIds } = order
const host = openTelemetry(collector, { service, randomIds })

const work = rerunTool('work', async (_, ctx) => {
  await ctx.step('first', () => 1)
  if (ctx.attempt === 1) {
    await host.flush()
    process.send?.('in the body')
    await new Promise(() => {})
  }
  await ctx.step('second', () => 2)
  await ctx.run([{ id: 'n', name: 'inner' }])
  await ctx.tasks.start({ tool: 'report' })
  return 'worked'
})
const inner = readOnlyTool('inner', () => 1)
const report = rerunTask('report', (_, ctx) => ctx.step('write', () => 'written'))
const gate = simpleTool('gate', { approval: 'always' }, () => 'open')
const model = scriptedModel([{ call: [{ name: 'work' }, { name: 'gate' }] }, 'Done.'], { name: 'm' })

const store = typeof order.store === 'string' ? order.store : await postgresStore({ ...order.store, commit: 'process' })
const runtime = await createRuntime({
  store,
  ...(typeof store === 'string' ? {} : { keys: { secret: 'a secret of this test, 32 characters' } }),
  tools: [work, inner, report, gate],
  models: [model],
  lease: '1s',
  logger: quiet,
  observer: host.observer,
})

const session = runtime.session('s')
if (starts) session.turn({ id: 't', model, message: 'Go' }).outcome.catch(() => {})
else {
  // The same turn: joins the one that the killed worker has left.
  const { outcome } = session.turn({ id: 't', model, message: 'Go' })
  for (;;) {
    const [item] = await runtime.inbox()
    if (item) {
      await runtime.decide(item.id, { approve: true, by: 'bea' })
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const { status } = await outcome
  for (const { id } of await session.tasks.list()) await session.tasks.wait(id)
  await host.flush()
  process.send?.(status)
  await runtime.close({ grace: 0 })
  await host.shutdown()
  if (typeof store !== 'string') await store.close()
  process.disconnect()
}
