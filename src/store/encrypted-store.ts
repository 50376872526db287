// Wraps any store so that payload fields are sealed (encrypted) on write and opened on read. Used by the runtime.
//
// Sealed: inputs, call options, arguments, outcomes, inputs and values of steps, terms and answers of waits, cancel
// reasons, names and bytes of attachments. Readable: the fields a store needs to find, order and claim rows, and the
// fields operators need without a key: names, ids, tools, states, times, sizes. Diagnostics (`trouble`) and secret
// documents are always sealed, even when nothing else is.

import {
  type CallPosition,
  type CallProgress,
  type CallRecord,
  type StepRecord,
  type WaitRecord,
  isSealedUid,
} from './records/call-record.ts'
import type { EventRecord, NewEvent } from './records/event.ts'
import { lengthPrefixed } from '../core/ids.ts'
import { type MaybePromise, chain } from '../core/maybe-promise.ts'
import { type FieldLocation, type Seal, isSealedBytes, isSealedText, isUnreadable } from '../security/seal.ts'
import { sealedChannel } from './sealed-live-channel.ts'
import type { AttachmentRecord, Change, DocumentName, Store, StoredDocument, DocumentWrite } from './store.ts'

export interface EncryptionOptions {
  readonly seal: Seal
  /** Logs each row that cannot be opened when a read returns the other rows without it. */
  readonly logger?: { error(message: string, fields: Record<string, unknown>): void }
}

export function encryptedStore(store: Store, { seal, logger }: EncryptionOptions): Store {
  const sealer = new Sealer(seal)
  const sealChange = (change: Change): Change =>
    // Without `all`, only calls whose uid carries the sealed suffix are sealed.
    seal.all || isSealedUid(callOf(change)) ? sealer.sealAll(change) : sealer.sealRequired(change)
  const calls = (records: readonly CallRecord[]): CallRecord[] => records.map((record) => sealer.openCall(record))
  const waits = (records: readonly WaitRecord[]): WaitRecord[] => records.map((record) => sealer.openWait(record))
  const maybeCall = (record: CallRecord | undefined): CallRecord | undefined => record && sealer.openCall(record)
  const maybeWait = (record: WaitRecord | undefined): WaitRecord | undefined => record && sealer.openWait(record)
  /** Opens each row. A row that cannot be opened is reported and replaced, so that it does not fail the whole read. */
  const openEach = <T>(
    rows: readonly T[],
    open: (row: T) => T,
    fallback: (row: T) => readonly T[],
    describe: (row: T) => string,
  ): T[] =>
    rows.flatMap((row) => {
      try {
        return [open(row)]
      } catch (error) {
        if (!isUnreadable(error)) throw error
        logger?.error(`The record of ${describe(row)} cannot be decrypted`, { error })
        return fallback(row)
      }
    })

  return {
    kind: store.kind,
    commit: (change) => store.commit(sealChange(change)),
    write: (change, onResult, how) => store.write(sealChange(change), onResult, how),
    callAt: (position) => chain(store.callAt(position), maybeCall),
    call: (uid) => chain(store.call(uid), maybeCall),
    callsOf: (of, page) => chain(store.callsOf(of, page), calls),
    recentCalls: (query) => chain(store.recentCalls(query), (found) => ({ ...found, calls: calls(found.calls) })),
    sessions: (page) => store.sessions(page),
    steps: (call) => chain(store.steps(call), (steps) => steps.map((step) => sealer.openStep(step))),
    waitsOf: (call) => chain(store.waitsOf(call), waits),
    wait: (id) => chain(store.wait(id), maybeWait),
    waitByKeyHash: (hash) => chain(store.waitByKeyHash(hash), maybeWait),
    // An unreadable wait must not block the deadlines of the others: it times out as well, without its terms.
    dueWaits: (now, limit) =>
      chain(store.dueWaits(now, limit), (due) =>
        openEach(
          due,
          (wait) => sealer.openWait(wait),
          (wait) => [{ ...wait, terms: null }],
          ({ id }) => `wait ${id}`,
        ),
      ),
    nextDeadline: () => store.nextDeadline(),
    attachment: (tenant, id) => chain(store.attachment(tenant, id), (found) => found && sealer.openAttachment(found)),
    events: (query) =>
      chain(store.events(query), (events) =>
        openEach(
          events,
          (event) => sealer.openEvent(event),
          (event) => [withFreeText(event, unreadableReason)],
          ({ position }) => `event ${position}`,
        ),
      ),
    document: (name) => chain(store.document(name), (found) => found && sealer.openDocument(found)),
    // Callers take a short page as the end of the collection, so unreadable documents are replaced by later ones.
    documentsOf: (query) => {
      const fillPage = (earlier: readonly StoredDocument[], after: string): MaybePromise<StoredDocument[]> => {
        const limit = query.limit - earlier.length
        return chain(store.documentsOf({ ...query, after, limit }), (found) => {
          const opened = openEach(
            found,
            (one) => sealer.openDocument(one),
            () => [],
            ({ of, key }) => `${of} ${key}`,
          )
          const all = [...earlier, ...opened]
          return found.length < limit || opened.length === limit
            ? all
            : fillPage(all, (found.at(-1) as StoredDocument).key)
        })
      }
      return fillPage([], query.after)
    },
    nonEmptyCollections: (of, scope) => store.nonEmptyCollections(of, scope),
    lastPosition: () => store.lastPosition(),
    erased: (of) => store.erased(of),
    unsettled: (page) => store.unsettled(page),
    erase: (query) => store.erase(query),
    scrub: () => store.scrub(),
    inspect: () => store.inspect(),
    full: (takes) => store.full(takes),
    holds: () => store.holds(),
    renew: (worker, leaseMs) => store.renew(worker, leaseMs),
    ...(store.keepAlive ? { keepAlive: store.keepAlive.bind(store) } : {}),
    // An unreadable call stays owned by this worker without being run. When the worker leaves, one that has the key
    // may claim it. Callers take a short page as "nothing more to claim", so readable calls must fill it.
    claim: async (worker, tools, limit) => {
      const opened: CallRecord[] = []
      for (;;) {
        const claimed = await store.claim(worker, tools, limit)
        opened.push(
          ...openEach(
            claimed,
            (record) => sealer.openCall(record),
            () => [],
            ({ uid }) => `call ${uid}`,
          ),
        )
        if (claimed.length < limit || opened.length >= limit) return opened
      }
    },
    leave: (worker) => store.leave(worker),
    setting: (key, ifAbsent) => store.setting(key, ifAbsent),
    settingNow: (key) => store.settingNow(key),
    secret: () => store.secret(),
    onHint: (listener) => store.onHint(listener),
    ...(store.live ? { live: sealedChannel(store.live, seal) } : {}),
    close: () => store.close(),
  }
}

