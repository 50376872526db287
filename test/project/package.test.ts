// The packed package, as a user installs it: what it contains, the Node versions it runs on, and bundles of an
// application that uses it.

import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join, normalize } from 'node:path'
import { promisify } from 'node:util'
import { buildSync, transformSync } from 'esbuild'
import { beforeAll, describe, expect, test } from 'vitest'
import { freshDir } from '../kit/stores/fresh-store.ts'
import { serverForFile } from '../kit/stores/postgres-for-file.ts'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)
const nodes = { 22: join(root, 'node_modules/node-22/bin/node'), 24: join(root, 'node_modules/node/bin/node') } as const

interface Packed {
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string }[]
}
let packed: Packed
/** A project with the packed package and its dependencies, but without `pg`. */
let project: string
let projectWithPg: string

async function install(tarball: string, ...peers: string[]): Promise<string> {
  const folder = freshDir()
  const modules = join(folder, 'node_modules')
  mkdirSync(modules)
  await run('tar', ['-xzf', tarball, '-C', modules])
  renameSync(join(modules, 'package'), join(modules, 'pawl'))
  const { dependencies } = JSON.parse(readFileSync(join(modules, 'pawl/package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  for (const name of [...Object.keys(dependencies), ...peers]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  return folder
}

const server = serverForFile()
beforeAll(async () => {
  const folder = freshDir()
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: root })
  packed = (JSON.parse(stdout) as Packed[])[0] as Packed
  project = await install(join(folder, packed.filename))
  projectWithPg = await install(join(folder, packed.filename), 'pg')
  const app = readFileSync(join(import.meta.dirname, 'child-packaged-app.ts'), 'utf8')
  writeFileSync(join(project, 'app.mjs'), transformSync(app, { loader: 'ts' }).code)
}, 120_000)

interface Ended {
  readonly code: unknown
  readonly out: string
  readonly err: string
}

/** Runs a program of the project with the environment of a user. */
const start = (node: string, ...args: string[]): Promise<Ended> => startIn(project, node, ...args)

async function startIn(cwd: string, node: string, ...args: string[]): Promise<Ended> {
  const { NODE_COMPILE_CACHE = '', PATH = '' } = process.env
  return run(node, args, { cwd, timeout: 60_000, env: { NODE_COMPILE_CACHE, PATH } }).then(
    ({ stdout, stderr }) => ({ code: 0, out: stdout, err: stderr }),
    (error: { code: unknown; signal: unknown; stdout: string; stderr: string }) => ({
      code: error.code ?? error.signal,
      out: error.stdout,
      err: error.stderr,
    }),
  )
}

/** Kills the application between two steps, starts it again, and compares what it prints. */
async function expectToRun(node: string, app: string): Promise<void> {
  const folder = freshDir()
  expect(await start(node, app, folder, 'kill')).toMatchObject({ code: 'SIGKILL', err: '' })
  const { code, out, err } = await start(node, app, folder)
  expect([code, err]).toEqual([0, ''])
  expect(JSON.parse(out)).toEqual({
    turn: 'Ordered.',
    ledger: 'charge mail ',
    grep: 1,
    page: 'markdown',
    strays: 2,
    threads: { answered: 3, failed: [] },
  })
}

describe('the content of the package', () => {
  const paths = (): string[] => packed.files.map(({ path }) => path)

  test('DOOR-6: the package has code, types and docs, and no maps, tests or sources', () => {
    expect(paths()).toEqual(expect.arrayContaining(['README.md', 'docs/guide/README.md', 'docs/reference/errors.md']))
    const other = paths().filter(
      (path) =>
        !/^(dist\/.*\.(js|d\.ts)|dist\/console\/(index\.html|assets\/[\w-]+\.(js|css|svg))|docs\/(guide|reference)\/[\w-]+\.md)$/.test(
          path,
        ),
    )
    expect(other.toSorted()).toEqual(['CHANGELOG.md', 'LICENSE', 'README.md', 'package.json'])
    expect(paths()).toContain('dist/console/index.html')
    expect(packed.size).toBeLessThan(1_650_000)
  })

  test('DOOR-6: every relative link of README and docs leads to a file in the package', () => {
    const dead = paths()
      .filter((path) => path.endsWith('.md'))
      .flatMap((path) =>
        [...readFileSync(join(root, path), 'utf8').matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)]
          .map(([, link = '']) => normalize(join(dirname(path), link)))
          // The pictures of the README are large, and the benchmarks are run in the repository.
          .filter((target) => !/^docs\/(?:images\/|benchmarks\.md$)/.test(target))
          .filter((target) => !paths().includes(target))
          .map((target) => `${path}: ${target}`),
      )
    expect(dead).toEqual([])
  })
})

