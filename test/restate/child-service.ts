// SPIKE: the worker that the test kills. Serves the call workflow with these tools, on the port and with the ledger that the
// environment names. The ledger is the outside world: what is in it happened, whatever Restate remembers.

import { Redactor } from '../../src/security/redact.ts'
import { createEndpointHandler } from '@restatedev/restate-sdk'
import { appendFileSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http2'
import { setTimeout as pause } from 'node:timers/promises'
import { tool } from 'pawl'
import { sizesOf } from '../../src/core/size-limits.ts'
import { systemClock } from '../../src/core/clock.ts'
import { TimeoutTimers } from '../../src/calls/attempts/timeout-timers.ts'
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

const input = { type: 'object' } as const

const trip = tool({
  name: 'trip',
  description: 'Two steps side by side, a sleep, an answer from outside, one more step',
  input,
  onCrash: 'rerun',
  async execute(_, ctx) {
    // Each waits for the other to have begun, so they end only if they run side by side. They take a while, as effects do: what
    // ends in the turn it began in does not need the pump.
    const [left, right] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const [a, b] = await Promise.all([
      ctx.step('left', async () => (left.resolve(), await right.promise, await pause(60), effect('left', 1))),
      ctx.step('right', { add: 1 }, async ({ add }) => (right.resolve(), await left.promise, await pause(30), effect('right', 1 + add))),
    ])
    await ctx.sleep('1.5s')
    const later = await ctx.later<number>({ name: 'answer', deadline: '1h' })
    await ctx.step('ask', () => effect(`key ${later.key}`, null))
    const c = await later.value
    const d = await ctx.step('last', () => effect('last', 4))
    return [a, b, c, d]
  },
})

const charge = tool({
  name: 'charge',
  description: 'Records a step, takes effect, and never comes back',
  input,
  onCrash: 'stop',
  async execute(_, ctx) {
    await ctx.step('note', () => effect('note', null))
    effect('charge', null)
    return forEver()
  },
})

const slow = tool({
  name: 'slow',
  description: 'Does nothing on record for longer than the server is patient, then a step',
  input,
  onCrash: 'stop',
  async execute(_, ctx) {
    effect('slow', null)
    await pause(1000)
    return ctx.step('done', () => effect('done', 'done'))
  },
})

const sign = tool({
  name: 'sign',
  description: 'Asks for a signature and parks',
  input,
  onCrash: 'stop',
  async execute(_, ctx) {
    const later = await ctx.later<string>({ name: 'signature', deadline: '1h' })
    effect(`sign ${later.key}`, null)
    return later
  },
})

const hurry = tool({
  name: 'hurry',
  description: 'Parks with a short deadline',
  input,
  onCrash: 'stop',
  execute: (_, ctx) => ctx.later<string>({ name: 'soon', deadline: '0.2s' }),
})

const slowToAccept = tool({
  name: 'slow_to_accept',
  description: 'Its worker dies while the arguments are checked, before the body begins',
  // Written out because libraries may ask a refinement twice for one check.
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

const fickle = tool({
  name: 'fickle',
  description: 'Gives a step another input in every process',
  input,
  onCrash: 'rerun',
  async execute(_, ctx) {
    await ctx.step('who', { pid: process.pid }, () => effect('who', null))
    return forEver()
  },
})

const careful = tool({
  name: 'careful',
  description: 'Its step must not run twice, and dies in the middle',
  input,
  onCrash: 'rerun',
  async execute(_, ctx) {
    await ctx.step('pay', () => (effect('pay', null), forEver()), { once: true })
  },
})

const tools = toolset([trip, charge, slow, sign, hurry, slowToAccept, fickle, careful])
const quiet = (): void => {}
const host = {
  toolsOf: () => tools,
  redact: new Redactor([]),
  away: () => [],
  apps: null,
  remembered: () => Promise.resolve([]),
  connection: () => Promise.resolve(null),
  openSecret: () => null,
  clock: systemClock,
  logger: { debug: quiet, info: quiet, warn: quiet, error: console.error },
  alarms: new TimeoutTimers(systemClock),
  queue: new Queue(systemClock),
  hooks: [],
  policies: [],
  budgets: [],
  sizes: sizesOf(),
  nested: () => Promise.reject(new Error('The spike does not nest calls')),
  tasks: () => {
    throw new Error('The spike has no tasks')
  },
  trigger: () => Promise.reject(new Error('The spike has no triggers')),
  values: () => {
    throw new Error('The spike has no values')
  },
  secrets: () => {
    throw new Error('The spike has no secrets')
  },
  files: () => {
    throw new Error('The spike has no files')
  },
  wakes: { maxConsecutive: 0, rows: () => [] },
  endOfTask: () => {
    throw new Error('The spike has no tasks')
  },
  outputs: () => ({ read: () => Promise.reject(new Error('The spike keeps no outputs')) }),
  complete: () => Promise.reject(new Error('The spike has no models')),
  usageRows: () => [],
  turn: () => Promise.reject(new Error('The spike has no turns')),
  live: quiet,
  poisonAfter: 3,
}
const services = [callWorkflow(host, Buffer.from(env('SPIKE_SECRET')))]
createServer(createEndpointHandler({ services })).listen(Number(env('SPIKE_PORT')), '127.0.0.1', () => console.log('listening'))
