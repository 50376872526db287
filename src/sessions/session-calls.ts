// session.calls: reads the recorded calls of a session with their outcomes, steps and waits. Wait keys and internal
// error details are never returned; the log has them.

import { canonicalText } from '../core/canonical-json.ts'
import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import { formatValue } from '../core/format-value.ts'
import {
  type CallRecord,
  type CallState,
  callStates,
  isSealedUid,
  type StepRecord,
  type WaitRecord,
  parseCallOptions,
  parseCallTerms,
  recordedMeta,
  type Resolution,
  waitTermsOf,
} from '../store/records/call-record.ts'
import { decisionOf, type DecisionRecord, type Vote } from '../store/records/approval-request.ts'
import { type Outcome, type OutcomeStatus, outcomeStatuses, revealsSecrets } from '../core/outcome.ts'
import { spawnName } from '../core/task-state.ts'
import { decode, type Json } from '../core/tool-value.ts'
import type { Scope } from '../core/scope.ts'
import { totalUsage, mergeUsage, type UsageRow } from '../models/cost-ledger.ts'
import type { UsageOf } from '../models/turn-interface.ts'
import { redactMessages, redactOutcome } from '../calls/output/redact-outcome.ts'
import type { Foundation } from '../engine/foundation.ts'
import type { Redactor } from '../security/redact.ts'
import type { Store } from '../store/store.ts'
import { decodeResolution, resolutionKind, type ResolutionKind } from '../store/records/wait-resolution.ts'
import { hiddenMark, maskArgs } from '../tools/hidden-arguments.ts'
import type { Toolset } from '../tools/toolset.ts'
import { collections } from '../store/collections.ts'
import { isBodySleep, isRetry, keyBatch, stepPrefix } from '../store/journal-keys.ts'

/** A recorded call. */
export interface CallSummary {
  /** Unique in the store and ordered by creation. Events name the call by it, and it is the cursor of `list`. */
  readonly uid: string
  /** The model's id of the call. */
  readonly callId: string
  /** The batch it was run in; '' if the batch had no name. */
  readonly batch: string
  /** Which of several calls with the same id in its batch, counted from 0. */
  readonly occurrence: number
  /** Set if an idempotency key identifies the call instead of batch and id. */
  readonly idempotencyKey?: string
  /** The tool name the model used. */
  readonly name: string
  /** As given with the first request. */
  readonly meta?: Json
  /** The principal of the session that made the call. */
  readonly principal: string | null
  /** Where the call is: received, queued, running, parked or settled. */
  readonly state: CallState
  /** How many times the body was started. */
  readonly attempts: number
  /** When it was recorded, in milliseconds since 1970. */
  readonly createdAt: number
  /** When the last attempt started. */
  readonly startedAt: number | null
  /** When it was settled, in milliseconds since 1970; null while it is open. */
  readonly settledAt: number | null
  /** Null until the call is settled. */
  readonly outcome: Outcome | null
}

/** A recorded call with its input, steps, waits and model usage. */
export interface CallDetails extends CallSummary {
  /** The requested input; once validated, the arguments the body gets. */
  readonly input: Json
  /** The requested input, if the body gets another one: the schema, a hook, `prepare` or a person changed it. Else null. */
  readonly requested: Json | null
  /** How many times another worker continued it after its worker had stopped. */
  readonly takeovers: number
  /** `lost`: the worker that runs it has stopped, and no other one has taken over yet. Null: no worker runs it now. */
  readonly worker: 'alive' | 'lost' | null
  /** In the order in which they ended. */
  readonly steps: readonly {
    readonly id: string
    readonly state: StepRecord['state']
    readonly at: number
    readonly round: number
  }[]
  /** Times for which `ctx.sleep` suspended the body, in milliseconds since 1970; a call that ends first wakes earlier. */
  readonly sleeps: readonly { readonly from: number; readonly until: number }[]
  /** In the order in which they were opened. */
  readonly waits: readonly {
    readonly id: string
    readonly name: string
    readonly createdAt: number
    readonly deadline: number
    /** 'open', or the kind of its resolution. */
    readonly state: 'open' | ResolutionKind
    /** The decision, if a person answered it: 'edit' approves with other arguments. */
    readonly decision?: {
      readonly verb: 'approve' | 'deny' | 'edit' | 'answer'
      readonly votes: readonly Vote[]
    }
  }[]
  /**
   * Model usage of its body (ctx.complete) or of the turn; null if there is none. A turn's usage is known when it has
   * ended.
   */
  readonly usage: UsageOf | null
}

