// A worker process for the poison test: some tools end the process, each in its own way; the others succeed.

import { tool } from 'pawl'
import { openRuntime } from '../../src/runtime.ts'
import { systemClock } from '../../src/core/clock.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { note } from './effect-ledger.ts'

/** Ways in which a body can end its process. */
export const poisons: Readonly<Record<string, () => unknown>> = {
  exits: () => process.exit(1),
  aborts: () => process.abort(),
  kills: () => process.kill(process.pid, 'SIGKILL'),
  fills() {
    const kept: unknown[] = []
    for (;;) kept.push(Array.from({ length: 10_000 }, () => ({})))
  },
}

export const poisonTools = (noted: (effect: string) => void) => [
  ...Object.entries(poisons).map(([name, run]) =>
    tool({
      name,
      description: 'Poison',
      input: { type: 'object' },
      onCrash: 'rerun',
      background: true,
      execute(_, ctx) {
        noted(`${name}/${ctx.attempt}`)
        return run() as null
      },
    }),
  ),
  tool({
    name: 'once',
    description: 'Poison that must not run twice',
    input: { type: 'object' },
    background: { recovery: 'owner_bound' },
    execute(_, ctx) {
      noted(`once/${ctx.attempt}`)
      process.kill(process.pid, 'SIGKILL')
      return null
    },
  }),
  tool({
    name: 'healthy',
    description: 'Works for a moment',
    input: { type: 'object' },
    onCrash: 'rerun',
    background: true,
    execute: (_, ctx) => new Promise((resolve) => setTimeout(() => resolve(ctx.task?.id ?? ''), 40)),
  }),
]

export const poisonLease = 1_000

if (process.env.PAWL_POISON_ORDERS !== undefined) {
  const { db, ledger } = JSON.parse(process.env.PAWL_POISON_ORDERS) as { db: string; ledger: string }
  await openRuntime({
    store: sqliteStore({ file: db, clock: systemClock, commit: 'process' }),
    tools: poisonTools((effect) => note(ledger, effect, 'start')),
    lease: poisonLease,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  // The parent is gone, so this process must end itself.
  process.on('disconnect', () => process.exit())
  setInterval(() => {}, 1_000)
}
