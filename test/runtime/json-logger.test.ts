// jsonLogger(): every line is one JSON object, with the ids of the call and its trace, without secrets, and bounded.

import { createRuntime, jsonLogger, type JsonLoggerOptions, withTraceparent } from 'pawl'
import { afterEach, expect, test } from 'vitest'
import { readOnlyTool } from '../kit/simple-tools.ts'
import { after, freshMemory } from '../kit/stores/fresh-store.ts'

type Line = Record<string, unknown>

function logging(options: JsonLoggerOptions = {}) {
  const written: string[] = []
  const logger = jsonLogger({ write: (line) => void written.push(line), ...options })
  const lines = (): Line[] =>
    written.map((line) => {
      expect(line.endsWith('\n') && !line.slice(0, -1).includes('\n')).toBe(true)
      return JSON.parse(line) as Line
    })
  return { logger, lines, written }
}

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

test('DOOR-3: a line of a body has the ids of the call and of its trace', async () => {
  const { logger, lines } = logging()
  const { clock, store } = freshMemory()
  const look = readOnlyTool('look', (_, ctx) => ctx.log.info('Looking', { shelf: 3 }))
  const runtime = await createRuntime({ store, clock, tools: [look], logger })
  open.push(() => runtime.close({ grace: 0 }))
  const session = runtime.session('s', { tenant: 'acme' })
  const header = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
  await after(
    withTraceparent(header, () => session.run([{ id: 'c', name: 'look' }])),
    clock,
  )
  expect(lines()).toEqual([
    {
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as string,
      level: 'info',
      message: 'Looking',
      shelf: 3,
      callId: 'c',
      attempt: 1,
      tool: 'look',
      call: expect.any(String) as string,
      session: 's',
      tenant: 'acme',
      trace_id: 'a'.repeat(32),
      span_id: 'b'.repeat(16),
    },
  ])
})

test('DOOR-3: secrets of the runtime are in no line', async () => {
  const { logger, written } = logging()
  const { clock, store } = freshMemory()
  const look = readOnlyTool('look', (_, ctx) => {
    ctx.log.error('With swordfish-4711', {
      error: new Error('swordfish-4711'),
      deep: [{ 'swordfish-4711': 'swordfish-4711' }],
    })
  })
  const runtime = await createRuntime({ store, clock, tools: [look], logger, secrets: ['swordfish-4711'] })
  open.push(() => runtime.close({ grace: 0 }))
  await after(runtime.session('s').run([{ id: 'c', name: 'look' }]), clock)
  expect(written).toHaveLength(1)
  expect(written.join('')).not.toContain('swordfish')
})

test('DOOR-3: secrets of the logger are in no line', () => {
  const { logger, written } = logging({ secrets: ['swordfish-4711'] })
  logger.warn('With swordfish-4711', { error: new Error('swordfish-4711') })
  expect(written.join('')).not.toContain('swordfish')
})

const cycle: Line = {}
cycle.self = cycle
const thrower = {
  get name(): never {
    throw new Error('planted')
  },
}

test.each<[string, unknown]>([
  ['a long text', 'x'.repeat(1e6)],
  ['a long list', Array.from({ length: 1e5 }, () => 'x'.repeat(500))],
  [
    'an object with many keys',
    Object.fromEntries(Array.from({ length: 1e4 }, (_, n) => [`key_${n}`, 'x'.repeat(500)])),
  ],
  ['a cycle', cycle],
  ['a getter that throws', thrower],
  ['line breaks', 'a\nb\r\nc\u2028d'],
  ['a bigint', 10n ** 30n],
  ['a function', () => 1],
  ['not a number', Number.NaN],
  ['an error with a long message', new Error('x'.repeat(1e6), { cause: new Error('y'.repeat(1e6)) })],
])('DOOR-3: %s makes one bounded line', (_, value) => {
  const { logger, lines, written } = logging()
  logger.error('Failed', { value })
  expect(lines()).toMatchObject([{ level: 'error', message: 'Failed' }])
  expect(written[0]?.length).toBeLessThan(33_000)
})

test('DOOR-3: fields cannot replace the time, the level or the message', () => {
  const { logger, lines } = logging()
  logger.info('Real', { time: 'planted', level: 'planted', message: 'planted' })
  expect(lines()).toMatchObject([{ level: 'info', message: 'Real' }])
  expect(JSON.stringify(lines())).not.toContain('planted')
})

test('DOOR-3: lines below the level are not written', () => {
  const { logger, lines } = logging({ level: 'warn' })
  logger.debug('a')
  logger.info('b')
  logger.warn('c')
  expect(lines()).toMatchObject([{ message: 'c' }])
})
