// Time from the start of a process until it has ended, against a process that does nothing: a first call, and commands
// of the CLI. quick.ts measures it for each checkout.

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Measure } from './child.ts'

/** A checkout with its compile cache, and a folder for its local store. */
export interface Started {
  readonly checkout: string
  /**
   * The compile cache holds the sources with their types stripped: stripping takes longer than anything else, and the
   * built package does not need it.
   */
  readonly cache: string
  readonly dir: string
}

/** Arguments of Node. */
interface Start {
  readonly floor: readonly string[]
  readonly pawl: (started: Started) => readonly string[]
}

const source = '--conditions=@pawl/source'
const asModule = [source, '--input-type=module', '-e']

// Runs as text in the root of the checkout, where the name 'pawl' resolves to that checkout.
const firstCall = `
  import { createRuntime, tool } from 'pawl'
  const input = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
  const noop = tool({ name: 'noop', description: 'Does nothing', input, hints: { readOnly: true }, execute: () => 1 })
  const runtime = await createRuntime({ store: 'memory:', tools: [noop] })
  const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'noop', input: { n: 1 } }])
  process.exit(outcome.status === 'success' ? 0 : 1)`

const storeOf = ({ dir }: Started): string => `sqlite:${join(dir, 'inbox.db')}`

const fillInbox = (store: string): string => `
  import { createRuntime, tool } from 'pawl'
  const input = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] }
  const refund = tool({ name: 'refund', description: 'Refunds', input, hints: { destructive: true }, execute: () => 1 })
  const runtime = await createRuntime({ store: ${JSON.stringify(store)}, tools: [refund] })
  const calls = Array.from({ length: 10 }, (_, n) => ({ id: 'c' + n, name: 'refund', input: { order: 'A' + n } }))
  await runtime.session('s').run(calls, { until: 'waiting' })
  await runtime.close({ grace: 0 })`

const mainOf = (checkout: string): string => join(checkout, 'src/cli/main.ts')
const command =
  (...args: string[]) =>
  ({ checkout }: Pick<Started, 'checkout'>): string[] => [source, mainOf(checkout), ...args]

const firstCallStart: Start = { floor: [...asModule, ''], pawl: () => [...asModule, firstCall] }
const cliStarts: readonly (readonly [string, Start])[] = [
  ['start of `pawl --help`', { floor: ['-e', '0'], pawl: command('--help') }],
  [
    'start of `pawl inbox`, SQLite, 10 items',
    { floor: ['-e', '0'], pawl: (started) => command('inbox', '--store', storeOf(started))(started) },
  ],
]

/** The starts that every checkout has: one before the CLI has only the first call. */
export function openStarts(all: readonly Started[]): Map<string, Start> {
  const haveCli = all.every(({ checkout }) => existsSync(mainOf(checkout)))
  const starts = new Map([['process start to first call', firstCallStart], ...(haveCli ? cliStarts : [])])
  for (const started of all) {
    if (haveCli) run([...asModule, fillInbox(storeOf(started))], started)
    for (const start of starts.values()) measureStart(start, started) // fills the cache
  }
  return starts
}

export const measureStart = ({ floor, pawl }: Start, started: Started): Measure => ({
  floor: run(floor, started),
  pawl: run(pawl(started), started),
})

function run(args: readonly string[], { checkout, cache }: Started): number {
  const from = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, {
    cwd: checkout,
    // An empty variable counts as none: `pawl` must work on the store that is named.
    env: { ...process.env, NODE_COMPILE_CACHE: cache, PAWL_URL: '', PAWL_CONFIG: '' },
    encoding: 'utf8',
    timeout: 30_000,
  })
  if (status !== 0) throw new Error(`node ${args.join(' ')} failed in ${checkout}: ${stderr}`)
  return (performance.now() - from) * 1000
}