const unreadableReason = '[sealed, and cannot be opened]'

/** The uid of the call that a change is about; '' if it is about none. */
function callOf({ guards, insertCall, updateCall, steps, events }: Change): string {
  const [guard] = guards
  if (guard && 'call' in guard) return guard.call
  return insertCall?.uid ?? updateCall?.uid ?? events[0]?.call ?? steps?.[0]?.call ?? ''
}

const callField = (uid: string, field: string): FieldLocation => ({ record: lengthPrefixed('call', uid), field })
const stepField = ({ call, key }: StepRecord, field: string): FieldLocation => ({
  record: lengthPrefixed('step', call, key),
  field,
})
const waitField = (id: string, field: string): FieldLocation => ({ record: lengthPrefixed('wait', id), field })
const attachmentField = ({ tenant, id }: AttachmentRecord, field: string): FieldLocation => ({
  record: lengthPrefixed('attachment', tenant, id),
  field,
})
/** The input is bound to the call's position: moved to another session or tenant, it cannot be opened. */
const inputField = (uid: string, { tenant, session, batch, id, occurrence }: CallPosition): FieldLocation =>
  callField(uid, `input ${lengthPrefixed(tenant, session, batch, id, occurrence)}`)

const documentField = ({ of, tenant, session, key }: DocumentName): FieldLocation => ({
  record: lengthPrefixed('kept', of, tenant, session, key),
  field: 'value',
})

const needsSeal = ({ secret, value }: DocumentWrite): boolean =>
  value !== null && (secret === true || isSealedText(value))

class Sealer {
  readonly #seal: Seal

  constructor(seal: Seal) {
    this.#seal = seal
  }

