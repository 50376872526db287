// Tasks that end their process in every possible way, next to tasks that succeed. Real processes on one SQLite file.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { Task } from '../../src/index.ts'
import { systemClock } from '../../src/core/clock.ts'
import { openRuntime } from '../../src/runtime.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { readLedger, startsByEffect } from './effect-ledger.ts'
import { poisonLease, poisons, poisonTools } from './child-poison-worker.ts'

const workers = 2
const healthy = 100
const names = Object.keys(poisons)

test(
  'DUR-8, TASK-6: a poison task is abandoned after three deaths alone, and healthy tasks succeed',
  { timeout: 400_000 },
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'pawl-poison-'))
    const at = { db: join(dir, 'agent.db'), ledger: join(dir, 'ledger') }
    const store = sqliteStore({ file: at.db, clock: systemClock, commit: 'process' })
    const door = await openRuntime({
      store,
      tools: poisonTools(() => {}),
      worker: false,
      lease: poisonLease,
      logger: quiet,
    })
    const alive = new Set<ChildProcess>()
    let [deaths, over] = [0, false]
    const launch = (): void => {
      const child = fork(join(import.meta.dirname, 'child-poison-worker.ts'), {
        execArgv: ['--conditions=@pawl/source', '--max-old-space-size=96'],
        env: { ...process.env, PAWL_POISON_ORDERS: JSON.stringify(at) },
        stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      })
      alive.add(child)
      child.once('exit', () => {
        alive.delete(child)
        if (over) return
        deaths++
        launch()
      })
    }
    try {
      const asked: { session: string; id: string; tool: string }[] = []
      const ask = async (session: string, name: string): Promise<void> => {
        const { id } = await door.session(session).tasks.start({ tool: name })
        asked.push({ session, id, tool: name })
      }
      // Healthy tasks run in the sessions of the poison tasks and in others.
      for (const [n, name] of [...names, 'once'].entries()) await ask(`s${n}`, name)
      for (let n = 0; n < healthy; n++) await ask(`s${n % 20}`, 'healthy')
      for (let n = 0; n < workers; n++) launch()
      const found = await vi.waitUntil(
        async () => {
          const all = await Promise.all(asked.map(({ session, id }) => door.session(session).tasks.get(id)))
          return all.every((task) => task?.outcome) && (all as Task[])
        },
        { interval: 50, timeout: 390_000 },
      )
      over = true
      const of = (name: string): Task[] => found.filter(({ tool }) => tool === name)
      for (const name of names)
        expect(of(name)).toMatchObject([
          {
            state: 'abandoned',
            outcome: { failure: { code: 'poisoned', raw: { deaths: 3, attempt: expect.any(Number) } } },
          },
        ])
      expect(of('once')).toMatchObject([
        { state: 'abandoned', outcome: { status: 'unknown', unknown: { evidence: { attempt: 1 } } } },
      ])
      expect(of('healthy').filter(({ state }) => state !== 'succeeded')).toEqual([])
      expect(of('healthy')).toHaveLength(healthy)
      // The ledger outside the store shows that no attempt began twice, and that a poison task died alone three times,
      // after at most two deaths in company. An attempt may be on record without having reached its first line, if
      // another task killed the worker first.
      const began = startsByEffect(readLedger(at.ledger))
      for (const [effect, times] of began)
        expect([effect, times]).toEqual([expect.stringMatching(/^(once\/1|.*\/\d)$/), 1])
      for (const name of names) expect(began.has(`${name}/3`)).toBe(true)
      expect(deaths).toBeGreaterThanOrEqual(names.length)
      expect(deaths).toBeLessThanOrEqual(5 * names.length + 1)
    } finally {
      over = true
      const gone = [...alive].map((child) => new Promise((resolve) => child.once('exit', resolve)))
      for (const child of alive) child.kill('SIGKILL')
      await Promise.all(gone)
      await door.close({ grace: 0 })
      await store.close()
      rmSync(dir, { recursive: true, force: true })
    }
  },
)
