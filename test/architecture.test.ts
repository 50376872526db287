// The layers as a test: who may import whom, which packages live where, and where time and chance come from.
// ARCHITECTURE.md shows the same table; the last test keeps them the same.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

/** Each folder of src, and what it may import besides itself. Order is the order of the layers. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  tool: ['kernel'],
  journal: ['kernel'],
  secret: ['kernel'],
  policy: ['kernel', 'tool', 'journal'],
  store: ['kernel', 'journal', 'secret'],
  files: ['kernel', 'journal', 'secret', 'store'],
  values: ['kernel', 'journal', 'store', 'files'],
  wait: ['kernel', 'journal'],
  engine: ['kernel', 'tool', 'journal', 'secret', 'store', 'wait'],
  schedule: ['kernel'],
  box: ['kernel', 'tool', 'call'],
  people: ['kernel', 'tool', 'journal', 'secret', 'policy', 'store', 'wait', 'engine'],
  feed: ['kernel', 'journal', 'secret', 'store'],
  keep: ['kernel', 'journal', 'store', 'files'],
  background: ['kernel', 'tool', 'journal', 'store', 'files', 'engine', 'schedule'],
  call: ['kernel', 'tool', 'journal', 'secret', 'policy', 'files', 'values', 'engine', 'wait'],
  model: ['kernel', 'tool', 'call'],
  session: [
    'kernel',
    'tool',
    'journal',
    'secret',
    'policy',
    'store',
    'wait',
    'engine',
    'feed',
    'call',
    'people',
    'files',
    'background',
    'model',
  ],
  turn: ['kernel', 'tool', 'journal', 'store', 'engine', 'call', 'model', 'session'],
  runtime: [
    'kernel',
    'tool',
    'journal',
    'secret',
    'policy',
    'store',
    'wait',
    'engine',
    'feed',
    'keep',
    'call',
    'people',
    'session',
    'files',
    'values',
    'background',
    'model',
    'turn',
  ],
  testing: ['kernel', 'tool', 'journal', 'store', 'wait', 'engine', 'session', 'runtime', 'model'],
  index: [
    'kernel',
    'tool',
    'journal',
    'policy',
    'wait',
    'engine',
    'feed',
    'keep',
    'call',
    'people',
    'session',
    'runtime',
    'files',
    'background',
    'model',
    'turn',
  ],
  adapters: ['index', 'tool'],
}

/** Packages from npm, and the folders that may use each. */
const packages: Readonly<Record<string, readonly string[]>> = {
  '@mdream/js': ['box'],
  '@standard-schema/spec': ['tool'],
  croner: ['schedule'],
  pg: ['store'],
  re2js: ['tool', 'policy'],
  tokenx: ['call'],
}

/** Time, timers and chance come through ports; these files are the ports. */
const ports = new Set(['src/kernel/time.ts', 'src/runtime/ids.ts'])
const forbidden = /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bsetTimeout\(|\bsetInterval\(/

const root = join(import.meta.dirname, '..')
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => join('src', name))

const layerOf = (file: string): string => {
  const inside = relative('src', file)
  return inside.includes('/') ? (inside.split('/')[0] as string) : inside.replace(/\.ts$/, '')
}

interface Import {
  readonly from: string
  readonly to: string
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), 'utf8')
  const found = [...text.matchAll(/(?:^|\n)\s*(?:import|export)\b[^'"]*?from\s+'([^']+)'|\bimport\('([^']+)'\)/g)]
  return found.map((match) => ({ from: file, to: (match[1] ?? match[2]) as string }))
}

const all = sources.flatMap(importsOf)
const inner = all
  .filter(({ to }) => to.startsWith('.'))
  .map(({ from, to }) => ({ from, to: relative(root, resolve(root, dirname(from), to)) }))

test('every folder imports only what the table allows', () => {
  const wrong = inner.filter(({ from, to }) => {
    const [a, b] = [layerOf(from), layerOf(to)]
    return a !== b && !mayImport[a]?.includes(b)
  })
  expect(wrong).toEqual([])
  expect(inner.length).toBeGreaterThan(50) // the scan sees something
})

test('there are no cycles between files, types included', () => {
  const edges = new Map<string, string[]>()
  for (const { from, to } of inner) edges.set(from, [...(edges.get(from) ?? []), to])
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) return void cycles.push([...path.slice(path.indexOf(file)), file].join(' → '))
    if (done.has(file)) return
    for (const next of edges.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of sources) visit(file, [])
  expect(cycles).toEqual([])
})

test('packages stay in their folder, and kernel uses no node: module', () => {
  const outer = all.filter(({ to }) => !to.startsWith('.'))
  const wrong = outer.filter(({ from, to }) =>
    to.startsWith('node:') ? layerOf(from) === 'kernel' : !packages[to]?.includes(layerOf(from)),
  )
  expect(wrong).toEqual([])
})

test('time and chance come only through the ports', () => {
  const wrong = sources.filter((file) => !ports.has(file) && forbidden.test(readFileSync(join(root, file), 'utf8')))
  expect(wrong).toEqual([])
})

test('a file is one noun or one verb, about 300 lines at most', () => {
  const long = sources
    .map((file) => [file, readFileSync(join(root, file), 'utf8').split('\n').length] as const)
    .filter(([, lines]) => lines > 340)
  expect(long).toEqual([])
  const drawers = sources.filter((file) => /(^|\/)(utils?|helpers?|managers?|types|common|misc)(\/|\.ts$)/.test(file))
  expect(drawers).toEqual([])
})

test('ARCHITECTURE.md shows this table', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  for (const [layer, allowed] of Object.entries(mayImport)) {
    expect(text).toContain(`| ${layer} | ${allowed.length > 0 ? allowed.join(', ') : 'nothing'} |`)
  }
})
