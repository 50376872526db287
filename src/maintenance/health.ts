// Health check: which calls are stuck or cannot be continued here, and why. The cost grows with open calls and is
// bounded; it changes nothing, so it is safe at any time. No findings means that every open call can continue by itself
// or waits for an external answer. Called by Runtime.health().

import { PawlError } from '../core/errors.ts'
import type { CallState } from '../store/records/call-record.ts'
import type { StoreFacts, Unsettled } from '../store/store.ts'
import { type DeployPorts, findDeployProblem } from './deploy-check.ts'

/** One problem that health() found. */
export interface HealthIssue {
  /** The kind of problem, for programs. */
  readonly kind:
    /** The call needs a worker, now or once its wait is answered, and its tool is not registered here. */
    | 'no_tool'
    /** The call would end as `tool_changed` here: the version or the input schema of its tool does not fit. */
    | 'tool_changed'
    /** The model of a turn is not registered here. */
    | 'no_model'
    /** The frame in which a turn works is not registered here. */
    | 'no_frame'
    /** The call needs a worker and has none yet. */
    | 'unclaimed'
    /** The deadline of a wait has passed, but no worker expired it. */
    | 'overdue'
    /** The call is parked on a wait that is answered or does not exist. */
    | 'never_woken'
    /** Workers died while they ran the call. */
    | 'deaths'
    /** The store itself reports a problem. */
    | 'store'
    /** A policy rule names a tool that this runtime does not have. */
    | 'policy'
  /** The problem and the remedy, in one or two sentences. */
  readonly says: string
  /** The call it is about, if it is about one. */
  readonly call?: {
    readonly uid: string
    readonly tenant: string
    readonly session: string
    readonly id: string
    readonly tool: string
  }
}

/** The report of runtime.health(). */
export interface HealthReport {
  /** The problems found, at most 100. None: every open call can continue or waits for an answer. */
  readonly findings: readonly HealthIssue[]
  /** Number of issues that were found and are not listed. */
  readonly unlisted: number
  /** Number of open calls per state. */
  readonly open: Readonly<Record<Exclude<CallState, 'settled'>, number>>
  /** The oldest open call. */
  readonly oldest: {
    readonly uid: string
    readonly session: string
    readonly tool: string
    readonly createdAt: number
  } | null
  /** Facts about the store, such as its size. */
  readonly store: { readonly kind: string } & StoreFacts
  /** True if there are more open calls than were checked. */
  readonly more: boolean
}

export interface HealthHost extends DeployPorts {
  /** Record keys of the tools that this worker can claim. */
  readonly engine: { readonly tools: readonly string[] }
  /** About policy rules without a tool. */
  readonly policyProblems: readonly string[]
}

const pageSize = 500
const maxPages = 10
const maxFindings = 100
/** How late a deadline may be handled before it is reported. */
const graceMs = 5_000
const reportDeathsFrom = 1

export async function checkHealth(host: HealthHost): Promise<HealthReport> {
  const { store, clock, policyProblems } = host
  const findings: HealthIssue[] = []
  let unlisted = 0
  const addIssue = (kind: HealthIssue['kind'], says: string, call?: Unsettled): void => {
    if (findings.length < maxFindings) findings.push({ kind, says, ...(call ? { call: callInfo(call) } : {}) })
    else unlisted++
  }
  const facts = await store.inspect()
  for (const problem of facts.problems) addIssue('store', problem)
  for (const problem of policyProblems) addIssue('policy', problem)
  const localTools = new Set(host.engine.tools)
  const open = { received: 0, queued: 0, running: 0, parked: 0 }
  let oldest: Unsettled | null = null
  let after = ''
  let more = true
  for (let page = 0; page < maxPages && more; page++) {
    const calls = await store.unsettled({ after, limit: pageSize })
    for (const call of calls) {
      open[call.state as keyof typeof open]++
      if (!oldest || call.createdAt < oldest.createdAt) oldest = call
      const reason = await stuckReason(call, localTools, host)
      if (reason) addIssue(...reason, call)
      if (call.deaths >= reportDeathsFrom) {
        addIssue(
          'deaths',
          `${nameOf(call)}: ${call.deaths} ${call.deaths === 1 ? 'worker' : 'workers'} died while running it. ` +
            'Check whether its tool crashes the process.',
          call,
        )
      }
    }
    after = calls.at(-1)?.uid ?? ''
    more = calls.length === pageSize
  }
  for (const wait of await store.dueWaits(clock.now() - graceMs, maxFindings)) {
    const late = Math.round((clock.now() - wait.deadline) / 1000)
    addIssue(
      'overdue',
      `The wait '${wait.name}' of call ${wait.call} was due ${late} s ago. ` +
        'A running worker expires it; start one, or check its log.',
    )
  }
  return {
    findings,
    unlisted,
    open,
    oldest: oldest && {
      uid: oldest.uid,
      session: oldest.position.session,
      tool: oldest.tool,
      createdAt: oldest.createdAt,
    },
    store: { kind: store.kind, ...facts },
    more,
  }
}

async function stuckReason(
  call: Unsettled,
  localTools: ReadonlySet<string>,
  host: HealthHost,
): Promise<[HealthIssue['kind'], string] | null> {
  const isParked = call.state === 'parked'
  if (call.alive && !isParked) return null
  let wait
  try {
    wait = call.wait === null ? undefined : await host.store.wait(call.wait)
  } catch (error) {
    // A store outage says nothing about the wait.
    if (error instanceof PawlError && error.code === 'store_unavailable') throw error
    if (isParked)
      return [
        'never_woken',
        `${nameOf(call)} is parked on a wait that cannot be read. ` +
          'The record is damaged, or encrypted with a secret that is missing in `keys`.',
      ]
  }
  if (isParked && !wait)
    return ['never_woken', `${nameOf(call)} is parked on a wait that does not exist. Nothing can wake it: cancel it.`]
  if (isParked && wait?.resolution !== null)
    return ['never_woken', `${nameOf(call)} is parked although its wait is answered. Nothing will wake it: cancel it.`]
  const situation = isParked
    ? 'is parked'
    : `is ${call.state} and ${call.owner === null ? 'no worker owns it' : 'the worker that had it is gone'}`
  const found = await findDeployProblem(call, wait, localTools, host)
  if (found) return [found.kind, `${nameOf(call)} ${situation}, and ${found.problem}. ${found.remedy}`]
  if (isParked) return null
  return [
    'unclaimed',
    `${nameOf(call)} ${situation}. ` +
      'A worker claims it with its next sweep; if it stays unclaimed, no worker is running.',
  ]
}

const nameOf = ({ position: { session, id }, tool }: Unsettled): string =>
  `Call '${id}' of ${tool} in session '${session}'`

const callInfo = ({ uid, position: { tenant, session, id }, tool }: Unsettled): NonNullable<HealthIssue['call']> => ({
  uid,
  tenant,
  session,
  id,
  tool,
})