/** Which calls calls.list() returns. Default: all of the session. */
export interface CallsQuery {
  /** Outcome status or call state. */
  readonly status?: OutcomeStatus | CallState
  /** Tool name as requested or as recorded. */
  readonly tool?: string
  /** Maximum number of calls; default 100, at most 1,000. */
  readonly limit?: number
  /** The page starts after this uid; pass the uid of the last call of the previous page. */
  readonly after?: string
  /** Returns the calls as people may see them: secrets and revealed results are replaced. Default: false. */
  readonly redacted?: boolean
}

/** A call by its id in a batch, by its uid, or by its idempotency key. */
export type CallRef = string | { readonly uid: string } | { readonly idempotencyKey: string }

/** Options of session.calls.get(). */
export interface GetCallOptions {
  /** The batch of a call that is named by its id. Default: ''. */
  readonly batch?: string
  /** Selects one of several calls with the same id in a batch. Default: 0. */
  readonly occurrence?: number
  /**
   * Returns the call as people may see it: secrets, hidden arguments and revealed results are replaced. Arguments of a
   * tool that this runtime does not have are replaced as a whole if some of them may be hidden. Default: false.
   */
  readonly redacted?: boolean
}

/** Options of session.calls.cancel(). */
export interface CancelCallOptions {
  /** Recorded, and read by the model. Default: 'The call was cancelled'. */
  readonly reason?: string
  /** Who cancels the call. Recorded. */
  readonly by?: string
  /** The batch of a call that is named by its id. Default: '', then every batch that has an open call with this id. */
  readonly batch?: string
  /** Selects one of several calls with the same id in a batch. Default: 0. */
  readonly occurrence?: number
}

/** Whether session.calls.cancel() cancelled the call. */
export type CancelCallAnswer =
  /** The cancel is recorded. The call ends within its grace period; a result that arrives before that still counts. */
  | { readonly answer: 'cancelled' }
  /** The call had ended before. */
  | { readonly answer: 'already_settled' }
  /** The session has no such call. */
  | { readonly answer: 'unknown' }
  /** Several open calls have this id. None was cancelled; cancel one of them by its uid. */
  | { readonly answer: 'ambiguous'; readonly calls: readonly string[] }

/** Reads and cancels the recorded calls of a session. */
export interface Calls {
  /**
   * The call with this id (batch defaults to '', occurrence to 0), uid or idempotency key; undefined if there is none.
   */
  get(call: CallRef, at?: GetCallOptions): Promise<CallDetails | undefined>
  /** Calls of this session, oldest first. */
  list(query?: CallsQuery): Promise<CallSummary[]>
  /**
   * Cancels one call and leaves the other calls of its batch or turn alone. Any process may cancel a call: one that is
   * queued, runs on another worker, waits for people, or has not started. Its nested calls are cancelled with it.
   * Cancelling a call twice is harmless: the first reason counts.
   *
   * Name a call of `run` by its id and batch. Calls of turns and nested calls have internal batches: name them by the
   * uid that events and `list` give, or by their id while they are open. If several open calls have that id, the
   * answer is 'ambiguous' with their uids, and none is cancelled.
   * @example
   * await session.calls.cancel('c1', { batch: 'msg_7', reason: 'No longer needed', by: 'user:ada' })
   * const [slow] = await session.calls.list({ tool: 'search', status: 'running' })
   * if (slow) await session.calls.cancel({ uid: slow.uid })
   */
  cancel(call: CallRef, options?: CancelCallOptions): Promise<CancelCallAnswer>
}

/** Rows per read; some may not match the query. */
const pageSize = 100
const maxLimit = 1_000

export const callsQueryOptions = {
  status: option.oneOf(...callStates, ...outcomeStatuses),
  tool: option.string,
  limit: option.wholeNumber(1, maxLimit),
  after: option.string,
  redacted: option.boolean,
} satisfies OptionTable<CallsQuery>

export type CallReader = Pick<Foundation, 'store' | 'redact' | 'knownSecrets' | 'registry'>

