// A worker process for the kill tests: runs the calls of a round on SQLite or PostgreSQL and notes every effect in the
// ledger. It is killed at random moments, or kills itself at the n-th store write, before or after the write is
// durable.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { PawlError, type Runtime, tool } from 'pawl'
// Imported statically, so that the timing below does not include module loading.
import { openRuntime } from '../../src/runtime.ts'
import { systemClock } from '../../src/core/clock.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { note } from './effect-ledger.ts'
import { broken } from '../kit/stores/planted-defects.ts'

interface Orders {
  readonly db: string
  /** Used instead of the SQLite file. */
  readonly postgres?: { readonly connection: object; readonly schema: string }
  readonly ledger: string
  readonly calls: readonly { id: string; name: string; input: unknown }[]
  readonly lease: number
  readonly writer: 'adaptive' | 'thread'
  /** Kills this process at a store write. */
  readonly killAt?: { write: number; when: 'before' | 'after' }
  /** Stops this process (SIGSTOP) in the middle of this effect. */
  readonly stopIn?: string
  /** A planted defect that the driver must detect. */
  readonly plant?: string
}

const schema: unknown = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } // fast to load
const input = schema as StandardSchemaV1<{ n: number }>
const orders = JSON.parse(process.env.PAWL_ORDERS as string) as Orders

/** An external effect. It takes a moment, so that the process can die in the middle of it. */
let working = false
async function effect(name: string): Promise<void> {
  note(orders.ledger, name, 'start')
  if (!working) process.send?.('working')
  working = true
  if (orders.stopIn === name) {
    process.kill(process.pid, 'SIGSTOP')
    // SIGSTOP may arrive late: spin here, so that the process does not stop inside a transaction.
    for (const until = performance.now() + 50; performance.now() < until;);
  }
  await new Promise((resolve) => setTimeout(resolve, 1))
  note(orders.ledger, name, 'end')
}

const steps = tool({
  name: 'steps',
  description: 'Three recorded effects, two of them side by side',
  input,
  onCrash: 'rerun',
  concurrency: 'parallel',
  async execute({ n }, ctx) {
    const at = (step: string): string => `${ctx.callId}/${step}`
    const first = await ctx.step('first', async () => {
      await effect(at('first'))
      return ctx.callId.length + n
    })
    const pair = await Promise.all(['left', 'right'].map((side) => ctx.step(side, { n }, () => effect(at(side)))))
    const last = await ctx.step('last', () => effect(at('last')))
    return { first, pair, last, uuid: ctx.uuid() }
  },
})

const body = tool({
  name: 'body',
  description: 'One effect that must not be repeated',
  input,
  async execute({ n }, ctx) {
    await effect(`${ctx.callId}/body`)
    return n
  },
})

const once = tool({
  name: 'once',
  description: 'A step that must not be repeated, between two that may be',
  input,
  onCrash: 'rerun',
  async execute(_, ctx) {
    await ctx.step('before', () => effect(`${ctx.callId}/before`))
    await ctx.step('only', () => effect(`${ctx.callId}/only`), { once: true })
    await ctx.step('after', () => effect(`${ctx.callId}/after`))
    return 'done'
  },
})

let runtime: Runtime
/**
 * The external service: it stores every wait key in a file and answers all of them, also after the worker died. It
 * answers through whichever worker runs, because a closing worker can no longer resolve the keys that it handed out.
 */
const keys = `${orders.ledger}.keys`
const answered = new Set<string>()
const answer = (key: string): void => {
  answered.add(key)
  patiently(() => runtime.resolve(key, { value: 'answered' })).catch(() => {})
}
const handOut = (key: string): void => {
  appendFileSync(keys, `${key}\n`)
  setTimeout(() => answer(key), 2)
}
const answerAll = (): void => {
  for (const key of existsSync(keys) ? readFileSync(keys, 'utf8').split('\n').filter(Boolean) : [])
    if (!answered.has(key)) answer(key)
}

const waits = tool({
  name: 'waits',
  description: 'Sleeps, then waits inside the body',
  input,
  onCrash: 'rerun',
  concurrency: 'parallel',
  async execute(_, ctx) {
    await ctx.step('ask', () => effect(`${ctx.callId}/ask`))
    await ctx.sleep(3)
    const later = await ctx.later<string>()
    handOut(later.key)
    const answered = await later.value
    await ctx.step('thank', () => effect(`${ctx.callId}/thank`))
    return answered
  },
})

const parks = tool({
  name: 'parks',
  description: 'Hands the answer to the outside and parks',
  input,
  onCrash: 'rerun',
  concurrency: 'parallel',
  async execute(_, ctx) {
    const later = await ctx.later<string>()
    await ctx.step('send', async () => {
      await effect(`${ctx.callId}/send`)
      handOut(later.key)
    })
    return later
  },
})

/** Kills the process at the n-th write: before the write, or after it is durable and before it is acknowledged. */
function killing(store: Store): Store {
  if (!orders.killAt) return store
  const { write, when } = orders.killAt
  let writes = 0
  const die = (): void => void process.kill(process.pid, 'SIGKILL')
  return {
    ...store,
    commit: (change) => {
      const mine = ++writes
      if (mine === write && when === 'before') die()
      const committed = store.commit(change)
      return mine === write ? committed.then((result) => (die(), result)) : committed
    },
    write: (change, heard, how) => {
      const mine = ++writes
      if (mine === write && when === 'before') die()
      store.write(change, (answer) => (mine === write ? die() : heard(answer)), how)
    },
  }
}

/** Retries while the database is unavailable. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== 'store_unavailable') throw error
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
}

process.send?.('ready')
// The parent is gone, so this process must end itself. The listener must not keep the process alive after its work.
process.on('disconnect', () => process.exit())
process.channel?.unref()
const secret = 'a secret that all workers of the chaos share'
const store = orders.postgres
  ? await patiently(async () => {
      const { postgresStore } = await import('../../src/store/postgres/postgres-store.ts')
      return postgresStore({ ...(orders.postgres as { connection: object; schema: string }), clock: systemClock })
    })
  : sqliteStore({ file: orders.db, clock: systemClock, commit: 'process', writer: orders.writer })
runtime = await patiently(() =>
  openRuntime({
    store: broken(killing(store), orders.plant),
    tools: [steps, body, once, waits, parks],
    lease: orders.lease,
    // The driver kills these workers, not the calls: they must not count as poison.
    poisonAfter: 1_000,
    ...(orders.postgres ? { keys: { secret } } : {}),
    logger: {
      debug() {},
      info() {},
      warn: (message, fields) => console.error(message, fields),
      error: (message, fields) => console.error(message, fields),
    },
  }),
)
answerAll()
setInterval(answerAll, 100).unref()
const outcomes = await patiently(() => runtime.session('chaos').run(orders.calls, { batch: 'round' }))
process.send?.(
  outcomes.map(({ callId, status, attempts, ...rest }) => ({
    callId,
    status,
    attempts,
    value: 'value' in rest ? rest.value : 'failure' in rest ? rest.failure : null,
  })),
)
await runtime.close()
await store.close()
