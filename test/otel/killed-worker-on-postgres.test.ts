// The same on PostgreSQL: a turn whose worker is killed and that another process resumes is one trace.

import { afterEach, expect, test } from 'vitest'
import { dropSchemas } from '../../src/store/postgres/drop-schemas.ts'
import { serverForFile } from '../kit/stores/postgres-for-file.ts'
import { collecting } from '../kit/telemetry/collecting.ts'
import { crashedTurn, killAndResume, shapeOf } from '../kit/telemetry/killed-worker.ts'

const server = serverForFile()
const telemetry = collecting()
const schema = 'traced'
afterEach(() => dropSchemas(server.connection, [schema]))

test('DOOR-3: on PostgreSQL a turn that crossed a killed worker is one trace', { timeout: 120_000 }, async () => {
  const { collector } = telemetry
  expect(await killAndResume(collector, { connection: server.connection, schema })).toBe('success')
  const { spans } = collector
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  expect(shapeOf(spans)).toEqual(crashedTurn)
  expect(collector.named('execute_tool work').map(({ isError }) => isError)).toEqual([true, false])
})
