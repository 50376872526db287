// Names that are on disk in every store: collections of documents, keys of steps, names of waits, batches and tools that are ours. Changing
// one is a decision, so all of them are pinned here: against the golden journals, and against the source.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { play } from './scenario.ts'
import { groups } from './scenarios.ts'

const collections = [
  'capability',
  'client',
  'connection',
  'conversation',
  'due',
  'end-chore',
  'file',
  'file-part',
  'file-usage',
  'folder',
  'inbox',
  'message',
  'message-id',
  'message-sent',
  'model-usage',
  'notice',
  'occurrence',
  'pin',
  'quarantine',
  'result-owed',
  'rule',
  'schedule',
  'schedule-gate',
  'secret',
  'secret-usage',
  'session-agent',
  'session-end',
  'session-parent',
  'session-working',
  'subscribed',
  'subscription',
  'task',
  'task-child',
  'task-event',
  'task-message',
  'task-order',
  'task-run',
  'task-signals',
  'task-starts',
  'task-wake',
  'tool-revealed',
  'trigger-gate',
  'turn-last',
  'usage',
  'value',
  'value-usage',
]

/** Those that no scenario writes: files in a folder of the disk, whose lock is a document. */
const unrecorded = ['folder']

/** Keys of steps: `#` is a number, `*` a name that a tool or a user gave. */
const stepKeys = [
  'budget',
  'budget:invalid',
  'budget:parked:#',
  'budget:settled',
  'cancel',
  'complete:*',
  'completion:#',
  'emit:#',
  'emit:key:*',
  'emitted',
  'hooks:before',
  'hooks:before:edit:#',
  'late:#',
  'message:#',
  'model:#',
  'now:#',
  'prepare',
  'prepare:edit:#',
  'retry:#',
  'secrets:#:#:*',
  'signal:#:*',
  'sleep:#',
  'sleep:recovery:#',
  'step:*',
  'summary:#',
  'task-wait:#',
  'values:#:#:*',
]

/** Names of waits, batches, tools and positions that are ours. */
const reserved = [
  'pawl:absent',
  'pawl:announce',
  'pawl:announcement',
  'pawl:approval',
  'pawl:client',
  'pawl:connection',
  'pawl:end',
  'pawl:finding',
  'pawl:key',
  'pawl:message',
  'pawl:question',
  'pawl:reply',
  'pawl:signal',
  'pawl:step',
  'pawl:task',
  'pawl:turn',
  'pawl:under',
]

/** Prefixes of template texts in the source: keys of steps and documents, and what ids and keys are derived from. */
const prefixes = [
  'agent:',
  'budget:parked:',
  'complete:',
  'completion:',
  'emit:',
  'emit:key:',
  'key:',
  'late:',
  'message:',
  'model:',
  'now:',
  'pawl:announcement:',
  'pawl:approval:',
  'pawl:connection:',
  'pawl:finding:',
  'pawl:question:',
  'pawl:signal:',
  'random:',
  'retry:',
  'run:',
  'schedule:',
  'session:',
  'signal:',
  'sleep:',
  'sleep:recovery:',
  'step:',
  'summary:',
  'task-sent:',
  'task-wait:',
  'task:',
  'trigger:',
  'turn:',
  'uuid:',
]

const sorted = (names: Iterable<string>): string[] => [...new Set(names)].toSorted()
const found = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name]) => name ?? '')

/** The source without tests, without the default tools and adapters, and without comments. */
const source = ((): string => {
  const src = join(import.meta.dirname, '../../src')
  const outside = /^(box|toolbox|adapters|testing|server|client|cli|mcp|otel)\b/
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  const ours = files.filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !outside.test(file))
  return ours.map((file) => readFileSync(join(src, file), 'utf8').replace(/^\s*(\/\/|\*|\/\*\*).*$/gm, '')).join('\n')
})()

const golden = ((): string => {
  const folder = join(import.meta.dirname, 'golden')
  return readdirSync(folder)
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n')
})()

interface Journal {
  readonly calls: Record<string, readonly { steps?: readonly { key: string }[] }[]>
  readonly documents: Record<string, unknown>
}
const journals = readdirSync(join(import.meta.dirname, 'golden')).flatMap((file) =>
  Object.values(JSON.parse(readFileSync(join(import.meta.dirname, 'golden', file), 'utf8')) as Record<string, Journal>),
)

test('every collection of the golden journals and of the source is declared', () => {
  const recorded = journals.flatMap(({ documents }) => Object.keys(documents).map((name) => name.split(' ')[0] ?? ''))
  expect(sorted([...recorded, ...unrecorded])).toEqual(collections)
  const unions = found(source, /\btype Collection = ([^\n]+)/g).flatMap((union) => found(union, /'([\w-]+)'/g))
  const lists = found(source, /\bkeptIn\(\[([^\]]*)\]/g).flatMap((list) => found(list, /'([\w-]+)'/g))
  const constants = [...found(source, /\bof: '([\w-]+)'/g), ...found(source, /(?:[cC]ollection = |\bnamed\()'([\w-]+)'/g)]
  expect(constants.length).toBeGreaterThan(20)
  expect(sorted([...unions, ...lists, ...constants]).filter((name) => !collections.includes(name))).toEqual([])
  // One that is gone from the source is gone from disk: what is made of two words there is looked for by its second.
  const quoted = (name: string): boolean => source.includes(`'${name}'`) || source.includes(`\`\${of}-${name.split('-').at(-1)}\``)
  expect(collections.filter((name) => !quoted(name))).toEqual([])
})

test('every step key of the golden journals is declared, and every declared one is recorded', () => {
  const keys = sorted(
    journals.flatMap(({ calls }) =>
      Object.values(calls).flatMap((changes) => changes.flatMap(({ steps = [] }) => steps.map(({ key }) => key))),
    ),
  )
  const shapes = stepKeys.map((shape) => ({ shape, pattern: new RegExp(`^${shape.replaceAll('#', '\\d+').replaceAll('*', '.+')}$`) }))
  const shapeOf = (key: string): string | undefined => shapes.find(({ pattern }) => pattern.test(key))?.shape
  expect(keys.filter((key) => shapeOf(key) === undefined)).toEqual([])
  expect(sorted(keys.map((key) => shapeOf(key) ?? ''))).toEqual(stepKeys)
})

test('every reserved name of the golden journals and of the source is declared', () => {
  const used = [...found(source, /['`](pawl:[\w-]+)/g), ...found(golden, /\b(pawl:[a-z-]+)/g)]
  expect(sorted(used)).toEqual(reserved)
})

test('the prefixes of keys in the source are the declared ones', () => {
  expect(sorted(found(source, /`([a-z][a-z:-]*:)\$\{/g))).toEqual(prefixes)
})

test('the settings that a runtime reads and writes when it opens', async () => {
  const success = groups.attempts?.success
  const { recording } = await play(success ?? (async () => {}), 'memory')
  expect(sorted(recording.settings)).toEqual(['format', 'secret_fingerprint', 'secret_fingerprint:1'])
})
