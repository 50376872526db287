// Schedules, triggers and notices on a real PostgreSQL keep the promises they keep elsewhere.

import { afterAll, beforeAll, describe } from 'vitest'
import { postgresStore } from '../../src/store/postgres/postgres-store.ts'
import { noticeCases } from '../tasks/notices/notice-cases.ts'
import { scheduleCases, scheduleWorld } from './schedule-cases.ts'
import { triggerCases, triggerWorld } from './trigger-cases.ts'
import { type MakePlace, mortalWorld } from '../kit/worker-takeover.ts'
import { patient } from '../kit/stores/postgres-clock.ts'
import { type Server, startServer } from '../kit/stores/postgres-server.ts'

let server: Server
let schemas = 0
beforeAll(async () => {
  server = await startServer()
}, 60_000)
afterAll(() => server?.stop())

const place: MakePlace = async () => ({
  ...(await patient((clock) =>
    postgresStore({ connection: server.connection, schema: `background_${++schemas}`, clock, commit: 'process' }),
  )),
  options: { keys: { secret: 'a secret that all workers here share' } },
})

describe('CRON-2, CRON-3: schedules on PostgreSQL', () => scheduleCases(scheduleWorld(place)))
describe('CRON-4: triggers on PostgreSQL', () => triggerCases(triggerWorld(place)))
describe('TASK-9: notices on PostgreSQL', () => noticeCases(mortalWorld(place, () => {})))
