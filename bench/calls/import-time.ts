// Cost of `import 'pawl'`: time in fresh processes, and the packages that are loaded with it. The child code runs in
// the root of the repository, where the name 'pawl' resolves to the built package (dist) as for a user, not to src.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface LoadedPackage {
  readonly name: string
  readonly files: number
  /** Time to import it alone, best of several. Dependencies shared by packages count for each of them. */
  readonly ms: number
  /** True if a plain call (memory store, zod tool) runs any function of it. If false, it could be loaded later. */
  readonly used: boolean
}

export interface ImportTime {
  /** Milliseconds of `import 'pawl'`, and of an empty module as the cost of the loader. */
  readonly pawl: number
  readonly empty: number
  readonly ownFiles: number
  readonly packages: readonly LoadedPackage[]
  /** Node modules that the import loads in addition. */
  readonly builtins: readonly string[]
  /** True if sources are newer than the build, so that the figures are outdated. */
  readonly stale: boolean
}

const root = join(import.meta.dirname, '../..')
const tries = 7

export function importTime(dir: string): ImportTime {
  if (!existsSync(join(root, 'dist/index.js')))
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' })
  const emptyFile = join(dir, 'empty.mjs')
  writeFileSync(emptyFile, '')
  const empty = pathToFileURL(emptyFile).href
  const times = { pawl: [] as number[], empty: [] as number[] }
  for (let round = 0; round < tries; round++) {
    times.pawl.push(timeOf('pawl'))
    times.empty.push(timeOf(empty))
  }
  const { urls, ran } = look()
  const builtins = builtinsOf()
  const files = new Map<string, number>()
  for (const url of urls) {
    const name = packageOf(url)
    files.set(name, (files.get(name) ?? 0) + 1)
  }
  const ownFiles = files.get('') ?? 0
  files.delete('')
  const used = new Set(ran.map(packageOf))
  const packages = [...files].map(([name, count]) => ({
    name,
    files: count,
    ms: best(() => timeOf(name), 3),
    used: used.has(name),
  }))
  const stale = newest(join(root, 'src')) > newest(join(root, 'dist'))
  return { pawl: Math.min(...times.pawl), empty: Math.min(...times.empty), ownFiles, packages, builtins, stale }
}

const best = (measure: () => number, count: number): number => Math.min(...Array.from({ length: count }, measure))

const timeOf = (specifier: string): number =>
  Number(
    child(`const from = performance.now()
      await import(${JSON.stringify(specifier)})
      console.log(performance.now() - from)`),
  )

/** The package a file belongs to; '' for Pawl itself. */
const packageOf = (url: string): string => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? ''

function newest(dir: string): number {
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return Math.max(...files.map((file) => statSync(join(file.parentPath, file.name)).mtimeMs))
}

/** Files that the import loads, and files in which a call then runs a function (coverage reset after the import). */
function look(): { urls: string[]; ran: string[] } {
  return JSON.parse(
    child(`import { Session } from 'node:inspector/promises'
      import { registerHooks } from 'node:module'
      const session = new Session()
      session.connect()
      await session.post('Profiler.enable')
      await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
      const urls = []
      const hooks = registerHooks({ load: (url, context, next) => (url.startsWith('file:') && urls.push(url), next(url, context)) })
      const { createRuntime, tool } = await import('pawl')
      hooks.deregister()
      const { z } = await import('zod')
      await session.post('Profiler.takePreciseCoverage') // also resets the counts
      const noop = tool({ name: 'noop', description: 'd', input: z.object({ n: z.number() }), hints: { readOnly: true }, execute: () => 1 })
      const runtime = await createRuntime({ store: 'memory:', tools: [noop] })
      await runtime.session('s').run([{ id: 'a', name: 'noop', input: { n: 1 } }])
      await runtime.close()
      const { result } = await session.post('Profiler.takePreciseCoverage')
      const ran = result.filter(({ functions }) => functions.some(({ ranges }) => ranges.some(({ count }) => count > 0)))
      console.log(JSON.stringify({ urls, ran: ran.map(({ url }) => url) }))`),
  ) as ReturnType<typeof look>
}

/** Separate from look(), whose inspector and hooks load modules of their own. */
function builtinsOf(): string[] {
  const names = child(`const before = new Set(process.moduleLoadList)
    await import('pawl')
    console.log(process.moduleLoadList.filter((name) => !before.has(name)).join('\\n'))`)
  const shown = names.split('\n').filter((name) => name.startsWith('NativeModule ') && !name.includes('internal/'))
  return shown.map((name) => name.slice('NativeModule '.length))
}

function child(code: string): string {
  const { NODE_OPTIONS: _, ...env } = process.env // an inherited condition or loader would change the measurement
  return execFileSync(process.execPath, ['--input-type=module', '-e', code], { cwd: root, env, encoding: 'utf8' })
}