describe('the packed package', { timeout: 60_000 }, () => {
  test.for([22, 24] as const)('DOOR-6: runs on Node %i, with a kill, and prints nothing', async (version) => {
    expect((await start(nodes[version], '-p', 'process.versions.node')).out).toMatch(
      version === 22 ? /^22\.18\.0\n/ : /^24\./,
    )
    await expectToRun(nodes[version], join(project, 'app.mjs'))
  })

  test('DUR-6: writes through its SQLite thread', async () => {
    const child = join(root, 'test/store/sqlite/child-writer.ts')
    const { out } = await start(nodes[24], child, join(project, 'node_modules/pawl/dist'), join(freshDir(), 'a.db'))
    expect(JSON.parse(out)).toMatchObject({ threads: 1, events: 3 })
  })

  test.for([22, 24] as const)('DOOR-6: on Node %i only the warning about SQLite is hidden', async (version) => {
    const program = `
      import { createRuntime } from 'pawl'
      const loaded = () => process.moduleLoadList.includes('NativeModule sqlite')
      await (await createRuntime({ store: 'memory:' })).close()
      console.log(loaded())
      await (await createRuntime({ store: 'sqlite:${join(freshDir(), 'a.db')}' })).close()
      console.log(loaded())
      process.getBuiltinModule('node:wasi')`
    const { out, err } = await start(nodes[version], '--input-type=module', '-e', program)
    expect(out).toBe('false\ntrue\n')
    expect(err.match(/\w+ is an experimental feature/g)).toEqual(['WASI is an experimental feature'])
  })

  test('DOOR-1: serves the console that it contains', async () => {
    const program = `
      import { createRuntime } from 'pawl'
      import { createServer } from 'pawl/server'
      const runtime = await createRuntime({ store: 'memory:' })
      const server = createServer(runtime)
      const get = (path) => server.fetch(new Request('http://localhost' + path))
      const page = await (await get('/inbox')).text()
      const [, script] = /<script[^>]* src="([^"]+)"/.exec(page)
      console.log(page.includes('<div id="root">'), (await get(script)).status)
      await runtime.close()`
    const { out, err } = await start(nodes[22], '--input-type=module', '-e', program)
    expect([out, err]).toEqual(['true 200\n', ''])
  })

  test('DOOR-6: without pg, pawl/postgres loads and says what to install', async () => {
    const program = `
      import { postgresStore } from 'pawl/postgres'
      await postgresStore({ connection: 'postgres://127.0.0.1:1/none' }).catch((error) => console.log(error.message))`
    const { out } = await start(nodes[22], '--input-type=module', '-e', program)
    expect(out).toBe("A PostgreSQL store needs the package 'pg': npm install pg.\n")
  })

  test.for([22, 24] as const)('DOOR-6: runs on PostgreSQL with its thread on Node %i', async (version) => {
    const program = `
      import { subscribe } from 'node:diagnostics_channel'
      import { createRuntime } from 'pawl'
      import { postgresStore } from 'pawl/postgres'
      const answered = new Promise((resolve, reject) =>
        subscribe('worker_threads', ({ worker }) => worker.once('message', resolve).once('error', reject)))
      const store = await postgresStore({ connection: ${JSON.stringify(server.connection)}, schema: 'on_${version}' })
      const runtime = await createRuntime({ store, keys: { secret: 'k'.repeat(32) }, lease: '5s' })
      console.log(await answered)
      await runtime.close()
      await store.close()`
    const ended = await startIn(projectWithPg, nodes[version], '--input-type=module', '-e', program)
    expect(ended).toEqual({ code: 0, out: 'ready\n', err: '' })
  })

  const sentence = (found: string): string => `Pawl needs Node 22.18 or newer; this is Node ${found}.\n`
  const create = `
    import { createRuntime } from 'pawl'
    import 'pawl/toolbox'
    import 'pawl/testing'
    import 'pawl/postgres'
    await createRuntime({ store: 'sqlite:${join(freshDir(), 'a.db')}' }).catch((error) => console.log(error.message))`

  test('DOOR-6: createRuntime names the Node version that it needs and the one that it found', async () => {
    const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '22.17.1' } })`
    const program = create.replace('await', `${pretend}\nawait`)
    const { out } = await start(nodes[24], '--input-type=module', '-e', program)
    expect(out).toBe(sentence('22.17.1'))
  })

  const older = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'node'))
    .find((path) => !path.includes('node_modules') && existsSync(path))
  test.runIf(older)('DOOR-6: an older Node on this machine gets the same sentence', async ({ skip }) => {
    const node = older as string
    const version = (await start(node, '-p', 'process.versions.node')).out.trim()
    skip(Number.parseFloat(version) >= 22.18, `Node ${version} is supported`)
    expect((await start(node, '--input-type=module', '-e', create)).out).toBe(sentence(version))
    const bin = join(project, 'node_modules/pawl/dist/cli/main.js')
    expect(await start(node, bin, 'version')).toEqual({ code: 2, out: '', err: sentence(version) })
  })
})

describe('bundles', { timeout: 60_000 }, () => {
  test('DOOR-6: esbuild bundles an application, which runs without node_modules', async () => {
    const outfile = join(freshDir(), 'app.mjs')
    const { warnings } = buildSync({
      entryPoints: [join(project, 'app.mjs')],
      outfile,
      bundle: true,
      platform: 'node',
      format: 'esm',
    })
    expect(warnings).toEqual([])
    await expectToRun(nodes[24], outfile)
  })

  test('DOOR-6: rolldown bundles an application, which runs without node_modules', async () => {
    const folder = freshDir()
    const args = [join(project, 'app.mjs'), '--platform', 'node', '--format', 'esm', '-d', folder]
    await run(join(root, 'node_modules/.bin/rolldown'), args, { cwd: project })
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    await expectToRun(nodes[24], join(folder, 'app.js'))
  })
})