  /** Seals only the fields that are always sealed, and plain values that would be mistaken for sealed ones on read. */
  sealRequired(change: Change): Change {
    const { insertCall, updateCall, attachments } = change
    let next = change
    if (insertCall && insertCall.trouble !== null)
      next = { ...next, insertCall: { ...insertCall, ...this.#trouble(insertCall.uid, insertCall) } }
    if (updateCall && updateCall.progress.trouble !== null) {
      const { uid, progress } = updateCall
      next = { ...next, updateCall: { ...updateCall, progress: { ...progress, ...this.#trouble(uid, progress) } } }
    }
    if (change.events.some(hasSealedLookingText))
      next = { ...next, events: change.events.map((each) => (hasSealedLookingText(each) ? this.#event(each) : each)) }
    if (change.documents?.some(needsSeal))
      next = { ...next, documents: change.documents.map((each) => (needsSeal(each) ? this.#document(each) : each)) }
    const needsSealing = (each: AttachmentRecord): boolean =>
      isSealedBytes(each.data) || (each.name !== null && isSealedText(each.name))
    if (attachments?.some(needsSealing))
      next = { ...next, attachments: attachments.map((each) => (needsSealing(each) ? this.#attachment(each) : each)) }
    return next
  }

  sealAll(change: Change): Change {
    const { insertCall, updateCall, steps, insertWaits, resolveWait, attachments, documents, events } = change
    return {
      ...change,
      ...(insertCall ? { insertCall: this.#call(insertCall) } : {}),
      ...(updateCall
        ? { updateCall: { ...updateCall, progress: this.#progress(updateCall.uid, updateCall.progress) } }
        : {}),
      ...(steps ? { steps: steps.map((each) => this.#step(each)) } : {}),
      ...(insertWaits ? { insertWaits: insertWaits.map((each) => this.#wait(each)) } : {}),
      ...(resolveWait
        ? {
            resolveWait: {
              ...resolveWait,
              resolution: this.#sealText(resolveWait.resolution, waitField(resolveWait.id, 'resolution')),
            },
          }
        : {}),
      ...(attachments ? { attachments: attachments.map((each) => this.#attachment(each)) } : {}),
      ...(documents ? { documents: documents.map((each) => this.#document(each)) } : {}),
      events: events.map((each) => this.#event(each)),
    }
  }

  openDocument(found: StoredDocument): StoredDocument {
    return looksSealed(found.value)
      ? { ...found, value: this.#openText(found.value, documentField(found), true) }
      : found
  }

  openCall(record: CallRecord): CallRecord {
    const { uid, input, options, args, outcome, trouble } = record
    const must = isSealedUid(uid)
    // Fast path: most calls have no sealed field.
    if (!must && !([input, options, args, outcome, trouble] as const).some(looksSealed)) return record
    return {
      ...record,
      input: this.#openText(input, inputField(uid, record.position), must),
      options: this.#openText(options, callField(uid, 'options'), must),
      args: this.#openText(args, callField(uid, 'args'), must),
      outcome: this.#openText(outcome, callField(uid, 'outcome'), must),
      trouble: this.#openText(trouble, callField(uid, 'trouble'), must),
    }
  }

  openStep(step: StepRecord): StepRecord {
    const must = isSealedUid(step.call)
    if (!must && !looksSealed(step.input) && !looksSealed(step.value)) return step
    return {
      ...step,
      input: this.#openText(step.input, stepField(step, 'input'), must),
      value: this.#openText(step.value, stepField(step, 'value'), must),
    }
  }

  openWait(wait: WaitRecord): WaitRecord {
    const must = isSealedUid(wait.call)
    if (!must && !looksSealed(wait.terms) && !looksSealed(wait.resolution)) return wait
    const { id, terms, resolution } = wait
    return {
      ...wait,
      terms: this.#openText(terms, waitField(id, 'terms'), must),
      resolution: this.#openText(resolution, waitField(id, 'resolution'), must),
    }
  }

  openAttachment(found: AttachmentRecord): AttachmentRecord {
    const must = isSealedUid(found.id)
    if (!must && !isSealedBytes(found.data) && !looksSealed(found.name)) return found
    const data =
      must || isSealedBytes(found.data) ? this.#seal.openBytes(found.data, attachmentField(found, 'data')) : found.data
    return { ...found, data, name: this.#openText(found.name, attachmentField(found, 'name'), must) }
  }

  openEvent(event: EventRecord): EventRecord {
    const text = freeTextOf(event)
    if (text === null) return event
    // An announced payload is sealed as JSON text. A payload that is not a string is therefore not sealed.
    if (typeof text !== 'string')
      return isSealedUid(event.call) ? withFreeText(event, this.#openText('', eventField(event), true)) : event
    const opened = this.#openText(text, eventField(event), isSealedUid(event.call))
    if (opened === text) return event
    return withFreeText(event, event.type === 'wait.announced' ? JSON.parse(opened) : opened)
  }

  #sealText<T extends string | null>(text: T, location: FieldLocation): T {
    return text === null ? text : (this.#seal.text(text, location) as T)
  }

  #openText<T extends string | null>(text: T, location: FieldLocation, must: boolean): T {
    return text === null || !(must || isSealedText(text)) ? text : (this.#seal.openText(text, location) as T)
  }

  #call(call: CallRecord): CallRecord {
    const { uid, position, input, options } = call
    const own = {
      input: this.#sealText(input, inputField(uid, position)),
      options: this.#sealText(options, callField(uid, 'options')),
    }
    // `position` must stay the same object: stores compare it by identity with the position in the `absent` guard.
    return { ...call, ...this.#fields(uid, call), ...own }
  }

  #progress(uid: string, progress: CallProgress): CallProgress {
    return { ...progress, ...this.#fields(uid, progress) }
  }

  #fields(uid: string, { args, outcome, trouble }: CallProgress): Pick<CallProgress, 'args' | 'outcome' | 'trouble'> {
    return {
      args: this.#sealText(args, callField(uid, 'args')),
      outcome: this.#sealText(outcome, callField(uid, 'outcome')),
      trouble: this.#sealText(trouble, callField(uid, 'trouble')),
    }
  }

  #trouble(uid: string, { trouble }: CallProgress): Pick<CallProgress, 'trouble'> {
    return { trouble: this.#sealText(trouble, callField(uid, 'trouble')) }
  }

  #step(step: StepRecord): StepRecord {
    return {
      ...step,
      input: this.#sealText(step.input, stepField(step, 'input')),
      value: this.#sealText(step.value, stepField(step, 'value')),
    }
  }

  #wait(wait: WaitRecord): WaitRecord {
    const { id, terms, resolution } = wait
    return {
      ...wait,
      terms: this.#sealText(terms, waitField(id, 'terms')),
      resolution: this.#sealText(resolution, waitField(id, 'resolution')),
    }
  }

  #attachment(each: AttachmentRecord): AttachmentRecord {
    return {
      ...each,
      name: this.#sealText(each.name, attachmentField(each, 'name')),
      data: this.#seal.bytes(each.data, attachmentField(each, 'data')),
    }
  }

  #document(each: DocumentWrite): DocumentWrite {
    return { ...each, value: this.#sealText(each.value, documentField(each)) }
  }

  #event(event: NewEvent): NewEvent {
    const text = freeTextOf(event)
    if (text === null) return event
    return withFreeText(
      event,
      this.#sealText(event.type === 'wait.announced' ? JSON.stringify(text) : (text as string), eventField(event)),
    )
  }
}

/** The free text of an event: the reason of a cancel or decision, or the payload of an announced wait. Null if none. */
const freeTextOf = (event: NewEvent): unknown =>
  event.type === 'call.cancelling'
    ? event.body.reason
    : event.type === 'decision.made'
      ? (event.body.reason ?? null)
      : event.type === 'wait.announced'
        ? event.body.payload
        : null
const withFreeText = <T extends NewEvent>(event: T, text: unknown): T => ({
  ...event,
  body: { ...event.body, [event.type === 'wait.announced' ? 'payload' : 'reason']: text },
})
const eventField = ({ call, type }: NewEvent): FieldLocation =>
  callField(call, type === 'wait.announced' ? 'announced' : 'reason')

const hasSealedLookingText = (event: NewEvent): boolean => {
  const text = freeTextOf(event)
  return typeof text === 'string' && isSealedText(text)
}

/** Cheap prefix test. A text with this prefix is sealed or corrupt. */
const looksSealed = (text: string | null): boolean => text !== null && isSealedText(text)
