// The calls of a session as they are on record, for callers and operators: how far each has come, how it ended, its steps and waits.
// Never the keys of waits, nor what an internal error said: the log has that.

import type { CallOptions, CallRecord, CallState, StepRecord, WaitRecord } from '../store/records/call-record.ts'
import { usageName } from '../store/records/conversation.ts'
import { PawlError } from '../core/errors.ts'
import type { Outcome, OutcomeStatus } from '../core/outcome.ts'
import { decode, type Json } from '../core/value.ts'
import { sumOf, together, type UsageRow } from '../models/cost-ledger.ts'
import type { UsageOf } from '../models/turn-interface.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { Store } from '../store/store.ts'
import { decodeResolution, kindOf, type ResolutionKind } from '../store/records/resolution.ts'
import { keyBatch } from './call-request.ts'

export interface CallSummary {
  /** Unique in the store, and in the order in which calls were asked for: what the feed calls a call, and where a list goes on. */
  readonly uid: string
  /** The model's id of it. */
  readonly callId: string
  readonly batch: string
  readonly occurrence: number
  /** Set where a key names the call instead of its batch and id. */
  readonly idempotencyKey?: string
  /** What the model called the tool. */
  readonly name: string
  readonly principal: string | null
  readonly state: CallState
  /** How many times the body was begun. */
  readonly attempts: number
  readonly createdAt: number
  /** When the last attempt began. */
  readonly startedAt: number | null
  readonly settledAt: number | null
  /** Null until it is settled. */
  readonly outcome: Outcome | null
}

export interface CallDetails extends CallSummary {
  /** What was asked; once accepted, the arguments that the body gets. */
  readonly input: Json
  /** In the order in which they ended. */
  readonly steps: readonly {
    readonly id: string
    readonly state: StepRecord['state']
    readonly at: number
    readonly round: number
  }[]
  readonly waits: readonly {
    readonly id: string
    readonly name: string
    readonly createdAt: number
    readonly deadline: number
    /** Open, or what answered it. */
    readonly state: 'open' | ResolutionKind
  }[]
  /** What its body has asked of models (ctx.complete), or the turn; null if nothing. Of a turn when it has ended. */
  readonly usage: UsageOf | null
}

export interface CallsQuery {
  /** How it ended, or how far it has come. */
  readonly status?: OutcomeStatus | CallState
  /** As it was asked for, or as the record calls it. */
  readonly tool?: string
  /** At most this many; 100 if not said, 1,000 at most. */
  readonly limit?: number
  /** The uid after which the page begins: of the last call of the page before. */
  readonly after?: string
}

export interface Calls {
  /** The call at a place (batch '' and occurrence 0 if not said), or by its uid or idempotency key. Undefined if none is on record. */
  get(
    call: string | { readonly uid: string } | { readonly idempotencyKey: string },
    at?: { readonly batch?: string; readonly occurrence?: number },
  ): Promise<CallDetails | undefined>
  /** Calls of this session, oldest first. */
  list(query?: CallsQuery): Promise<CallSummary[]>
}

/** How many rows are read at once. Some may not be what is looked for. */
const page = 100
const mostListed = 1_000

export function callsOf(store: Store, of: { readonly tenant: string; readonly session: string }): Calls {
  return {
    async get(call, { batch = '', occurrence = 0 } = {}) {
      const record = await find(store, of, call, batch, occurrence)
      if (record?.position.tenant !== of.tenant || record.position.session !== of.session) return undefined
      const [steps, waits, usage] = await Promise.all([
        store.steps(record.uid),
        store.waitsOf(record.uid),
        usageIn(store, of, record.uid),
      ])
      return {
        ...summary(record),
        input: decode(record.args ?? record.input),
        steps: stepsOf(steps),
        waits: waitsOf(waits),
        usage,
      }
    },
    async list({ status, tool, limit = 100, after = '' } = {}) {
      if (!(Number.isSafeInteger(limit) && limit > 0 && limit <= mostListed)) {
        throw new PawlError(
          'config_invalid',
          `limit is ${String(limit)}; it must be a whole number from 1 to ${mostListed}.`,
        )
      }
      const found: CallSummary[] = []
      for (let from = after; ;) {
        const records = await store.callsOf(of, { after: from, limit: page })
        for (const record of records) {
          const each = summary(record)
          if (tool !== undefined && each.name !== tool && record.tool !== tool) continue
          if (status !== undefined && each.state !== status && each.outcome?.status !== status) continue
          if (found.push(each) === limit) return found
        }
        const last = records.at(-1)
        if (!last || records.length < page) return found
        from = last.uid
      }
    },
  }
}

async function usageIn(store: Store, of: { tenant: string; session: string }, uid: string): Promise<UsageOf | null> {
  const own = await store.document(usageName(of, uid))
  let account = own ? (JSON.parse(own.value) as UsageRow).models : {}
  // A row for each time that its body asked, each under its name.
  const { tenant, session } = of
  for await (const { key, value } of iterateDocuments(
    store,
    { of: usageName(of, '').of, tenant, session },
    `${uid}:`,
  )) {
    if (!key.startsWith(`${uid}:`)) break
    account = together(account, (JSON.parse(value) as UsageRow).models)
  }
  return Object.keys(account).length === 0 ? null : sumOf(account)
}

async function find(
  store: Store,
  of: { readonly tenant: string; readonly session: string },
  call: Parameters<Calls['get']>[0],
  batch: string,
  occurrence: number,
): Promise<CallRecord | undefined> {
  const { tenant, session } = of
  if (typeof call === 'string') return store.callAt({ tenant, session, batch, id: call, occurrence })
  if ('uid' in call) return store.call(call.uid)
  return store.callAt({ tenant, session, batch: keyBatch, id: call.idempotencyKey, occurrence: 0 })
}

function summary(record: CallRecord): CallSummary {
  const { uid, principal, state, attempt: attempts, createdAt, startedAt, settledAt, outcome, options } = record
  const { batch, id, occurrence } = record.position
  const { callId = id, name = record.tool } = options === null ? {} : (JSON.parse(options) as CallOptions)
  const place = batch === keyBatch ? { batch: '', idempotencyKey: id } : { batch }
  return {
    uid,
    callId,
    ...place,
    occurrence,
    name,
    principal,
    state,
    attempts,
    createdAt,
    startedAt,
    settledAt,
    outcome: outcome === null ? null : (decode(outcome) as unknown as Outcome),
  }
}

const stepPrefix = 'step:'

/** Those of ctx.step: what the runtime keeps under keys of its own (instants, delays) are not steps of the tool. */
const stepsOf = (steps: readonly StepRecord[]): CallDetails['steps'] =>
  steps
    .filter(({ key }) => key.startsWith(stepPrefix))
    .map(({ key, state, at, round }) => ({ id: key.slice(stepPrefix.length), state, at, round }))
    .toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))

const waitsOf = (waits: readonly WaitRecord[]): CallDetails['waits'] =>
  waits
    .map(({ id, name, createdAt, deadline, resolution }) => ({
      id,
      name,
      createdAt,
      deadline,
      state: resolution === null ? ('open' as const) : kindOf(decodeResolution(resolution)),
    }))
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.name < b.name ? -1 : 1))
