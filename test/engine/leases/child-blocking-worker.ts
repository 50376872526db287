// A worker process whose tool blocks the event loop: it begins on a message of its parent and reports the outcome. It
// ends with its parent.

import { appendFileSync } from 'node:fs'
import { createRuntime } from '../../../src/index.ts'
import { systemClock } from '../../../src/core/clock.ts'
import type { LeaseHeartbeat } from '../../../src/store/lease-heartbeat.ts'
import { postgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Connection } from '../../kit/stores/postgres-server.ts'
import { rerunTool } from '../../kit/simple-tools.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

export interface Orders {
  readonly place: { readonly file: string } | { readonly connection: Connection; readonly schema: string }
  readonly leaseMs: number
  readonly blockMs: number
  /** After the blocking part, wait for the abort signal. */
  readonly untilStopped?: boolean
  /** File with one line per effect: `name pid`. */
  readonly ledger: string
}

export type Word =
  | { readonly says: 'ready' }
  | {
      readonly says: 'done'
      readonly status: string
      readonly value: unknown
      readonly attempts: number
      readonly stopped: boolean
    }

const { place, leaseMs, blockMs, untilStopped, ledger } = JSON.parse(process.env.PAWL_ORDERS as string) as Orders
const say = (word: Word): void => void process.send?.(word)
const note = (what: string): void => appendFileSync(ledger, `${what} ${process.pid}\n`)
let stopped = false

const burn = rerunTool('burn', { description: 'Burns CPU, then does something.' }, async (_, ctx) => {
  ctx.signal.addEventListener('abort', () => (stopped = true))
  note('start')
  // From here on the call is on record, and other workers could claim it.
  await ctx.step('before', () => null)
  for (const until = performance.now() + blockMs; performance.now() < until;);
  note('awake')
  // Without using ctx the body still gets the abort signal when the call is lost.
  if (untilStopped) await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
  await ctx.step('effect', () => note('effect'))
  return process.pid
})

const opened =
  'file' in place
    ? sqliteStore({ file: place.file, clock: systemClock, commit: 'process' })
    : await postgresStore({ connection: place.connection, schema: place.schema })

/** Reports ready after the first renewal by the thread; until then renewals by the event loop are rejected. */
let heart: LeaseHeartbeat | undefined
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
const runtime = await createRuntime({
  store,
  keys: { secret: 's'.repeat(32) },
  lease: leaseMs,
  tools: [burn],
  logger: quiet,
})

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
