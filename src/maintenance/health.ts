// KEEP: what is stuck and why (R9). Reads at most a few thousand rows and changes nothing, so it may be asked at any time. An empty list of
// findings means that everything which is open can go on by itself or waits for somebody outside.

import { PawlError } from '../core/errors.ts'
import type { Clock } from '../core/clock.ts'
import type { CallState } from '../store/records/call-record.ts'
import type { Store, StoreFacts, Unsettled } from '../store/store.ts'

export interface HealthIssue {
  readonly kind:
    /** It wants a worker, and none that lives here can run its tool. */
    | 'no_tool'
    /** It wants a worker and has none yet. */
    | 'unclaimed'
    /** Its deadline has passed, and nobody has noticed. */
    | 'overdue'
    /** It is parked on a wait that has its answer, or is not on record. */
    | 'never_woken'
    /** Workers died over it. */
    | 'deaths'
    /** Something is wrong with the store itself. */
    | 'store'
  /** What it is and what to do, in a sentence. */
  readonly says: string
  readonly call?: {
    readonly uid: string
    readonly tenant: string
    readonly session: string
    readonly id: string
    readonly tool: string
  }
}

export interface HealthReport {
  readonly findings: readonly HealthIssue[]
  /** Open calls by their state. */
  readonly open: Readonly<Record<Exclude<CallState, 'settled'>, number>>
  /** The open call that was asked for first. */
  readonly oldest: {
    readonly uid: string
    readonly session: string
    readonly tool: string
    readonly createdAt: number
  } | null
  readonly store: { readonly kind: string } & StoreFacts
  /** There are more open calls than were looked at. */
  readonly more: boolean
}

export interface HealthHost {
  readonly store: Store
  readonly clock: Clock
  /** The tools that can be run here. */
  tools(): readonly string[]
}

const pageOf = 500
const mostPages = 10
const mostFindings = 100
/** How late the sleeper may be before it is worth a word. */
const graceMs = 5_000
const manyDeaths = 1

export async function checkHealth({ store, clock, tools }: HealthHost): Promise<HealthReport> {
  const findings: HealthIssue[] = []
  const found = (kind: HealthIssue['kind'], says: string, call?: Unsettled): void => {
    if (findings.length < mostFindings) findings.push({ kind, says, ...(call ? { call: aboutOf(call) } : {}) })
  }
  const facts = await store.inspect()
  for (const problem of facts.problems) found('store', problem)
  const here = new Set(tools())
  const open = { received: 0, queued: 0, running: 0, parked: 0 }
  let oldest: Unsettled | null = null
  let after = ''
  let more = true
  for (let page = 0; page < mostPages && more; page++) {
    const calls = await store.unsettled({ after, limit: pageOf })
    for (const call of calls) {
      open[call.state as keyof typeof open]++
      if (!oldest || call.createdAt < oldest.createdAt) oldest = call
      const reason = await stuck(call, store, here)
      if (reason) found(...reason, call)
      if (call.deaths >= manyDeaths) {
        found(
          'deaths',
          `${nameOf(call)}: ${call.deaths} ${call.deaths === 1 ? 'worker has' : 'workers have'} died over it. Look at what its tool does to the process.`,
          call,
        )
      }
    }
    after = calls.at(-1)?.uid ?? ''
    more = calls.length === pageOf
  }
  for (const wait of await store.dueWaits(clock.now() - graceMs, mostFindings)) {
    const late = Math.round((clock.now() - wait.deadline) / 1000)
    found(
      'overdue',
      `The wait '${wait.name}' of call ${wait.call} was due ${late} s ago. A worker that lives expires it; start one, or look at its log.`,
    )
  }
  return {
    findings,
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

async function stuck(
  call: Unsettled,
  store: Store,
  here: ReadonlySet<string>,
): Promise<[HealthIssue['kind'], string] | null> {
  if (call.state === 'parked') {
    let wait
    try {
      wait = call.wait === null ? undefined : await store.wait(call.wait)
    } catch (error) {
      if (error instanceof PawlError && error.code === 'store_unavailable') throw error // that says nothing about the wait
      return [
        'never_woken',
        `${nameOf(call)} is parked on a wait that cannot be opened: it was damaged, or sealed with keys that are not given.`,
      ]
    }
    if (!wait)
      return [
        'never_woken',
        `${nameOf(call)} is parked on a wait that is not on record. Nothing can wake it: cancel it.`,
      ]
    return wait.resolution === null
      ? null
      : ['never_woken', `${nameOf(call)} is parked although its wait has an answer. Nothing will wake it: cancel it.`]
  }
  if (call.alive) return null
  const whose = call.owner === null ? 'nobody has it' : 'the worker that had it is gone'
  if (!here.has(call.tool)) {
    return [
      'no_tool',
      `${nameOf(call)} is ${call.state} and ${whose}, and its tool is not registered here. Register '${call.tool}', or start a worker that has it.`,
    ]
  }
  return [
    'unclaimed',
    `${nameOf(call)} is ${call.state} and ${whose}. It is taken up with the next look for work; if this stays so, no worker is looking.`,
  ]
}

const nameOf = ({ position: { session, id }, tool }: Unsettled): string =>
  `Call '${id}' of ${tool} in session '${session}'`

const aboutOf = ({ uid, position: { tenant, session, id }, tool }: Unsettled): NonNullable<HealthIssue['call']> => ({
  uid,
  tenant,
  session,
  id,
  tool,
})
