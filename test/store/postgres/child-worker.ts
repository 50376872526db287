// A worker process: a runtime on the shared database that executes orders of its parent and exits with it.

import { appendFileSync } from 'node:fs'
import { createRuntime, type ToolContext } from '../../../src/index.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { postgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { rerunTool } from '../../kit/simple-tools.ts'

export interface WorkerSettings {
  readonly connection: Parameters<typeof postgresStore>[0]['connection']
  readonly schema: string
  readonly secret: string
  /** File with one line per effect: `call step pid`. */
  readonly ledger: string
  /** This step performs its effect and then never returns. */
  readonly hangIn?: string
}

export type Order =
  | { readonly do: 'run'; readonly session: string; readonly calls: readonly { id: string; name: string }[] }
  | { readonly do: 'resolve'; readonly key: string; readonly value: string }
  | { readonly do: 'close' }

export type Word =
  | { readonly says: 'ready' }
  | { readonly says: 'key'; readonly call: string; readonly key: string }
  | { readonly says: 'done'; readonly outcomes: readonly { status: string; value?: unknown; attempts: number }[] }
  | { readonly says: 'resolved'; readonly answer: string }

const settings = JSON.parse(process.env.PAWL_WORKER as string) as WorkerSettings
const say = (word: Word): void => void process.send?.(word)

/** Leaves a trace per step. */
const threeSteps = rerunTool('three_steps', { concurrency: 'parallel' }, async (_, ctx) => {
  const values: string[] = []
  for (const step of ['s1', 's2', 's3']) {
    const value = await ctx.step(step, (): string | Promise<string> => {
      appendFileSync(settings.ledger, `${ctx.callId} ${step} ${process.pid}\n`)
      return step === settings.hangIn ? new Promise<string>(() => {}) : `${step} of ${ctx.callId}`
    })
    values.push(value)
  }
  return values
})

/** Creates a wait and tells its key to the parent. */
async function openWait(ctx: ToolContext) {
  const later = await ctx.later<string>()
  say({ says: 'key', call: ctx.callId, key: later.key })
  return later
}
const parks = rerunTool('parks', { concurrency: 'parallel' }, (_, ctx) => openWait(ctx))
const waits = rerunTool(
  'waits',
  { concurrency: 'parallel' },
  async (_, ctx) => `heard ${await (await openWait(ctx)).value}`,
)

const store = await postgresStore({ connection: settings.connection, schema: settings.schema, clock: systemClock })
const runtime = await createRuntime({
  store,
  keys: { secret: settings.secret },
  lease: '1s',
  tools: [threeSteps, parks, waits],
})

async function obey(order: Order): Promise<void> {
  switch (order.do) {
    case 'run': {
      const outcomes = await runtime.session(order.session).run(order.calls)
      return say({
        says: 'done',
        outcomes: outcomes.map((outcome) => ({
          status: outcome.status,
          attempts: outcome.attempts,
          ...(outcome.status === 'success' ? { value: outcome.value } : {}),
        })),
      })
    }
    case 'resolve':
      return say({ says: 'resolved', answer: (await runtime.resolve(order.key, { value: order.value })).answer })
    case 'close':
      await runtime.close()
      await store.close()
      process.disconnect()
  }
}

process.on('message', (order: Order) => void obey(order))
process.on('disconnect', () => process.exit())
say({ says: 'ready' })
