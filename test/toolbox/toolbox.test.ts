// Conventions of every tool in the toolbox, and the tools that need no files.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime } from 'pawl'
import { toolbox } from 'pawl/toolbox'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { compileSchema } from '../../src/tools/schema.ts'
import type { Phase } from '../../src/tools/narration/narration-templates.ts'
import type { Json } from '../../src/core/tool-value.ts'
import { type Asking, asking } from './toolbox-session.ts'

let given: Asking
beforeEach(async () => {
  given = await asking()
})
afterEach(() => given.runtime.close({ grace: 0 }))

const defaults = [
  'get_current_time',
  'report_progress',
  'write_todos',
  'read_file',
  'write_file',
  'edit_file',
  'list_directory',
  'grep_files',
  'delete_file',
  'stat_file',
  'web_fetch',
]
const samples = ['echo', 'add', 'subtract', 'multiply', 'divide', 'get_weather', 'get_forecast']
const namesOf = (tools: readonly { readonly name: string }[]): string[] => tools.map(({ name }) => name)

test('BOX-1: toolbox() omits the samples, toolbox.all() returns all 18 tools', () => {
  expect(namesOf(toolbox())).toEqual(defaults)
  expect(namesOf(toolbox.samples())).toEqual(samples)
  expect(namesOf(toolbox.all())).toEqual([...defaults, ...samples])
  expect(toolbox.all()).toHaveLength(18)
  expect(toolbox()).not.toBe(toolbox())
})

test('BOX-1: the guide lists the tools of every part and those that need approval', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../docs/guide/toolbox.md'), 'utf8')
  const listed = new Map(
    [...guide.matchAll(/^\| `toolbox\.(\w+)\(.*?\)` \|(.*)\|$/gm)].map(([, part = '', said = '']) => [
      part,
      [...said.matchAll(/`([a-z]+(?:_[a-z]+)*)`/g)].map(([, name]) => name),
    ]),
  )
  const { shell, all: _, ...parts } = Object.fromEntries(Object.entries(toolbox)) as typeof toolbox
  const given = Object.entries(parts).map(([part, tools]) => [part, tools()] as const)
  const listings = [...given, ['shell', shell({ folder: () => '/tmp' })] as const]
  expect(Object.fromEntries(listed)).toEqual(
    Object.fromEntries(listings.map(([part, tools]) => [part, tools.map(({ name }) => name)])),
  )
  const asks = listings.flatMap(([, tools]) => tools).filter(({ hints }) => hints.destructive || hints.openWorld)
  const [, said = ''] = /## What asks a person\n\n([^\n]*)/.exec(guide) ?? []
  expect([...said.matchAll(/`([a-z]+(?:_[a-z]+)*)`/g)].map(([, name]) => name)).toEqual(
    expect.arrayContaining(asks.map(({ name }) => name)),
  )
})

describe.for(toolbox.all())('BOX-1: $name', (tool) => {
  test('has a title, a description, an output schema and hints', () => {
    expect(tool.title).toMatch(/^[A-Z].{3,}[^.]$/)
    expect(tool.description).toMatch(/^[A-Z].{10,}\.$/s)
    expect(tool.output).toBeDefined()
    expect(Object.values(tool.hints)).toContain(true)
    expect(tool.input.warnings).toEqual([])
    expect(tool.output?.warnings).toEqual([])
  })

  test('describes each argument and rejects unknown ones', async () => {
    const { properties, additionalProperties } = tool.input.json as {
      properties: Record<string, Json>
      additionalProperties: Json
    }
    expect(additionalProperties).toBe(false)
    for (const each of Object.values(properties))
      expect((each as { description: string }).description.length).toBeGreaterThan(3)
  })

  test('has examples that match its schema', async () => {
    expect(tool.examples.length).toBeGreaterThan(0)
    for (const example of tool.examples) expect(await tool.input.check(example as Json)).toMatchObject({ ok: true })
  })

  test('narrates every phase in English and in German', () => {
    const [example] = tool.examples.slice(-1)
    for (const phase of ['started', 'waiting', 'completed', 'failed'] satisfies Phase[]) {
      const [en, de, other] = ['en', 'de-AT', 'fr'].map((locale) => tool.narrate?.(example as never, { phase, locale }))
      expect(en).toMatch(/^[A-Z]/)
      expect(de).toBeTruthy()
      expect(en).not.toBe(de)
      expect(other).toBe(en)
      for (const text of [en, de]) expect(text).not.toMatch(/\{\}|undefined|\.$/)
    }
  })
})

test('BOX-1: hints match the behaviour of the tools', () => {
  const hints = Object.fromEntries(toolbox.all().map(({ name, hints: own }) => [name, own]))
  for (const name of [
    'read_file',
    'list_directory',
    'grep_files',
    'stat_file',
    'get_current_time',
    'echo',
    'add',
    'get_weather',
  ])
    expect(hints[name]).toMatchObject({ readOnly: true })
  for (const name of ['write_file', 'edit_file', 'write_todos', 'report_progress'])
    expect(hints[name]).toEqual({ idempotent: true })
  expect(hints.delete_file).toEqual({ destructive: true, idempotent: true })
  const concurrency = Object.fromEntries(toolbox.all().map((tool) => [tool.name, tool.concurrency.kind]))
  for (const name of ['write_file', 'edit_file', 'delete_file', 'write_todos'])
    expect(concurrency[name]).toBe('exclusive')
})