/** The messages of the outcomes are redacted, like those that run() returns. */
export function callsOf(host: CallReader, of: Scope): Omit<Calls, 'cancel'> {
  const { store, redact, knownSecrets } = host
  return {
    async get(call, { batch = '', occurrence = 0, redacted = false } = {}) {
      checkCallReference(call)
      const record = await findCall(store, of, call, batch, occurrence)
      if (record?.position.tenant !== of.tenant || record.position.session !== of.session) return undefined
      return detailsOf(host, record, redacted)
    },
    async list(query) {
      checkOptions(query, callsQueryOptions, 'calls.list()')
      const { status, tool, limit = 100, after = '', redacted = false } = query ?? {}
      const found: CallSummary[] = []
      for (let from = after; ;) {
        const records = await store.callsOf(of, { after: from, limit: pageSize })
        await knownSecrets.refresh(of)
        for (const record of records) {
          const item = summaryOf(record, redact)
          if (tool !== undefined && item.name !== tool && record.tool !== tool) continue
          if (status !== undefined && item.state !== status && item.outcome?.status !== status) continue
          if (found.push(redacted ? redactSummary(item, redact) : item) === limit) return found
        }
        const last = records.at(-1)
        if (!last || records.length < pageSize) return found
        from = last.uid
      }
    },
  }
}

const redactSummary = (item: CallSummary, redact: Redactor): CallSummary =>
  redact.deep({ ...item, outcome: item.outcome && visibleOutcome(item.outcome, redact) })

/** `redacted`: also arguments and values, as people may see them. */
export async function detailsOf(host: CallReader, record: CallRecord, redacted = false): Promise<CallDetails> {
  const { store, redact, knownSecrets, registry } = host
  const of = record.position
  const [steps, waits, usage, worker] = await Promise.all([
    store.steps(record.uid),
    store.waitsOf(record.uid),
    readUsage(store, of, record.uid),
    workerOf(store, record),
  ])
  await knownSecrets.refresh(of) // after the record was read: its secrets were set before it was written
  const details = {
    ...summaryOf(record, redact),
    input: decode(record.args ?? record.input),
    requested: requestedInput(record),
    takeovers: takeoversOf(record, steps),
    worker,
    steps: stepDetails(steps),
    sleeps: sleepDetails(steps),
    waits: waitDetails(waits),
    usage,
  }
  if (!redacted) return details
  const tools = registry.toolsetFor(of.tenant, of.session)
  const input = visibleInput(record, details.input, tools)
  const requested = details.requested === null ? null : visibleInput(record, details.requested, tools)
  const outcome = details.outcome && visibleOutcome(details.outcome, redact)
  return redact.deep({ ...details, input, requested, outcome })
}

/** The body starts again after a failure that is retried, and after its worker has stopped. */
const takeoversOf = ({ attempt }: CallRecord, steps: readonly StepRecord[]): number =>
  Math.max(0, attempt - 1 - steps.filter(({ key }) => isRetry(key)).length)

const requestedInput = ({ input, args }: CallRecord): Json | null =>
  args === null || canonicalText(input) === canonicalText(args) ? null : decode(input)

/** Reads the open calls of the session at this place only: uids that differ in their last character are few. */
async function workerOf(store: Store, { uid, state, position }: CallRecord): Promise<CallDetails['worker']> {
  if (state !== 'running') return null
  const { tenant, session } = position
  const near = await store.unsettled({ of: { tenant, session }, after: uid.slice(0, -1), limit: 100 })
  const call = near.find((each) => each.uid === uid)
  return call === undefined ? null : call.alive ? 'alive' : 'lost'
}

/** Without the tool it is not known which arguments are hidden, only whether some may be. */
function visibleInput({ uid, tool, terms }: CallRecord, input: Json, tools: Toolset): Json {
  const entry = tools.findByKey(tool)
  const started = (entry?.name ?? tool) === spawnName ? (input as { tool?: unknown } | null)?.tool : undefined
  if (typeof started === 'string' && !tools.get(started)) return hiddenMark
  if (entry?.tool) return maskArgs(entry.tool, input, () => tools)
  const mayHide = terms === null ? isSealedUid(uid) : parseCallTerms(terms).untold === true
  return mayHide ? hiddenMark : input
}

