// The structure of src as a test: which folder may import which, no import cycles, which packages live where, and where
// time and randomness come from. ARCHITECTURE.md shows the same rings; the last test keeps them equal.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

/**
 * The six rings, inside out. A folder imports only from earlier rings and, within its ring, from folders to its left.
 */
const rings: readonly { readonly name: string; readonly folders: readonly string[] }[] = [
  { name: 'core', folders: ['core'] },
  { name: 'ports', folders: ['security', 'store', 'tools', 'policy', 'models'] },
  { name: 'engine', folders: ['engine'] },
  {
    name: 'features',
    folders: [
      'storage',
      'feed',
      'calls',
      'approvals',
      'tasks',
      'schedules',
      'sessions',
      'turns',
      'maintenance',
      'access',
      'toolbox',
    ],
  },
  { name: 'runtime', folders: ['runtime'] },
  { name: 'doors', folders: ['index', 'adapters', 'mcp', 'otel', 'server', 'client', 'testing', 'cli'] },
]

/** The demo of the CLI uses the doors that a program would. `migrate --check` reads the versions of a store. */
const demoImports = /^src\/(?:adapters\/ai-sdk\/ai-sdk|testing\/testing|store\/schema-versions)\.ts$/

/** Imports that a door may use besides the public entry and core. */
const doorImports: Readonly<Record<string, (file: string) => boolean>> = {
  adapters: (file) => ['src/tools/convert-tool-formats.ts', 'src/models/ui-message.ts'].includes(file),
  cli: (file) => ['mcp', 'server', 'client'].includes(folderOf(file)) || demoImports.test(file),
  client: (file) => file === 'src/server/endpoints.ts' || file === 'src/server/routes/routes.ts',
  mcp: (file) => file === 'src/tools/convert-tool-formats.ts' || file.startsWith('src/toolbox/processes/'),
  otel: () => false,
  server: (file) =>
    file === 'src/adapters/ai-sdk/ui-chat.ts' || file.startsWith('src/toolbox/web/') || folderOf(file) === 'mcp',
  testing: (file) => ['store', 'tools', 'models', 'engine'].includes(folderOf(file)),
}

/** npm packages and the folders that may use them. */
const packages: Readonly<Record<string, readonly string[]>> = {
  '@ai-sdk/openai-compatible': ['cli'],
  '@bomb.sh/tab': ['cli'],
  '@bomb.sh/tab/commander': ['cli'],
  '@clack/prompts': ['cli'],
  '@hono/node-server': ['server'],
  '@hono/node-server/utils/response': ['server'],
  '@mdream/js': ['toolbox'],
  '@standard-schema/spec': ['tools'],
  '@modelcontextprotocol/client': ['mcp'],
  '@modelcontextprotocol/server': ['mcp'],
  '@modelcontextprotocol/server/stdio': ['mcp'],
  '@opentelemetry/api': ['otel'],
  commander: ['cli'],
  croner: ['schedules'],
  'eventsource-parser': ['client'],
  pg: ['store'],
  re2js: ['tools', 'policy'],
  tokenx: ['calls'],
  zod: ['server', 'cli'],
}

/** Files that may use time, timers and randomness directly: the ports. */
const ports = new Set([
  'src/core/clock.ts',
  'src/core/clock.ts',
  'src/runtime/time-ordered-id.ts',
  'src/runtime/time-ordered-id.ts',
])
const forbidden = /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(|\bsetTimeout\(|\bsetInterval\(/

const root = join(import.meta.dirname, '../..')
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => join('src', name))

/** The folder of a file in src; the entry and the runtime's own files are outside the folders. */
function folderOf(file: string): string {
  const inside = relative('src', file)
  if (inside.includes('/')) return inside.split('/')[0] as string
  return inside === 'runtime-options.ts' ? 'runtime' : inside.replace(/\.ts$/, '')
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

/** Its imports are text of the file that `pawl init` writes. */
const templates = 'src/cli/init-template.ts'

const all = sources.filter((file) => file !== templates).flatMap(importsOf)
const inner = all
  .filter(({ to }) => to.startsWith('.'))
  .map(({ from, to }) => ({ from, to: relative(root, resolve(root, dirname(from), to)) }))

const order = rings.flatMap(({ folders }) => folders)

test('every folder of src is in a ring', () => {
  expect([...new Set(sources.map(folderOf))].toSorted()).toEqual(order.toSorted())
})

test('a folder imports only from rings before its own and from folders to its left', () => {
  const wrong = inner.filter(({ from, to }) => order.indexOf(folderOf(from)) < order.indexOf(folderOf(to)))
  expect(wrong).toEqual([])
  expect(inner.length).toBeGreaterThan(50) // the scan finds imports
})

test('a door imports only the public entry, core and its listed exceptions', () => {
  const wrong = inner.filter(({ from, to }) => {
    const allowed = doorImports[folderOf(from)]
    const target = folderOf(to)
    return allowed && !['index', 'core', folderOf(from)].includes(target) && !allowed(to)
  })
  expect(wrong).toEqual([])
})

test('a folder has at most 25 files', () => {
  const count = new Map<string, number>()
  for (const file of sources) count.set(dirname(file), (count.get(dirname(file)) ?? 0) + 1)
  expect([...count].filter(([, files]) => files > 25)).toEqual([])
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

test('packages are imported only in their folders, and core uses no node: module', () => {
  const outer = all.filter(({ to }) => !to.startsWith('.'))
  const wrong = outer.filter(({ from, to }) =>
    to.startsWith('node:') ? folderOf(from) === 'core' : !packages[to]?.includes(folderOf(from)),
  )
  expect(wrong).toEqual([])
})

test('time and randomness come only through the ports', () => {
  const wrong = sources.filter((file) => !ports.has(file) && forbidden.test(readFileSync(join(root, file), 'utf8')))
  expect(wrong).toEqual([])
})

test('file names are one noun or verb and files have at most about 300 lines', () => {
  const long = sources
    .map((file) => [file, readFileSync(join(root, file), 'utf8').split('\n').length] as const)
    .filter(([, lines]) => lines > 400)
  expect(long).toEqual([])
  const drawers = sources.filter((file) => /(^|\/)(utils?|helpers?|managers?|types|common|misc)(\/|\.ts$)/.test(file))
  expect(drawers).toEqual([])
})

test('promise checks stay in the few places that need them', () => {
  const checks = sources.flatMap((file) => readFileSync(join(root, file), 'utf8').match(/instanceof Promise\b/g) ?? [])
  expect(checks.length, 'use `chain` or `chainCatch` of core/maybe-promise.ts').toBeLessThanOrEqual(8)
})

test('ARCHITECTURE.md shows the rings', () => {
  const text = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')
  for (const { name, folders } of rings) expect(text).toContain(`| ${name} | ${folders.join(', ')} |`)
})

test('every file that ARCHITECTURE.md and the folder pages name exists', () => {
  const everything = sources.map((file) => `/${file}`)
  const pages = [
    'ARCHITECTURE.md',
    ...['calls', 'schedules', 'storage', 'store', 'toolbox'].map((name) => `src/${name}/README.md`),
  ]
  const missing = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/`([\w./-]+\.ts)`/g)]
      .map(([, name = '']) => name)
      .filter((name) => !everything.some((file) => file.endsWith(`/${name}`)) && !existsSync(join(root, name)))
      .map((name) => `${page}: ${name}`),
  )
  expect(missing).toEqual([])
})
