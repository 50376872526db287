// Runs `pawl` as a child process, on pipes or in a pseudo-terminal.

import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'

const root = join(import.meta.dirname, '../..')
export const node = join(root, 'node_modules/node/bin/node')
export const main = join(root, 'src/cli/main.ts')

export interface PawlOptions {
  readonly cwd: string
  readonly env?: Record<string, string>
  /** Input of stdin; without it stdin is empty. */
  readonly input?: string
}

export interface PawlEnd {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** The environment of a test: none of the variables that `pawl` or the colours read. */
export function environment(extra: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', TMPDIR = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  return { PATH, TMPDIR, HOME, NODE_COMPILE_CACHE, TERM: 'xterm-256color', ...extra }
}

/** Runs a command to its end. */
export function pawl({ cwd, env, input = '' }: PawlOptions, ...args: string[]): Promise<PawlEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(node, ['--conditions=@pawl/source', main, ...args], {
      cwd,
      env: environment(env),
      timeout: 60_000,
      killSignal: 'SIGKILL',
    })
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => void (out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => void (err += text))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
    child.stdin.on('error', () => {}) // a command that reads no input has closed it
    child.stdin.end(input)
  })
}

/** A command that runs until it ends or is stopped. */
export interface RunningPawl {
  readonly pid: number
  /** Everything that was printed so far. */
  shown(): string
  /** Waits until the text appears. */
  until(text: string | RegExp): Promise<void>
  /** Types in a terminal, or writes to stdin. */
  type(keys: string): void
  signal(name: NodeJS.Signals): void
  readonly ended: Promise<number | null>
}

export function startPawl({ cwd, env }: PawlOptions, ...args: string[]): RunningPawl {
  return watch(spawn(node, ['--conditions=@pawl/source', main, ...args], { cwd, env: environment(env) }))
}

/** `script` of util-linux makes a pseudo-terminal; other systems have another `script`. */
export const hasTerminal = ((): boolean => {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux')
  } catch {
    return false
  }
})()

/** Runs a command in a pseudo-terminal of 100 columns. Its exit code is that of the command. */
export function pawlInTerminal({ cwd, env }: PawlOptions, ...args: string[]): RunningPawl {
  const quoted = [node, '--conditions=@pawl/source', main, ...args].map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`)
  const command = `stty cols 100 rows 60; exec ${quoted.join(' ')}`
  return watch(
    spawn('script', ['-qfec', command, '/dev/null'], { cwd, env: environment({ SHELL: '/bin/sh', ...env }) }),
  )
}

function watch(child: ReturnType<typeof spawn>): RunningPawl {
  let shown = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => void (shown += text))
  child.stdin?.on('error', () => {})
  const ended = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)))
  // A test that fails before it stops the command leaves no process behind.
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('close', () => process.off('exit', kill))
  const holds = (text: string | RegExp): boolean => (typeof text === 'string' ? shown.includes(text) : text.test(shown))
  return {
    pid: child.pid ?? 0,
    shown: () => shown,
    async until(text) {
      await vi
        .waitUntil(() => holds(text) || child.exitCode !== null, { timeout: 30_000, interval: 10 })
        .catch(() => {})
      if (!holds(text)) throw new Error(`'${String(text)}' did not appear in:\n${shown}`)
    },
    type: (keys) => void child.stdin?.write(keys),
    signal: (name) => void child.kill(name),
    ended,
  }
}

/** A project folder in which `pawl` and its entries can be imported, with a configuration and tools. */
export function projectFolder(files: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-cli-'))
  mkdirSync(join(folder, 'node_modules'))
  // The end of the search for a configuration.
  mkdirSync(join(folder, '.git'))
  symlinkSync(root, join(folder, 'node_modules/pawl'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

/** A shop: a look-up, a refund that needs approval, a question, and a failing tool. */
export const shopProject = (): string =>
  projectFolder({
    'pawl.config.mjs': `
      import { defineConfig } from 'pawl/config'
      export default defineConfig({ runtime: () => import('./shop.mjs') })`,
    'shop.mjs': `
      import { existsSync } from 'node:fs'
      import { fail, jsonSchema, tool } from 'pawl'
      import { scriptedModel } from 'pawl/testing'
      const input = jsonSchema({ type: 'object', properties: { order: { type: 'string' }, cents: { type: 'integer' } }, required: ['order'] })
      const lookUp = tool({ name: 'look_up_order', description: 'Returns an order.', input, hints: { readOnly: true },
        execute: ({ order }) => ({ order, cents: 4200 }) })
      const refund = tool({ name: 'refund', title: 'Refund an order', description: 'Refunds an order.', input,
        hints: { destructive: true }, preview: ({ order, cents }) => 'Refund ' + cents + ' cents for order ' + order + '.',
        execute: ({ order, cents }) => ({ refunded: cents, order }) })
      const size = tool({ name: 'choose_size', description: 'Asks for a size.', input, onCrash: 'rerun',
        execute: async (_, ctx) => (await (await ctx.ask({ text: 'Which size?' })).value).answer })
      const broken = tool({ name: 'broken', description: 'Fails.', input, execute: () => { throw fail('The disk is full', { code: 'disk_full' }) } })
      const exporter = tool({ name: 'export_orders', description: 'Exports.', input, background: true, onCrash: 'rerun',
        execute: (_, ctx) => { ctx.progress({ current: 2, total: 4, unit: 'pages' }); return 'exported' } })
      const measure = tool({ name: 'measure', description: 'Measures until the file go exists.', input, onCrash: 'rerun',
        async execute(_, ctx) {
          while (!existsSync('go')) { ctx.progress({ current: 1, total: 4, unit: 'pages' }); await new Promise((done) => setTimeout(done, 10)) }
          return 'measured'
        } })
      const model = scriptedModel([
        { say: 'Let me look it up.', call: { name: 'look_up_order', input: { order: 'A1' } } },
        { say: 'I will refund it.', call: { name: 'refund', input: { order: 'A1', cents: 4200 } } },
        'Done: 42.00 € are on their way.',
      ])
      export default { tools: [lookUp, refund, size, broken, exporter, measure], models: [model] }`,
  })
