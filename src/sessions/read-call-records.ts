// Reads recorded calls, whole results by handle, and attachment bytes. Every read checks tenant and session; data of
// other tenants or sessions is reported as if it did not exist.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { type OutputBudget, readablePage, readOutput } from '../calls/output/truncate.ts'
import { redactOutcome } from '../calls/output/redact-outcome.ts'
import { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Foundation } from '../engine/foundation.ts'
import type { Clock } from '../core/clock.ts'
import { decode, isAttachment } from '../core/tool-value.ts'
import type { Scope } from '../core/scope.ts'
import type { Store } from '../store/store.ts'
import type { Attachments, Outputs } from '../tools/context/tool-context.ts'
import type { CallOutcome, OpenCall, Until, CallAsk } from './call-request.ts'
import { listSessions, type RuntimeSessions } from './list-sessions.ts'
import { callsOfRuntime, type RuntimeCalls } from './runtime-calls.ts'
import { type CallReader, type Calls, callsOf } from './session-calls.ts'
import type { Batch } from './collect-outcomes.ts'
import { type Recording, recordingOf } from './export-recording.ts'
import { PendingAsks } from '../tasks/pending-questions.ts'
import type { NewCall } from '../engine/engine.ts'
import { type CallRecord, recordedMeta, waitTermsOf } from '../store/records/call-record.ts'
import { milliseconds } from '../core/duration.ts'
import { placeholder } from './placeholder-result.ts'
import { collections } from '../store/collections.ts'

const pageSize = 500

export const outputPageOptions = { offset: option.number, limit: option.number } satisfies OptionTable<
  Parameters<Outputs['read']>[1]
>

type ReaderHost = CallReader & Pick<Foundation, 'clock'>

export class RecordReader {
  readonly #store: Store
  readonly #budget: OutputBudget
  readonly #clock: Clock
  readonly #host: ReaderHost

  constructor(host: ReaderHost, budget: OutputBudget) {
    this.#host = host
    this.#store = host.store
    this.#clock = host.clock
    this.#budget = budget
  }

