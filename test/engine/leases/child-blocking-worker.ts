// A worker whose tool blocks the event loop: told by its parent when to begin, it says how its call ended. It ends when its parent does.

import { appendFileSync } from 'node:fs'
import { createRuntime, tool } from '../../../src/index.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { Heart } from '../../../src/store/lease-heartbeat.ts'
import { postgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Connection } from '../../kit/stores/postgres-server.ts'

export interface Orders {
  readonly place: { readonly file: string } | { readonly connection: Connection; readonly schema: string }
  readonly leaseMs: number
  readonly blockMs: number
  /** Then waits until it is told to stop. */
  readonly untilStopped?: boolean
  /** Where effects leave their trace: one line each, `what pid`. */
  readonly ledger: string
}

export type Word =
  | { readonly says: 'ready' }
  | { readonly says: 'done'; readonly status: string; readonly value: unknown; readonly attempts: number; readonly stopped: boolean }

const { place, leaseMs, blockMs, untilStopped, ledger } = JSON.parse(process.env.PAWL_ORDERS as string) as Orders
const say = (word: Word): void => void process.send?.(word)
const note = (what: string): void => appendFileSync(ledger, `${what} ${process.pid}\n`)
let stopped = false

const burn = tool({
  name: 'burn',
  description: 'Burns CPU, then does something.',
  input: { type: 'object' },
  onCrash: 'rerun',
  async execute(_, ctx) {
    ctx.signal.addEventListener('abort', () => (stopped = true))
    note('start')
    // From here on it is on record, where others could claim it.
    await ctx.step('before', () => null)
    for (const until = performance.now() + blockMs; performance.now() < until;);
    note('awake')
    // It may do anything here but ask us, and still hears that the call is no longer its own.
    if (untilStopped) await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
    await ctx.step('effect', () => note('effect'))
    return process.pid
  },
})

const opened =
  'file' in place
    ? sqliteStore({ file: place.file, clock: systemClock, commit: 'process' })
    : await postgresStore({ connection: place.connection, schema: place.schema })

/** Ready when the thread has renewed once: until then the loop's own renewals are refused. */
let heart: Heart | undefined
const store: Store = {
  ...opened,
  renew: (worker, ms) => (heart?.renewals === 0 ? Promise.reject(new Error('not yet')) : opened.renew(worker, ms)),
  keepAlive(worker, given) {
    heart = given
    opened.keepAlive?.(worker, given)
    const callOff = systemClock.every(5, () => {
      if (given.renewals === 0) return
      callOff()
      say({ says: 'ready' })
    })
  },
}
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const runtime = await createRuntime({ store, keys: { secret: 's'.repeat(32) }, lease: leaseMs, tools: [burn], logger: quiet })

process.on('message', (order: 'run' | 'close') => {
  void (async () => {
    if (order === 'run') {
      const [outcome] = await runtime.session('s').run([{ id: 'burn', name: 'burn' }])
      const value = outcome?.status === 'success' ? outcome.value : null
      return say({ says: 'done', status: outcome?.status ?? 'none', value, attempts: outcome?.attempts ?? 0, stopped })
    }
    await runtime.close()
    await opened.close()
    process.disconnect()
  })()
})
process.on('disconnect', () => process.exit())
