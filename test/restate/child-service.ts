// SPIKE: the worker that the test kills. Serves the call workflow with these tools; port and ledger file come from the
// environment. The ledger stands for the outside world: it shows what really happened.

import { Observers } from '../../src/core/observer.ts'
import { Redactor } from '../../src/security/redact.ts'
import { createEndpointHandler } from '@restatedev/restate-sdk'
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http2'
import { setTimeout as pause } from 'node:timers/promises'
import { tool, type ToolContext } from 'pawl'
import { resolveSizes } from '../../src/core/size-limits.ts'
import { systemClock } from '../../src/core/clock.ts'
import { TimeoutTimers } from '../../src/calls/attempts/attempt-timeouts.ts'
import { Queue } from '../../src/calls/scheduling/queue.ts'
import { toolset } from '../../src/tools/toolset.ts'
import { callWorkflow } from './call-workflow.ts'

const env = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is not set`)
  return value
}
const ledger = env('SPIKE_LEDGER')
const happened = (line: string): boolean => readFileSync(ledger, 'utf8').split('\n').includes(line)
function effect<T>(line: string, value: T): T {
  appendFileSync(ledger, `${line}\n`)
  return value
}
const forEver = (): Promise<never> => new Promise(() => {})

const simple = (name: string, description: string, onCrash: 'rerun' | 'stop', execute: (ctx: ToolContext) => unknown) =>
  tool({ name, description, input: { type: 'object' }, onCrash, execute: (_, ctx) => execute(ctx) })

const trip = simple(
  'trip',
  'Two steps side by side, a sleep, an answer from outside, one more step',
  'rerun',
  async (ctx) => {
    // Each step waits for the other to start, so they end only if they run in parallel. They take a while, because a
    // step that ends in the same event loop turn does not need the pump.
    const [left, right] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const [a, b] = await Promise.all([
      ctx.step('left', async () => (left.resolve(), await right.promise, await pause(60), effect('left', 1))),
      ctx.step(
        'right',
        { add: 1 },
        async ({ add }) => (right.resolve(), await left.promise, await pause(30), effect('right', 1 + add)),
      ),
    ])
    await ctx.sleep('1.5s')
    const later = await ctx.later<number>({ name: 'answer', deadline: '1h' })
    await ctx.step('ask', () => effect(`key ${later.key}`, null))
    const c = await later.value
    const d = await ctx.step('last', () => effect('last', 4))
    return [a, b, c, d]
  },
)

const charge = simple('charge', 'Records a step, takes effect, and never comes back', 'stop', async (ctx) => {
  await ctx.step('note', () => effect('note', null))
  effect('charge', null)
  return forEver()
})

const slow = simple(
  'slow',
  'Does nothing on record for longer than the server is patient, then a step',
  'stop',
  async (ctx) => {
    effect('slow', null)
    await pause(1000)
    return ctx.step('done', () => effect('done', 'done'))
  },
)

const sign = simple('sign', 'Asks for a signature and parks', 'stop', async (ctx) => {
  const later = await ctx.later<string>({ name: 'signature', deadline: '1h' })
  effect(`sign ${later.key}`, null)
  return later
})

const hurry = simple('hurry', 'Parks with a short deadline', 'stop', (ctx) =>
  ctx.later<string>({ name: 'soon', deadline: '0.2s' }),
)

const slowToAccept = tool({
  name: 'slow_to_accept',
  description: 'Its worker dies while the arguments are checked, before the body begins',
  // Implemented by hand, because libraries may call a refinement twice per check.
  input: {
    '~standard': {
      version: 1 as const,
      vendor: 'spike',
      jsonSchema: { input: () => ({}), output: () => ({}) },
      validate: (value: unknown) => (happened('checking') ? { value } : (effect('checking', null), forEver())),
    },
  },
  onCrash: 'stop',
  execute: () => effect('started', 'started after all'),
})

const fickle = simple('fickle', 'Gives a step another input in every process', 'rerun', async (ctx) => {
  await ctx.step('who', { pid: process.pid }, () => effect('who', null))
  return forEver()
})

const careful = simple('careful', 'Its step must not run twice, and dies in the middle', 'rerun', async (ctx) => {
  await ctx.step('pay', () => (effect('pay', null), forEver()), { once: true })
})

const tools = toolset([trip, charge, slow, sign, hurry, slowToAccept, fickle, careful])
const quiet = (): void => {}
const host = {
  toolsets: { toolsetFor: () => tools },
  observers: new Observers({ error() {} }),
  redact: new Redactor([]),
  knownSecrets: { ensure: () => {}, refresh: () => Promise.resolve(), learn: () => {} },
  registry: { away: [] },
  apps: null,
  approvals: {
    remembered: () => Promise.resolve([]),
    connection: () => Promise.resolve(null),
    openSecret: () => null,
  },
  clock: systemClock,
  logger: { debug: quiet, info: quiet, warn: quiet, error: console.error },
  timeoutTimers: new TimeoutTimers(systemClock),
  queue: new Queue(systemClock),
  hooks: [],
  policies: [],
  budgets: [],
  sizes: resolveSizes(),
  batches: { runNested: () => Promise.reject(new Error('The spike does not nest calls')) },
  tasks: () => {
    throw new Error('The spike has no tasks')
  },
  trigger: () => Promise.reject(new Error('The spike has no triggers')),
  storage: {
    values: () => {
      throw new Error('The spike has no values')
    },
    secrets: () => {
      throw new Error('The spike has no secrets')
    },
    files: () => {
      throw new Error('The spike has no files')
    },
  },
  wakes: { maxConsecutive: 0, rows: () => [] },
  endOfTask: () => {
    throw new Error('The spike has no tasks')
  },
  records: { outputs: () => ({ read: () => Promise.reject(new Error('The spike keeps no outputs')) }) },
  complete: () => Promise.reject(new Error('The spike has no models')),
  usageRows: () => [],
  turn: () => Promise.reject(new Error('The spike has no turns')),
  feed: { publish: quiet },
  poisonAfter: 3,
}
const services = [callWorkflow(host, Buffer.from(env('SPIKE_SECRET')))]
createServer(createEndpointHandler({ services })).listen(Number(env('SPIKE_PORT')), '127.0.0.1', () =>
  console.log('listening'),
)
