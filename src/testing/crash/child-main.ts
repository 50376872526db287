// Child process of a crash test: loads the tool's module, makes the one call and reports its outcome, unless it kills
// itself at the crash point. Started again on the same store, it makes the same call and so recovers it.

import type { Outcome } from '../../core/outcome.ts'
import type { Json } from '../../core/tool-value.ts'
import { createRuntime } from '../../index.ts'
import type { Runtime } from '../../index.ts'
import { sqliteStore } from '../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../store/store.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Answer } from '../../store/records/wait-resolution.ts'
import { waitKey } from '../../engine/wait-key.ts'
import { type JumpingClock, jumpingClock } from './jumping-clock.ts'
import { type Orders, testCall, type ChildMessage, type ParentMessage } from './ipc-messages.ts'
import { crashingStore } from './crashing-store.ts'

const send = (word: ChildMessage): void => void process.send?.(word)
const parent = {
  orders: Promise.withResolvers<Orders>(),
  answered: ((): void => {}) as (answer: Answer | null) => void,
}
process.on('message', (told: ParentMessage) =>
  'orders' in told ? parent.orders.resolve(told.orders) : parent.answered(told.answer),
)
process.on('disconnect', () => process.exit())

/** Finds the tools that a module exports, directly or inside arrays and objects. */
function toolsIn(exported: unknown, depth = 2): Tool[] {
  if (typeof exported !== 'object' || exported === null) return []
  const { name, execute } = exported as Partial<Tool>
  if (typeof name === 'string' && typeof execute === 'function') return [exported as Tool]
  return depth === 0 ? [] : Object.values(exported).flatMap((each) => toolsIn(each, depth - 1))
}

async function storeFor({ store }: Orders, clock: JumpingClock): Promise<Store> {
  if ('sqlite' in store) return sqliteStore({ file: store.sqlite, clock, commit: 'process' })
  const { postgresStore } = await import('../../store/postgres/postgres-store.ts')
  const given: Record<string, unknown> =
    typeof store.postgres === 'string'
      ? { connectionString: store.postgres }
      : (store.postgres as Record<string, unknown>)
  // Idle connections must not count as active work.
  const connection: object = { ...given, allowExitOnIdle: true }
  return postgresStore({ connection, schema: store.schema, clock, commit: 'process' })
}

/** Asks the test for answers to the open waits of the call and its nested calls, one at a time. */
function answerWaits(store: Store, runtime: Runtime, secret: Uint8Array): () => Promise<boolean> {
  const unanswered = new Set<string>()
  return async () => {
    for (const { uid } of await store.callsOf(testCall, { after: '', limit: 1_000 })) {
      for (const { id, name, salt, resolution } of await store.waitsOf(uid)) {
        if (resolution !== null || unanswered.has(id)) continue
        send({ asks: name })
        const answer = await new Promise<Answer | null>((resolve) => void (parent.answered = resolve))
        if (answer === null) unanswered.add(id)
        else await runtime.resolve(waitKey(secret, { tenant: testCall.tenant, call: uid, name, salt }), answer)
        return true
      }
    }
    return false
  }
}

async function run(orders: Orders, tools: readonly Tool[]): Promise<void> {
  const tool = tools.find(({ name }) => name === orders.tool) as Tool
  const clock = jumpingClock({ ...orders.clock, busy: () => !idle() })
  const { store, writes, idle } = crashingStore(await storeFor(orders, clock), orders.crashAt)
  clock.begin()
  const secret = Buffer.from(orders.secret, 'hex')
  const runtime = await createRuntime({ store, tools, clock, keys: { secret }, lease: orders.leaseMs })
  clock.insteadOfWaiting(answerWaits(store, runtime, secret))
  const { id, batch } = testCall
  const outcome = await runtime.session(testCall.session).call(tool, orders.input, { id, batch }).outcome
  send({ ended: withoutTiming(outcome), writes: [...writes] })
  clock.stop()
  await runtime.close({ grace: 0 })
  await store.close()
  process.disconnect()
}

/** The outcome without times and attempt counts, which differ between runs. */
function withoutTiming(outcome: Outcome<unknown>): Outcome {
  switch (outcome.status) {
    case 'success': {
      const { status, value, control, summary } = outcome
      return {
        status,
        value: value as Json,
        ...(control ? { control } : {}),
        ...(summary === undefined ? {} : { summary }),
      }
    }
    case 'failure':
      return { status: outcome.status, failure: outcome.failure }
    case 'cancelled':
      return { status: outcome.status, cancellation: outcome.cancellation }
    case 'unknown':
      return { status: outcome.status, unknown: outcome.unknown }
  }
}

try {
  const exported = (await import(process.argv[2] as string)) as unknown
  const unique = new Map(toolsIn({ ...(exported as object) }).map((tool) => [tool.name, tool]))
  send({ loaded: [...unique.keys()] })
  await run(await parent.orders.promise, [...unique.values()])
} catch (error) {
  send({ broken: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}