  calls(of: Scope): Omit<Calls, 'cancel'> {
    const calls = callsOf(this.#host, of)
    return {
      get: (call, at) => readStore(() => calls.get(call, at)),
      list: (query) => readStore(() => calls.list(query)),
    }
  }

  /** The calls of all sessions. */
  allCalls(): RuntimeCalls {
    const calls = callsOfRuntime(this.#host)
    return {
      get: (uid, options) => readStore(() => calls.get(uid, options)),
      recent: (options) => readStore(() => calls.recent(options)),
    }
  }

  /** The sessions that have calls. */
  allSessions(): RuntimeSessions {
    return { list: (query) => readStore(() => listSessions(this.#store, query)) }
  }

  recording(of: Scope): Promise<Recording> {
    return readStore(() => recordingOf(this.#store, of))
  }

  /** Uids of the recorded open calls of the session. */
  async openCalls(of: Scope): Promise<readonly string[]> {
    const open: string[] = []
    for (;;) {
      const page = await readStore(() => this.#store.unsettled({ of, after: open.at(-1) ?? '', limit: pageSize }))
      open.push(...page.map(({ uid }) => uid))
      if (page.length < pageSize) return open
    }
  }

  /** Returns early; open calls are described by their records. */
  waitUntil(batch: Batch, until: Until): Promise<(CallOutcome | OpenCall)[]> {
    return waitUntil(batch, until, { store: this.#store, clock: this.#clock })
  }

  outputs(of: Scope): Outputs {
    return {
      read: async (handle, page) => {
        checkOptions(page, outputPageOptions, 'outputs.read()')
        const { offset, limit } = page ?? {}
        const call = await readStore(() => this.#store.call(handle))
        const isOwn = call && call.position.tenant === of.tenant && call.position.session === of.session
        if (!isOwn || call.outcome === null) throw new PawlError('output_unknown')
        const recorded = decode(call.outcome) as unknown as Outcome
        // Offsets count in the redacted text, which is what the model was shown.
        const { redact, knownSecrets } = this.#host
        await knownSecrets.refresh(of)
        const outcome = redact.active ? redactOutcome(recorded, call.outcome, redact) : recorded
        if (limit === undefined) return readablePage(outcome, offset, this.#budget)
        return readOutput(outcome, { limit, ...(offset === undefined ? {} : { offset }) })
      },
    }
  }

  attachments({ tenant }: Pick<Scope, 'tenant'>): Pick<Attachments, 'read'> {
    return {
      read: async (attachment) => {
        if (!isAttachment(attachment))
          throw new PawlError('value_invalid', 'The argument is not a recorded attachment.')
        const found = await readStore(() => this.#store.attachment(tenant, attachment.ref.id))
        if (!found) throw new PawlError('attachment_unknown')
        return found.data
      },
    }
  }
}

/** Wraps errors of a closed or lost store in `store_unavailable`. */
async function readStore<T>(read: () => T | Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    throw cause instanceof PawlError ? cause : new PawlError('store_unavailable', 'The read failed.', { cause })
  }
}

/**
 * run(calls, { until }): returns before every call is settled, with the open calls described by their records. The
 * calls continue; running the same batch again joins them.
 */
async function waitUntil(
  batch: Batch,
  until: Until,
  { store, clock }: { store: Store; clock: Clock },
): Promise<(CallOutcome | OpenCall)[]> {
  const timeoutMs = until === 'waiting' ? null : milliseconds(until, 'until')
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let hasChanged = true
  let isChecking = false
  let lastBusy = 0
  /** One check at a time; a change during a check causes another. */
  const check = async (): Promise<void> => {
    hasChanged = true
    if (isChecking) return
    isChecking = true
    try {
      while (hasChanged) {
        hasChanged = false
        if (batch.missing === 0) return resolve()
        if (until !== 'waiting') continue
        // Start with the call that was busy last time: it most likely still is.
        const found = await findBusyCall(batch, store, lastBusy)
        if (found === null) return resolve()
        lastBusy = found
      }
    } finally {
      isChecking = false
    }
  }
  const recheck = (): void => void check().catch(reject)
  batch.onDone = recheck
  batch.outcomes.catch(reject)
  // The end of a call is heard through the batch. Most other changes are no reason to read the calls again.
  const stopListening = store.onHint(({ parks = true }) => void (parks && recheck()))
  const cancelTimer = timeoutMs === null ? () => {} : clock.timer(timeoutMs, resolve)
  const release = clock.hold()
  try {
    recheck()
    await promise
    return await Promise.all(
      batch.calls.map(async (_, order) => batch.outcomeOf(order) ?? (await openCall(batch, order, store))),
    )
  } finally {
    batch.onDone = null
    stopListening()
    cancelTimer()
    release()
  }
}

/**
 * Index of the first call, from `from` on and wrapping around, that neither waits nor is settled; null if there is
 * none.
 */
async function findBusyCall(batch: Batch, store: Store, from: number): Promise<number | null> {
  const { requests } = batch
  const pendingAsks = new PendingAsks(store)
  for (let count = 0; count < requests.length; count++) {
    const order = (from + count) % requests.length
    if (batch.outcomeOf(order)) continue
    const record = await store.callAt((requests[order] as NewCall).position)
    if (record?.state !== 'parked' && !(record && (await pendingAsks.of(record))) && !batch.outcomeOf(order))
      return order
  }
  return null
}

/** What an open call waits for: a person or client, or an external result (`completion`). */
export type WaitingFor = Extract<OpenCall, { status: 'waiting' }>['for']

export interface CallWait {
  readonly for: WaitingFor
  readonly waitId: string
  readonly until: number
}

/** What the call waits for, itself or in a call or agent under it; null if it does not wait. */
export async function waitOf(record: CallRecord, store: Store): Promise<CallWait | null> {
  const wait = record.state === 'parked' && record.wait !== null ? await store.wait(record.wait) : undefined
  const nestedAsk = wait ? null : await new PendingAsks(store).of(record)
  if (nestedAsk) return { for: nestedAsk.item.kind, waitId: nestedAsk.id, until: nestedAsk.item.deadline }
  if (!wait || wait.resolution !== null) return null
  return { for: waitTermsOf(wait).asks?.kind ?? 'completion', waitId: wait.id, until: wait.deadline }
}

/** Describes an open call by its record. The wait key is not included: only the body may hand it out. */
async function openCall({ calls, requests }: Batch, order: number, store: Store): Promise<OpenCall> {
  const { id: callId, name, meta } = calls[order] as CallAsk
  const record = await store.callAt((requests[order] as NewCall).position)
  const metaField = record ? recordedMeta(record.options) : meta === undefined ? {} : { meta }
  const identity = { callId, name, ...metaField }
  const wait = record ? await waitOf(record, store) : null
  if (!record || !wait) return { status: 'running', ...identity, parts: placeholder('running') }
  const document =
    wait.for === 'client' ? await store.document(collections.client.name(record.position, wait.waitId)) : undefined
  const input = document ? { input: decode(collections.inbox.parse(document.value).args) } : {}
  return { status: 'waiting', ...wait, ...identity, parts: placeholder(wait.for), ...input }
}