test('BOX-1: without rules only delete_file needs approval, and its preview shows the path', async () => {
  const runtime = await createRuntime({ store: 'memory:', tools: toolbox.all() })
  const session = runtime.session('s')
  await session.files.write('a/b.txt', 'x')
  expect(await session.run([{ id: '1', name: 'write_file', input: { path: 'c', content: '' } }])).toMatchObject([
    { status: 'success' },
  ])
  const waiting = await session.run([{ id: '2', name: 'delete_file', input: { path: 'a', recursive: true } }], {
    until: 'waiting',
  })
  expect(waiting).toMatchObject([{ status: 'waiting' }])
  expect(await runtime.inbox()).toMatchObject([{ preview: { summary: 'Deletes a and all that is in it.' } }])
  await runtime.close({ grace: 0 })
})

describe('get_current_time', () => {
  test('BOX-1: returns the time of the clock in each format', async () => {
    expect(await given.value('get_current_time')).toEqual({
      datetime: '2026-03-01T10:30:05.007Z',
      format: 'iso8601',
      timezone: 'UTC',
      utc_offset: '+00:00',
    })
    expect(await given.value('get_current_time', { format: 'unix' })).toMatchObject({
      timestamp: 1772361005,
      format: 'unix',
    })
    expect(await given.value('get_current_time', { format: 'human' })).toMatchObject({
      datetime: 'Sunday, March 01, 2026 at 10:30:05 UTC',
    })
  })

  test('BOX-1: applies the time zone and daylight saving time', async () => {
    expect(await given.value('get_current_time', { timezone: 'Europe/Berlin' })).toMatchObject({
      datetime: '2026-03-01T11:30:05.007+01:00',
      timezone: 'Europe/Berlin',
      utc_offset: '+01:00',
    })
    expect(await given.value('get_current_time', { timezone: 'Asia/Kathmandu', format: 'human' })).toMatchObject({
      datetime: 'Sunday, March 01, 2026 at 16:15:05 Asia/Kathmandu',
      utc_offset: '+05:45',
    })
    await given.clock.advance('60d')
    expect(await given.value('get_current_time', { timezone: 'America/New_York' })).toMatchObject({
      datetime: '2026-04-30T06:30:05.007-04:00',
    })
    expect(await given.value('get_current_time', { timezone: 'Europe/Berlin' })).toMatchObject({ utc_offset: '+02:00' })
  })

  test.for(['Mars/Olympus', 'Europe', '../etc', 'CETTTT'])(
    'BOX-1: rejects the unknown time zone %s',
    async (timezone) => {
      expect(await given.failure('get_current_time', { timezone })).toEqual({
        code: 'unknown_timezone',
        class: 'invalid_request',
        message: `Unknown time zone '${timezone}'. Use an IANA name such as Europe/Berlin, or UTC.`,
      })
    },
  )
})

describe('echo', () => {
  test.for([
    ['hello', 5],
    ['Grüße', 5],
    ['👍🏽', 2],
    ['', 0],
  ] as const)('BOX-1: %s has %i characters', async ([message, length]) => {
    expect(await given.value('echo', { message })).toEqual({ echoed: message, length })
  })

  test('BOX-1: rejects a call without a message', async () => {
    expect(await given.failure('echo', {})).toMatchObject({ code: 'invalid_arguments' })
  })
})

describe('report_progress', () => {
  test('BOX-1: returns the trimmed report and publishes it as live progress', async () => {
    const seen: unknown[] = []
    const session = given.runtime.session('s')
    const watching = (async () => {
      for await (const event of session.events({ live: true })) {
        seen.push(event)
        if (event.type === 'call.settled') return
      }
    })()
    expect(
      await given.value('report_progress', { status: 'blocked', summary: '  No key  ', details: [' a ', 'b'] }),
    ).toEqual({
      status: 'blocked',
      summary: 'No key',
      details: ['a', 'b'],
    })
    await watching
    expect(JSON.stringify(seen)).toContain('"label":"No key"')
  })

  test('BOX-1: rejects empty summaries, empty details and unknown states', async () => {
    expect(await given.failure('report_progress', { status: 'progress', summary: ' ' })).toMatchObject({
      code: 'invalid_arguments',
      message: "Missing required field: 'summary'",
    })
    expect(
      await given.failure('report_progress', { status: 'progress', summary: 'x', details: ['a', ' '] }),
    ).toMatchObject({
      message: 'details[1] must not be empty',
    })
    expect((await given.failure('report_progress', { status: 'done', summary: 'x' })).code).toBe('invalid_arguments')
  })
})

