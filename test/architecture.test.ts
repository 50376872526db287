// The structure of src as a test: no import cycles, which packages live where, and where time and chance come from.

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

/** Packages from npm, and the folders that may use each. */
const packages: Readonly<Record<string, readonly string[]>> = {
  '@mdream/js': ['box', 'toolbox'],
  '@standard-schema/spec': ['tool', 'tools'],
  croner: ['schedule', 'schedules'],
  pg: ['store'],
  re2js: ['tool', 'tools', 'policy'],
  tokenx: ['call', 'calls'],
}

/** Time, timers and chance come through ports; these files are the ports. */
const ports = new Set(['src/core/clock.ts', 'src/core/clock.ts', 'src/runtime/time-ordered-id.ts', 'src/runtime/time-ordered-id.ts'])
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

test('packages stay in their folder, and core uses no node: module', () => {
  const outer = all.filter(({ to }) => !to.startsWith('.'))
  const wrong = outer.filter(({ from, to }) =>
    to.startsWith('node:') ? ['kernel', 'core'].includes(layerOf(from)) : !packages[to]?.includes(layerOf(from)),
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
