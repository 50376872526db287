// The `limits` option: how many calls run concurrently and how many may wait. Checked when the runtime is created.

import { PawlError } from '../../core/errors.ts'
import { checkLimit, checkRate, type Rate } from '../../tools/tool-options.ts'

export interface Limits {
  /** Concurrent calls in this process. Default 256. */
  readonly perWorker?: number
  /** Concurrent calls of one session, on all workers. Default 32. */
  readonly perSession?: number
  /** Concurrent calls of one tenant, on all workers. Default: no limit. */
  readonly perTenant?: number
  /** Concurrent calls of one tool that sets no limit itself, on all workers. Default: no limit. */
  readonly perTool?: number
  /** Concurrent tasks of one session, on all workers. Default 5. */
  readonly tasksPerSession?: number
  /** Concurrent tasks in this process. Default 64. */
  readonly tasksPerWorker?: number
  /** Calls that may wait for a slot in this process. Further calls fail with `overloaded`. Default 10,000. */
  readonly waiting?: number
  /** Starts per time window, on all workers. Default: no limit. */
  readonly rate?: { readonly perTool?: Rate; readonly perTenant?: Rate }
}

export const defaultLimits = {
  perWorker: 256,
  perSession: 32,
  perTenant: Infinity,
  perTool: Infinity,
  tasksPerSession: 5,
  tasksPerWorker: 64,
  waiting: 10_000,
}
const known = [...Object.keys(defaultLimits), 'rate']
const knownRates = ['perTool', 'perTenant']

export function checkLimits(limits: Limits): void {
  const refuse = (why: string): never => {
    throw new PawlError('config_invalid', `limits: ${why}.`)
  }
  const rates = limits.rate ?? {}
  for (const name of Object.keys(limits))
    if (!known.includes(name)) refuse(`there is no limit ${name}; the limits are ${known.join(', ')}`)
  for (const name of Object.keys(rates))
    if (!knownRates.includes(name)) refuse(`there is no limit rate.${name}; the rates are ${knownRates.join(', ')}`)
  for (const name of [
    'perWorker',
    'perSession',
    'perTenant',
    'perTool',
    'tasksPerSession',
    'tasksPerWorker',
    'waiting',
  ] as const) {
    if (limits[name] !== undefined) checkLimit(limits[name], name, refuse)
  }
  for (const name of ['perTool', 'perTenant'] as const) if (rates[name]) checkRate(rates[name], `rate.${name}`, refuse)
}
