// Schedules, triggers and notices behave on PostgreSQL as on the other stores.

import { describe } from 'vitest'
import { postgresStore } from '../../src/store/postgres/postgres-store.ts'
import { noticeCases } from '../tasks/notices/notice-cases.ts'
import { scheduleCases, scheduleWorld } from './schedule-cases.ts'
import { triggerCases, triggerWorld } from './trigger-cases.ts'
import { type MakePlace, mortalWorld } from '../kit/worker-takeover.ts'
import { patient } from '../kit/stores/postgres-clock.ts'
import { serverForFile } from '../kit/stores/postgres-for-file.ts'

const server = serverForFile()
let schemas = 0

const place: MakePlace = async () => ({
  ...(await patient((clock) =>
    postgresStore({ connection: server.connection, schema: `background_${++schemas}`, clock, commit: 'process' }),
  )),
  options: { keys: { secret: 'a secret that all workers here share' } },
})

describe('CRON-2, CRON-3: schedules on PostgreSQL', () => scheduleCases(scheduleWorld(place)))
describe('CRON-4: triggers on PostgreSQL', () => triggerCases(triggerWorld(place)))
describe('TASK-9: notices on PostgreSQL', () => noticeCases(mortalWorld(place, () => {})))
