// Errors of the application end the process exactly as without Pawl. Stray errors of tools do not, whatever handlers the
// application has, unless `containErrors` is false.

import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { freshDir } from '../kit/stores/fresh-store.ts'

interface Ended {
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
}

/** One file: forty processes load it, and the source has hundreds of files. */
const bundle = join(freshDir(), 'pawl.mjs')
buildSync({
  entryPoints: [join(import.meta.dirname, '../../src/index.ts')],
  outfile: bundle,
  bundle: true,
  platform: 'node',
  format: 'esm',
})
const index = JSON.stringify(bundle)

function runScript(body: string, { flags = [] as readonly string[], env = {} } = {}): Promise<Ended> {
  const file = join(freshDir(), 'script.ts')
  writeFileSync(file, body)
  // Two runs differ in the process id of warnings, the folder, and Node's own frames below a timer.
  const cleaned = (text: string): string =>
    text
      .replaceAll(/\(node:\d+\)/g, '(node)')
      .replaceAll(`file://${file}`, 'script.ts')
      .replaceAll(/^ {4}at .*\(node:internal.*\n/gm, '')
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [...flags, file],
      { timeout: 30_000, env: { ...process.env, ...env } },
      (error, stdout, stderr) => {
        const code = error ? (error.code ?? 'killed') : 0
        resolve({ code, stdout: cleaned(stdout), stderr: cleaned(stderr) })
      },
    )
  })
}

const errors = {
  error: `throw new Error('of the application')`,
  text: `throw 'of the application'`,
  nothing: `throw null`,
  rejection: `void Promise.reject(new Error('of the application'))`,
  'odd rejection': `void Promise.reject('of the application')`,
} as const
const ownHandlers = `
const seen = (event: 'uncaughtException' | 'unhandledRejection') => (error: unknown, origin: unknown) =>
  console.log(event, error, typeof origin, process.listenerCount(event))
process.on('uncaughtException', seen('uncaughtException'))
process.on('unhandledRejection', seen('unhandledRejection'))`
const modes = ['throw', 'strict', 'warn', 'none', 'warn-with-error-code'] as const

const cases: readonly (readonly [keyof typeof errors, (typeof modes)[number], 'no handlers' | 'its handlers'])[] = [
  ['error', 'throw', 'no handlers'],
  ['error', 'throw', 'its handlers'],
  ['text', 'throw', 'no handlers'],
  ['nothing', 'throw', 'no handlers'],
  ...modes.map((mode) => ['rejection', mode, 'no handlers'] as const),
  ['rejection', 'throw', 'its handlers'],
  ['rejection', 'strict', 'its handlers'],
  ['odd rejection', 'throw', 'no handlers'],
  ['odd rejection', 'strict', 'no handlers'],
]

describe('errors of the application', { timeout: 60_000 }, () => {
  test.concurrent.for(cases)('CALL-11: ends as without Pawl: %s, mode %s, %s', async ([error, mode, handlers]) => {
    const script = `
if (process.env.RUNTIME === 'yes') await (await import(${index})).createRuntime({ store: 'memory:' })
${handlers === 'its handlers' ? ownHandlers : ''}
setTimeout(() => { ${errors[error]} })
setTimeout(() => process.exit(), 20)
`
    const flags = [`--unhandled-rejections=${mode}`]
    const without = await runScript(script, { flags, env: { RUNTIME: 'no' } })
    expect(await runScript(script, { flags, env: { RUNTIME: 'yes' } })).toEqual(without)
    if (mode !== 'none') expect(without.stdout + without.stderr).toMatch(/application|null/)
  })
})

const stray = (options: string, rest = ''): string => `
import { createRuntime, tool } from ${index}
const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => console.log(message) }
const input = { type: 'object' } as const
const open = (more: object) => createRuntime({ store: 'memory:', tools: [timer, promise], logger, ...more })
const timer = tool({ name: 'timer', description: 'd', input, execute: () => void setTimeout(() => { throw new Error('a') }) })
const promise = tool({ name: 'promise', description: 'd', input, execute: () => void Promise.reject(new Error('b')) })
${rest}
const runtime = await open(${options})
await runtime.session('s').run([{ id: '1', name: 'timer' }, { id: '2', name: 'promise' }])
await new Promise((resolve) => setTimeout(resolve, 20))
console.log('alive')
await runtime.close()
`
const logged = [
  'A tool left a rejection unhandled; its call and all others continue',
  'A tool threw outside its body; its call and all others continue',
  'alive',
]

describe('stray errors of tools', { timeout: 60_000 }, () => {
  test.concurrent.for(['throw', 'strict', 'warn'])(
    'CALL-11: each is logged once and ends nothing, mode %s',
    async (mode) => {
      const { code, stdout } = await runScript(stray('{}'), { flags: [`--unhandled-rejections=${mode}`] })
      expect([code, stdout.trim().split('\n').toSorted()]).toEqual([0, logged])
    },
  )

  test.concurrent('CALL-11: handlers of the application that exit do not see them', async () => {
    const exiting = `for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, () => process.exit(3))`
    const { code, stdout } = await runScript(stray('{}', exiting))
    expect([code, stdout.trim().split('\n').toSorted()]).toEqual([0, logged])
  })

  test.concurrent('CALL-11: they stay contained after a library has restored an older process.emit', async () => {
    const restored = `const saved = process.emit
      process.emit = function (...args) { return saved.apply(this, args) }
      const before = await open({})
      process.emit = saved
      await before.close()`
    const { code, stdout } = await runScript(stray('{}', restored))
    expect([code, stdout.trim().split('\n').toSorted()]).toEqual([0, logged])
  })

  test.concurrent('CALL-11: with containErrors: false they end the process, beside a containing runtime', async () => {
    const { code, stdout, stderr } = await runScript(stray('{ containErrors: false }', 'await open({})'))
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^script\.ts:\d+\n.*\n +\^\n\nError: [ab]\n {4}at .*script/)
  })
})
