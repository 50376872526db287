// crashTest over tools of all kinds, on SQLite and PostgreSQL, and over tools with deliberate defects that it must
// detect.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { crashTest, type CrashTestOptions, CrashTestError } from 'pawl/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { long } from '../kit/long-run.ts'
import { type Server, startServer } from '../kit/stores/postgres-server.ts'
import * as tools from './crash-test-tools.ts'

const dir = mkdtempSync(join(tmpdir(), 'pawl-crash-ledger-'))
let server: Server
beforeAll(async () => {
  process.env.PAWL_TEST_LEDGER = join(dir, 'ledger')
  server = await startServer()
})
afterAll(async () => {
  await server.stop()
  rmSync(dir, { recursive: true, force: true })
})

const module = import.meta.resolve('./crash-test-tools.ts')
const reset = (): void => rmSync(process.env.PAWL_TEST_LEDGER as string, { force: true })
const from = (more: Partial<CrashTestOptions> = {}): CrashTestOptions => ({
  module,
  effects: tools.happened,
  reset,
  ...more,
})

describe.for(['sqlite', 'postgres'] as const)('crashTest on %s', { timeout: 120_000 }, (kind) => {
  const on = (more: Partial<CrashTestOptions> = {}): CrashTestOptions =>
    from(kind === 'sqlite' ? more : { store: server.connection, ...more })

  test.runIf(long || kind === 'sqlite')('KIT-1: keyed steps survive every crash', async () => {
    const { points, writes, clean } = await crashTest(tools.stepped, { n: 1 }, on())
    const steps = ['now:1', 'first', 'left', 'right'].map((step) => `step.done ${step}`)
    expect(writes).toEqual(['call.received', 'call.started', ...steps, 'call.settled'])
    expect(points).toHaveLength(2 * writes.length)
    expect(points.map(({ verdict }) => verdict)).toEqual(points.map(() => 'same'))
    expect(clean.effects).toHaveLength(3)
  })

  test('KIT-1: a tool that must not run twice ends as unknown if its effect is uncertain', async () => {
    const { points } = await crashTest(tools.stops, { n: 1 }, on())
    const unknown = points.filter(({ verdict }) => verdict === 'unknown')
    // Receipt and start are one commit: both are recorded or neither.
    expect(unknown.map(({ what, when, effects }) => `${when} ${what}: ${effects.length}`)).toEqual([
      'after call.received: 0',
      'after call.started: 0',
      'before call.settled: 1',
    ])
  })

  const answer = (wait: string): { value: string } | undefined =>
    wait === 'silence' ? undefined : { value: `yes to ${wait}` }
  test('KIT-1: parked calls are answered without real waiting', async () => {
    const parks = await crashTest(tools.parks, { n: 1 }, on({ answer }))
    expect(parks.clean.outcome).toEqual({ status: 'success', value: 'yes to later' })
    expect(parks.writes).toContain('claim')
  })

  test.runIf(kind === 'sqlite')('KIT-1: nested calls and attempt timeouts need no real waiting', async () => {
    const nests = await crashTest(tools.nests, { n: 1 }, on())
    expect(nests.clean.outcome).toEqual({ status: 'success', value: ['success', 'not_found'] })
    const hangs = await crashTest(tools.hangs, { n: 1 }, on())
    expect(hangs.clean.outcome).toMatchObject({ status: 'failure', failure: { code: 'attempt_timeout' } })
  })

  // Only in the long run: this tool has the most writes.
  test.runIf(long && kind === 'sqlite')('KIT-1: sleeps, waits and deadlines need no real waiting', async () => {
    const patient = await crashTest(tools.patient, { n: 1 }, on({ answer }))
    expect(patient.clean.outcome).toEqual({
      status: 'success',
      value: { said: 'yes to approval', nobody: 'wait_timeout', days: 44 },
    })
  })
})

describe('crashTest', { timeout: 120_000 }, () => {
  test('KIT-1: crashTest reports a repeated effect with its position and the remedy', async () => {
    const failed = await crashTest(tools.careless, { n: 7 }, from()).then(
      () => null,
      (error: unknown) => error as CrashTestError,
    )
    expect(failed).toBeInstanceOf(CrashTestError)
    expect(failed?.message).toBe(
      `'careless' does not survive 1 of 8 crashes. Without one: success "charged"; 1 effect.
  killed before write 3 of 4 (step.done charge):
    "charge 7" happened 2 times instead of once

A step that is running when the process dies runs again. Pass an idempotency key (ctx.key), or make the step \`once\`.`,
    )
    expect(failed?.report.points.filter(({ verdict }) => verdict === 'differs')).toMatchObject([
      { write: 3, when: 'before', effects: ['charge 7', 'charge 7'] },
    ])
  })

  test('KIT-1: crashTest reports an outcome that differs after a crash', async () => {
    await expect(crashTest(tools.fickle, { n: 1 }, from())).rejects.toThrow('the outcome is success {"attempt":2}')
  })

  test('KIT-1: crashTest handles once steps and reconcile', async () => {
    const once = await crashTest(tools.onceOnly, { n: 1 }, from())
    expect(
      once.points.filter(({ verdict }) => verdict === 'unknown').map(({ what, when }) => `${when} ${what}`),
    ).toEqual(['after call.received', 'after call.started', 'after step.started only', 'before step.done only'])
    const reconciled = await crashTest(tools.reconciled, { n: 1 }, from())
    expect(reconciled.points.every(({ verdict }) => verdict === 'same')).toBe(true)
  })

  test('KIT-1: virtual time stands still while a tool takes real time', async () => {
    expect((await crashTest(tools.slow, { n: 1 }, from())).clean.outcome).toEqual({ status: 'success', value: 'done' })
  })

  test('KIT-1: crashTest rejects a missing tool, a missing module and a run that does not end', async () => {
    await expect(
      crashTest(tools.slow, { n: 1 }, from({ module: import.meta.resolve('../kit/stores/killable-store.ts') })),
    ).rejects.toThrow(/exports no tool 'slow': it exports no tools/)
    await expect(crashTest(tools.slow, { n: 1 }, from({ module: 'file:///nowhere.ts' }))).rejects.toThrow(
      'Cannot find module',
    )
    await expect(crashTest(tools.slow, { n: 1 }, from({ patience: 50 }))).rejects.toThrow('did not end within 0.05 s')
  })
})
