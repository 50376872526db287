// The kill tests on PostgreSQL with two workers at a time; in addition the server crashes under load and connections
// are cut.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Server, startServer } from '../kit/stores/postgres-server.ts'
import { always, runPart } from './chaos-plan.ts'

const base = Number(process.env.PAWL_SEED ?? 1)
const minute = 60_000

let server: Server
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.stop())

test.for(always.filter(({ on }) => on === 'postgres'))(
  'DUR-1 DUR-2 DUR-3 DUR-4 DUR-6 DUR-7 CALL-2: PostgreSQL survives: $fault ($rounds × $kills)',
  { timeout: 8 * minute },
  async (part) => {
    const { kills, hits, wrong } = await runPart(part, base, server)
    expect(wrong).toEqual([])
    expect(kills).toBeGreaterThanOrEqual(part.rounds * part.kills)
    expect(hits).toBeGreaterThan(kills / 20)
  },
)