/** Terminal codes are removed first, because they could split a secret. */
const visibleOutcome = (outcome: Outcome, redact: Redactor): Outcome =>
  revealsSecrets(outcome) ? { status: 'success', value: '[redacted]' } : redactOutcome(outcome, undefined, redact)

async function readUsage(store: Store, of: Scope, uid: string): Promise<UsageOf | null> {
  const turnRow = await store.document(collections.modelUsage.name(of, uid))
  let account = turnRow ? (collections.modelUsage.parse(turnRow.value) as UsageRow).models : {}
  // One row per completion of the body, keyed by call uid and name.
  for await (const { value } of collections.modelUsage.startingWith(store, of, `${uid}:`))
    account = mergeUsage(account, (collections.modelUsage.parse(value) as UsageRow).models)
  return Object.keys(account).length === 0 ? null : totalUsage(account)
}

function checkCallReference(call: unknown): void {
  const { uid, idempotencyKey } = (call ?? {}) as Record<string, unknown>
  if ([call, uid, idempotencyKey].some((each) => typeof each === 'string')) return
  throw new PawlError(
    'call_invalid',
    `The call is ${formatValue(call)}; it must be the id of a call, { uid } or { idempotencyKey }.`,
  )
}

async function findCall(
  store: Store,
  of: Scope,
  call: CallRef,
  batch: string,
  occurrence: number,
): Promise<CallRecord | undefined> {
  const { tenant, session } = of
  if (typeof call === 'string') return store.callAt({ tenant, session, batch, id: call, occurrence })
  const { uid, idempotencyKey } = call as { uid?: string; idempotencyKey?: string }
  if (uid !== undefined) return store.call(uid)
  return store.callAt({ tenant, session, batch: keyBatch, id: idempotencyKey as string, occurrence: 0 })
}

export function summaryOf(record: CallRecord, redact: Redactor): CallSummary {
  const { uid, principal, state, attempt: attempts, createdAt, startedAt, settledAt, outcome, options } = record
  const { batch, id, occurrence } = record.position
  const { callId = id, name = record.tool } = parseCallOptions(options)
  const identity = batch === keyBatch ? { batch: '', idempotencyKey: id } : { batch }
  return {
    uid,
    callId,
    ...identity,
    occurrence,
    name,
    ...recordedMeta(options),
    principal,
    state,
    attempts,
    createdAt,
    startedAt,
    settledAt,
    outcome: outcome === null ? null : redactMessages(decode(outcome) as unknown as Outcome, redact),
  }
}

/** Steps of ctx.step only; the runtime's own keys (timestamps, delays) are left out. */
const stepDetails = (steps: readonly StepRecord[]): CallDetails['steps'] =>
  steps
    .filter(({ key }) => key.startsWith(stepPrefix))
    .map(({ key, state, at, round }) => ({ id: key.slice(stepPrefix.length), state, at, round }))
    .toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))

const sleepDetails = (steps: readonly StepRecord[]): CallDetails['sleeps'] =>
  steps
    .filter(({ key, state }) => isBodySleep(key) && state === 'done')
    .map(({ at, value }) => ({ from: at, until: Number(value) }))
    .toSorted((a, b) => a.from - b.from)

const waitDetails = (waits: readonly WaitRecord[]): CallDetails['waits'] =>
  waits
    .map((wait) => {
      const { id, name, createdAt, deadline } = wait
      const resolution = wait.resolution === null ? null : decodeResolution(wait.resolution)
      const state = resolution === null ? ('open' as const) : resolutionKind(resolution)
      return { id, name, createdAt, deadline, state, ...decisionDetails(wait, resolution) }
    })
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1))

/** Without the answer itself, which may be a secret. Clients and outside services answer waits without a decision. */
function decisionDetails(
  wait: WaitRecord,
  resolution: Resolution | null,
): Pick<CallDetails['waits'][number], 'decision'> {
  const { asks } = waitTermsOf(wait)
  if (!asks || asks.kind === 'client') return {}
  // A question that timed out has a value without votes.
  const { decision: verb, votes }: Partial<DecisionRecord> = decisionOf(resolution) ?? {}
  return verb === undefined || votes === undefined ? {} : { decision: { verb, votes } }
}