describe('math', () => {
  test.for([
    ['add', 2, 3, 5],
    ['subtract', 2, 3.5, -1.5],
    ['multiply', -4, 0, 0],
    ['divide', 1, 4, 0.25],
  ] as const)('BOX-1: %s computes with %d and %d', async ([name, a, b, result]) => {
    expect(await given.value(name, { a, b })).toEqual({ result, operation: name, a, b })
  })

  test('BOX-1: invalid operands and results out of range fail with a specific message', async () => {
    expect(await given.failure('divide', { a: 1, b: 0 })).toEqual({
      code: 'division_by_zero',
      class: 'invalid_request',
      message: 'Cannot divide by zero',
    })
    expect(await given.failure('multiply', { a: 1e308, b: 10 })).toMatchObject({
      code: 'out_of_range',
      message: 'The result is too large for a number',
    })
    expect(await given.failure('add', { a: Number.MAX_SAFE_INTEGER, b: 10 })).toMatchObject({ code: 'out_of_range' })
    expect(await given.value('multiply', { a: 1e15, b: 1e15 })).toMatchObject({ result: 1e30 })
    expect((await given.failure('add', { a: 1 })).code).toBe('invalid_arguments')
    expect((await given.failure('add', { a: '1', b: 2 })).code).toBe('invalid_arguments')
  })
})

describe('weather', () => {
  test('BOX-1: returns the same weather for the same location', async () => {
    // The character codes of 'Lisbon' add up to 615, from which the sample data is derived.
    expect(await given.value('get_weather', { location: ' Lisbon ' })).toEqual({
      location: 'Lisbon',
      temperature: 25,
      units: 'celsius',
      conditions: 'sunny',
      humidity: 45,
      wind_speed_kmh: 20,
      timestamp: '2026-03-01T10:30:05.007Z',
    })
    expect(await given.value('get_weather', { location: 'Lisbon', units: 'fahrenheit' })).toMatchObject({
      temperature: 77,
    })
    expect((await given.failure('get_weather', { location: ' ' })).message).toBe("Missing required field: 'location'")
  })

  test('BOX-1: a forecast begins today and covers three days by default', async () => {
    const { days, forecast } = await given.value<{ days: number; forecast: unknown[] }>('get_forecast', {
      location: 'Lisbon',
    })
    expect(days).toBe(3)
    expect(forecast).toEqual([
      { date: '2026-03-01', high: 25, low: 17, conditions: 'sunny', precipitation_chance: 15 },
      { date: '2026-03-02', high: 32, low: 22, conditions: 'cloudy', precipitation_chance: 22 },
      { date: '2026-03-03', high: 39, low: 27, conditions: 'windy', precipitation_chance: 29 },
    ])
    expect(await given.value('get_forecast', { location: 'Lisbon', days: 7 })).toMatchObject({
      forecast: { length: 7 },
    })
    expect((await given.failure('get_forecast', { location: 'Lisbon', days: 8 })).code).toBe('invalid_arguments')
  })
})

describe('write_todos', () => {
  const todo = (status: string, content = 'Do it') => ({ content, activeForm: 'Doing it', status })

  test('BOX-1: counts tasks by state and warns unless exactly one is in progress', async () => {
    expect(
      await given.value('write_todos', { todos: [todo('completed'), todo('in_progress', ' trim '), todo('pending')] }),
    ).toEqual({
      success: true,
      total_tasks: 3,
      pending: 1,
      in_progress: 1,
      completed: 1,
      todos: [todo('completed'), todo('in_progress', 'trim'), todo('pending')],
    })
    expect(await given.value('write_todos', { todos: [todo('pending')] })).toMatchObject({
      warning: 'No task is in_progress; mark the one you work on',
    })
    expect(await given.value('write_todos', { todos: [todo('in_progress'), todo('in_progress')] })).toMatchObject({
      warning: '2 tasks are in_progress; exactly one should be',
    })
    expect(await given.value('write_todos', { todos: [] })).toMatchObject({ total_tasks: 0 })
    expect(await given.value('write_todos', { todos: [todo('completed')] })).not.toHaveProperty('warning')
  })

  test('BOX-1: rejects empty tasks and unknown states', async () => {
    expect((await given.failure('write_todos', { todos: [todo('pending'), todo('pending', ' ')] })).message).toBe(
      "Task 2 is missing or has empty 'content' field",
    )
    expect((await given.failure('write_todos', { todos: [{ ...todo('pending'), activeForm: '' }] })).message).toBe(
      "Task 1 is missing or has empty 'activeForm' field",
    )
    const { code, message } = await given.failure('write_todos', { todos: [todo('doing')] })
    expect(code).toBe('invalid_arguments')
    expect(message).toContain('todos[0].status')
    expect((await given.failure('write_todos', {})).code).toBe('invalid_arguments')
  })
})

test('BOX-1: the JSON schema of every tool compiles again', () => {
  for (const tool of toolbox.all()) expect(() => compileSchema(tool.input.json, tool.name)).not.toThrow()
})
