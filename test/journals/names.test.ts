// Names that are persisted in every store: document collections, step keys, and reserved names of waits, batches and
// tools. Changing one is a decision, so all of them are pinned here, and compared with the declarations in
// src/store/collections.ts, with the golden journals and with the source.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { collections as declared } from '../../src/store/collections.ts'
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
  'token',
  'tool-revealed',
  'trigger-gate',
  'turn-last',
  'turn-queued',
  'usage',
  'value',
  'value-usage',
]

/** Collections that no scenario writes: the lock of files in a disk folder. */
const unrecorded = ['folder']

/** Step keys: `#` stands for a number, `*` for a name given by a tool or user. */
const stepKeys = [
  'budget',
  'budget:invalid',
  'budget:parked:#',
  'budget:settled',
  'cancel',
  'complete:*',
  'completion:#',
  'deaths',
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

/** Reserved names of waits, batches, tools and positions. */
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

/** Prefixes of template strings in the source: step keys, document keys, and inputs of derived ids and keys. */
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
  'token:',
  'trigger:',
  'turn:',
  'uuid:',
]

const sorted = (names: Iterable<string>): string[] => [...new Set(names)].toSorted()
const found = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, name]) => name ?? '')

const src = join(import.meta.dirname, '../../src')
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))

/** The source without tests, toolbox, adapters, doors and comments. */
const read = (isRead: (file: string) => boolean): string => {
  const outside = /^(box|toolbox|adapters|testing|server|client|cli|mcp|otel)\b/
  const ours = files.filter((file) => !file.endsWith('.test.ts') && !outside.test(file) && isRead(file))
  return ours.map((file) => readFileSync(join(src, file), 'utf8').replace(/^\s*(\/\/|\*|\/\*\*).*$/gm, '')).join('\n')
}
const source = read(() => true)
const keysFile = join('store', 'journal-keys.ts')

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

test('the declared collections are the pinned ones, and scenarios write all of them', () => {
  expect(sorted(Object.values(declared).map(({ of }) => of))).toEqual(collections)
  const recorded = journals.flatMap(({ documents }) => Object.keys(documents).map((name) => name.split(' ')[0] ?? ''))
  expect(sorted([...recorded, ...unrecorded])).toEqual(collections)
})

test('only collections.ts names collections', () => {
  const literals = [
    ...found(source, /\bof: ['`]([\w-]+)/g),
    ...found(source, /\b(?:name|of|[cC]ollection)\s*=\s*['`]([\w-]+)/g).filter((name) => collections.includes(name)),
    ...found(source, /\bnew Collection\b[^(]*\(\s*['`]([\w-]+)/g),
  ]
  expect(literals).toEqual([])
})

test('JSON text is parsed to a type only by collections and codecs', () => {
  const casts = files.flatMap((file) =>
    found(readFileSync(join(src, file), 'utf8'), /^(.*JSON\.parse\(.*\) as\b.*)$/gm).map(
      (line) => [file, line] as const,
    ),
  )
  expect(casts.length).toBeGreaterThan(5) // the scan finds them
  const isCodec = ([file, line]: readonly [string, string]): boolean =>
    // Doors parse input of people and of the network, not records.
    /^(store|core|server|client|mcp|cli)\b/.test(file) || /^export const parse\w+ = /.test(line)
  expect(casts.filter((cast) => !isCodec(cast))).toEqual([])
})

test('every step key in the golden journals is declared, and every declared one occurs', () => {
  const keys = sorted(
    journals.flatMap(({ calls }) =>
      Object.values(calls).flatMap((changes) => changes.flatMap(({ steps = [] }) => steps.map(({ key }) => key))),
    ),
  )
  const shapes = stepKeys.map((shape) => ({
    shape,
    pattern: new RegExp(`^${shape.replaceAll('#', '\\d+').replaceAll('*', '.+')}$`),
  }))
  const shapeOf = (key: string): string | undefined => shapes.find(({ pattern }) => pattern.test(key))?.shape
  expect(keys.filter((key) => shapeOf(key) === undefined)).toEqual([])
  expect(sorted(keys.map((key) => shapeOf(key) ?? ''))).toEqual(stepKeys)
})

test('every reserved name in the golden journals and the source is declared', () => {
  const used = [...found(source, /['`](pawl:[\w-]+)/g), ...found(golden, /\b(pawl:[a-z-]+)/g)]
  expect(sorted(used)).toEqual(reserved)
})

test('the key prefixes in the source match the declared ones', () => {
  expect(sorted(found(source, /`([a-z][a-z:-]*:)\$\{/g))).toEqual(prefixes)
})

test('only journal-keys.ts names step keys and reserved names', () => {
  const elsewhere = read((file) => file !== keysFile)
  expect(found(elsewhere, /['`](pawl:[\w-]*)(?!\s)/g).filter((name) => reserved.includes(name))).toEqual([])
  const names = stepKeys.map((shape) => shape.replace(/[#*].*$/, ''))
  const spelled = sorted(found(elsewhere, /`([a-z][a-z:-]*:)\$\{/g)).filter((prefix) => names.includes(prefix))
  expect(spelled).toEqual([])
  expect(found(elsewhere, /(?:\bkey: |[kK]ey = )['`]([a-z][\w:-]*)/g).filter((key) => names.includes(key))).toEqual([])
})

test('a runtime reads and writes only the declared settings when it opens', async () => {
  const success = groups.attempts?.success
  const { recording } = await play(success ?? (async () => {}), 'memory')
  expect(sorted(recording.settings)).toEqual(['format', 'secret_fingerprint', 'secret_fingerprint:1'])
})
