// A worker process of the spike: a runtime on the shared database, told by its parent what to do. It ends when its parent does.

import { appendFileSync } from 'node:fs'
import { createRuntime, tool } from '../../../src/index.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { postgresStore } from '../../../src/store/postgres/postgres-store.ts'

export interface WorkerSettings {
  readonly connection: Parameters<typeof postgresStore>[0]['connection']
  readonly schema: string
  readonly secret: string
  /** Where effects leave their trace: one line each, `call step pid`. */
  readonly ledger: string
  /** The step whose function never returns in this process, after its effect. */
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

const threeSteps = tool({
  name: 'three_steps',
  description: 'Leaves a trace per step.',
  input: { type: 'object' },
  onCrash: 'rerun',
  concurrency: 'parallel',
  async execute(_input, ctx) {
    const values: string[] = []
    for (const step of ['s1', 's2', 's3']) {
      const value = await ctx.step(step, (): string | Promise<string> => {
        appendFileSync(settings.ledger, `${ctx.callId} ${step} ${process.pid}\n`)
        return step === settings.hangIn ? new Promise<string>(() => {}) : `${step} of ${ctx.callId}`
      })
      values.push(value)
    }
    return values
  },
})

const parks = tool({
  name: 'parks',
  description: 'Parks until someone answers.',
  input: { type: 'object' },
  onCrash: 'rerun',
  concurrency: 'parallel',
  async execute(_input, ctx) {
    const later = await ctx.later<string>()
    say({ says: 'key', call: ctx.callId, key: later.key })
    return later
  },
})

const waits = tool({
  name: 'waits',
  description: 'Waits inside its body until someone answers.',
  input: { type: 'object' },
  onCrash: 'rerun',
  concurrency: 'parallel',
  async execute(_input, ctx) {
    const later = await ctx.later<string>()
    say({ says: 'key', call: ctx.callId, key: later.key })
    return `heard ${await later.value}`
  },
})

const store = await postgresStore({ connection: settings.connection, schema: settings.schema, clock: systemClock })
const runtime = await createRuntime({ store, keys: { secret: settings.secret }, lease: '1s', tools: [threeSteps, parks, waits] })

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
