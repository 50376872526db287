// How many calls run at once, and how many may wait; checked when the runtime is made.

import { PawlError } from '../../core/errors.ts'
import { checkLimit, checkRate, type Rate } from '../../tools/tool-options.ts'

export interface Limits {
  /** At once in this process. */
  readonly perWorker?: number
  readonly perSession?: number
  readonly perTenant?: number
  /** For tools that do not set their own. */
  readonly perTool?: number
  /** Tasks of one session that run at once, on all workers; and of all sessions in this process. */
  readonly tasksPerSession?: number
  readonly tasksPerWorker?: number
  /** Calls that may wait for their turn; more are refused as overloaded. */
  readonly waiting?: number
  readonly rate?: { readonly perTool?: Rate; readonly perTenant?: Rate }
}

export const defaults = {
  perWorker: 256,
  perSession: 32,
  perTenant: Infinity,
  perTool: Infinity,
  tasksPerSession: 5,
  tasksPerWorker: 64,
  waiting: 10_000,
}
const known = [...Object.keys(defaults), 'rate']
const knownRates = ['perTool', 'perTenant']

export function checkLimits(limits: Limits): void {
  const wrong = (why: string): never => {
    throw new PawlError('config_invalid', `limits: ${why}.`)
  }
  const rates = limits.rate ?? {}
  for (const name of Object.keys(limits))
    if (!known.includes(name)) wrong(`there is no ${name}; there are ${known.join(', ')}`)
  for (const name of Object.keys(rates))
    if (!knownRates.includes(name)) wrong(`there is no rate.${name}; there are ${knownRates.join(', ')}`)
  for (const name of [
    'perWorker',
    'perSession',
    'perTenant',
    'perTool',
    'tasksPerSession',
    'tasksPerWorker',
    'waiting',
  ] as const) {
    if (limits[name] !== undefined) checkLimit(limits[name], name, wrong)
  }
  for (const name of ['perTool', 'perTenant'] as const) if (rates[name]) checkRate(rates[name], `rate.${name}`, wrong)
}
