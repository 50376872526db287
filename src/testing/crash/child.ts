// A process of a crash test: loads the module of the tool, makes the one call and tells how it ended, unless it ends itself on the way. Started
// again on the same store, it finds what the one before left, asks for the same call, and so recovers it.

import type { Outcome } from '../../core/outcome.ts'
import type { Json } from '../../core/value.ts'
import { createRuntime } from '../../index.ts'
import type { Runtime } from '../../index.ts'
import { sqliteStore } from '../../store/sqlite/sqlite-store.ts'
import type { Store } from '../../store/store.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Answer } from '../../store/records/resolution.ts'
import { waitKey } from '../../engine/wait-key.ts'
import { type JumpingClock, jumpingClock } from './jumping-clock.ts'
import { type Orders, place, type Said, type Told } from './messages.ts'
import { watched } from './crashing-store.ts'

const say = (word: Said): void => void process.send?.(word)
const parent = {
  orders: Promise.withResolvers<Orders>(),
  answered: ((): void => {}) as (answer: Answer | null) => void,
}
process.on('message', (told: Told) =>
  'orders' in told ? parent.orders.resolve(told.orders) : parent.answered(told.answer),
)
process.on('disconnect', () => process.exit())

/** Tools among what a module exports, by name or in lists and objects. */
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
  // A connection that nobody uses does not look like work under way.
  const connection: object = { ...given, allowExitOnIdle: true }
  return postgresStore({ connection, schema: store.schema, clock, commit: 'process' })
}

/** Open waits of the call and of what it called are answered by the test, if it has an answer for them. */
function answering(store: Store, runtime: Runtime, secret: Uint8Array): () => Promise<boolean> {
  const nobody = new Set<string>()
  return async () => {
    for (const { uid } of await store.callsOf(place, { after: '', limit: 1_000 })) {
      for (const { id, name, salt, resolution } of await store.waitsOf(uid)) {
        if (resolution !== null || nobody.has(id)) continue
        say({ asks: name })
        const answer = await new Promise<Answer | null>((resolve) => void (parent.answered = resolve))
        if (answer === null) nobody.add(id)
        else await runtime.resolve(waitKey(secret, { tenant: place.tenant, call: uid, name, salt }), answer)
        return true
      }
    }
    return false
  }
}

async function run(orders: Orders, tools: readonly Tool[]): Promise<void> {
  const tool = tools.find(({ name }) => name === orders.tool) as Tool
  const clock = jumpingClock({ ...orders.clock, busy: () => !idle() })
  const { store, writes, idle } = watched(await storeFor(orders, clock), orders.crashAt)
  clock.begin()
  const secret = Buffer.from(orders.secret, 'hex')
  const runtime = await createRuntime({ store, tools, clock, keys: { secret }, lease: orders.leaseMs })
  clock.insteadOfWaiting(answering(store, runtime, secret))
  const { id, batch } = place
  const outcome = await runtime.session(place.session).call(tool, orders.input, { id, batch }).outcome
  say({ ended: bare(outcome), writes: [...writes] })
  clock.stop()
  await runtime.close({ grace: 0 })
  await store.close()
  process.disconnect()
}

/** How it ended, without when and how often. */
function bare(outcome: Outcome<unknown>): Outcome {
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
  say({ loaded: [...unique.keys()] })
  await run(await parent.orders.promise, [...unique.values()])
} catch (error) {
  say({ broken: error instanceof Error ? (error.stack ?? error.message) : String(error) })
}
