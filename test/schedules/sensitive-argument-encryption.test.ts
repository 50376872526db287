// Arguments of a sensitive tool are encrypted at rest, also inside spawn_background calls and schedules.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { argumentTool, rerunTool } from '../kit/simple-tools.ts'

const canary = 'canary-51f0aa-value'
const hour = 3_600_000

let folder: string
let runtime: Runtime
let clock: ReturnType<typeof manualClock>
let ran: string[]

const pay = argumentTool(
  'pay',
  z.object({ card: z.string() }),
  { sensitive: true, background: true, onCrash: 'rerun' },
  ({ card }) => {
    ran.push(card)
    return `paid with ${card}`
  },
)
const report = tool({
  name: 'report',
  description: 'Reports.',
  input: z.object({ card: z.string() }),
  background: true,
  onCrash: 'rerun',
  execute: ({ card }) => card,
})
const passes = rerunTool('passes', async (_input, ctx) => {
  const [outcome] = await ctx.run([
    { id: 'n', name: 'spawn_background', input: { tool: 'pay', args: { card: canary } } },
  ])
  return outcome?.status
})

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-spawn-'))
  clock = manualClock(Date.UTC(2030, 0, 1))
  ran = []
  runtime = await createRuntime({
    store: `sqlite:${join(folder, 'store.db')}`,
    clock,
    tools: [pay, report, passes],
    keys: { secret: 'k'.repeat(32) },
  })
})
afterEach(async () => {
  await runtime.close({ grace: 0 })
  rmSync(folder, { recursive: true, force: true })
})

/** Whether any file of the store contains the text. */
const shows = (text: string): boolean =>
  readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(text))
const settled = async (): Promise<void> => {
  for (const task of await runtime.session('s').tasks.list({}))
    if (task.kind !== 'monitor') await runtime.session('s').tasks.wait(task.id)
}

const asValue = (input: object): object => input
const asText = (input: object): string => JSON.stringify(input)
const hourly = { schedule: { cron_expression: '0 * * * *' } }
const once = { schedule: { scheduled_at: '2030-01-01T01:00:00Z' } }

test.each([
  ['now, as a value', asValue, {}],
  ['now, as JSON text', asText, {}],
  ['on a cron schedule', asText, hourly],
  ['once at an instant', asValue, once],
])('DUR-12: arguments of a sensitive tool spawned %s are not stored in plaintext', async (_how, form, when) => {
  const session = runtime.session('s')
  const input = form({ tool: ' pay ', args: { card: canary }, title: `With ${canary}`, ...when })
  expect(await session.run([{ id: 'c', name: 'spawn_background', input }])).toMatchObject([{ status: 'success' }])
  if ('schedule' in when) await clock.advance(hour)
  await expect.poll(() => ran.length).toBe(1)
  await settled()
  expect(ran).toEqual([canary])
  expect(shows('spawn_background')).toBe(true) // proves that the search works
  expect(shows(canary)).toBe(false)
  // The same call again returns the recorded outcome, which stays readable.
  expect(await session.run([{ id: 'c', name: 'spawn_background', input }])).toMatchObject([{ status: 'success' }])
  expect(ran).toEqual([canary])
})

test('DUR-12: a sensitive spawn from a tool body is not stored in plaintext', async () => {
  expect(await runtime.session('s').run([{ id: 'c', name: 'passes', input: {} }])).toMatchObject([
    { status: 'success', value: 'success' },
  ])
  await settled()
  expect(ran).toEqual([canary])
  expect(shows(canary)).toBe(false)
})

test('DUR-12: a rejected or unparsable sensitive spawn is not stored in plaintext', async () => {
  const spawn = (id: string, input: unknown) => runtime.session('s').run([{ id, name: 'spawn_background', input }])
  expect(await spawn('a', { tool: 'pay', args: { cart: canary } })).toMatchObject([{ status: 'failure' }])
  expect(await spawn('b', { tool: 'pay', args: { card: canary }, schedule: {} })).toMatchObject([{ status: 'failure' }])
  expect(await spawn('c', `{"tool":"pay","args":{"card":"${canary}"}`)).toMatchObject([{ status: 'failure' }])
  expect(await spawn('d', { tool: 'pay', args: canary })).toMatchObject([{ status: 'failure' }])
  expect(shows(canary)).toBe(false)
})

test('arguments of a tool that is not sensitive are stored in plaintext', async () => {
  await runtime
    .session('s')
    .run([{ id: 'c', name: 'spawn_background', input: { tool: 'report', args: { card: canary } } }])
  expect(shows(canary)).toBe(true)
})
