// A store whose payloads are sealed at rest (DUR-12): any store, with payload fields sealed on their way in and opened on their way out.
//
// Sealed: what was asked (input, options), arguments, outcomes, inputs and values of steps, answers and terms of waits, reasons of cancels,
// names and bytes of attachments. Readable: what a store must find, order and claim by, and what operators need to see without a key: names,
// ids, tools, states, times, sizes. What went wrong inside (trouble) is sealed always, whatever else is.

import type { CallPosition, CallProgress, CallRecord, StepRecord, WaitRecord } from './records/call-record.ts'
import type { EventRecord, NewEvent } from './records/event.ts'
import { isSealedUid } from './records/sealed-uid.ts'
import { frame } from '../core/ids.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import { isSealedBytes, isSealedText, isUnreadable, type Place, type Seal } from '../security/seal.ts'
import type { AttachmentRecord, Change, StoredDocument, DocumentName, Store } from './store.ts'

export interface SealedOptions {
  readonly seal: Seal
  /** Seals everything. Else only what belongs to calls whose uid says so. */
  readonly all: boolean
  /** Hears of a row that cannot be opened, where the others of its read are given without it. */
  readonly unreadable?: (what: string, error: unknown) => void
}

export function sealed(store: Store, { seal, all, unreadable = () => {} }: SealedOptions): Store {
  const sealer = new Sealer(seal)
  const into = (change: Change): Change =>
    all || isSealedUid(callOf(change)) ? sealer.change(change) : sealer.plain(change)
  const calls = (records: readonly CallRecord[]): CallRecord[] => records.map((record) => sealer.openCall(record))
  const waits = (records: readonly WaitRecord[]): WaitRecord[] => records.map((record) => sealer.openWait(record))
  const maybeCall = (record: CallRecord | undefined): CallRecord | undefined => record && sealer.openCall(record)
  const maybeWait = (record: WaitRecord | undefined): WaitRecord | undefined => record && sealer.openWait(record)
  /** What the one row that cannot be opened becomes, so that the others of its read go on. */
  const each = <T>(
    rows: readonly T[],
    open: (row: T) => T,
    instead: (row: T) => readonly T[],
    what: (row: T) => string,
  ): T[] =>
    rows.flatMap((row) => {
      try {
        return [open(row)]
      } catch (error) {
        if (!isUnreadable(error)) throw error
        unreadable(what(row), error)
        return instead(row)
      }
    })

  return {
    kind: store.kind,
    commit: (change) => store.commit(into(change)),
    write: (change, heard, how) => store.write(into(change), heard, how),
    callAt: (position) => when(store.callAt(position), maybeCall),
    call: (uid) => when(store.call(uid), maybeCall),
    callsOf: (of, page) => when(store.callsOf(of, page), calls),
    steps: (call) => when(store.steps(call), (steps) => steps.map((step) => sealer.openStep(step))),
    waitsOf: (call) => when(store.waitsOf(call), waits),
    wait: (id) => when(store.wait(id), maybeWait),
    waitByKeyHash: (hash) => when(store.waitByKeyHash(hash), maybeWait),
    // One wait that cannot be read must not keep the others from their deadlines: it ends by the clock as well, without its terms.
    dueWaits: (now, limit) =>
      when(store.dueWaits(now, limit), (due) =>
        each(
          due,
          (wait) => sealer.openWait(wait),
          (wait) => [{ ...wait, terms: null }],
          ({ id }) => `wait ${id}`,
        ),
      ),
    nextDeadline: () => store.nextDeadline(),
    attachment: (tenant, id) => when(store.attachment(tenant, id), (found) => found && sealer.openAttachment(found)),
    events: (query) =>
      when(store.events(query), (events) =>
        each(
          events,
          (event) => sealer.openEvent(event),
          (event) => [withText(event, unreadableReason)],
          ({ position }) => `event ${position}`,
        ),
      ),
    document: (name) => when(store.document(name), (found) => found && sealer.openKept(found)),
    // Whether there is more is told by a full page, so those that can be opened must fill it.
    documentsOf: (query) => {
      const filled = (before: readonly StoredDocument[], after: string): MaybePromise<StoredDocument[]> => {
        const limit = query.limit - before.length
        return flat(store.documentsOf({ ...query, after, limit }), (found) => {
          const opened = each(
            found,
            (one) => sealer.openKept(one),
            () => [],
            ({ of, key }) => `${of} ${key}`,
          )
          const all = [...before, ...opened]
          return found.length < limit || opened.length === limit
            ? all
            : filled(all, (found.at(-1) as StoredDocument).key)
        })
      }
      return filled([], query.after)
    },
    keptIn: (of, scope) => store.keptIn(of, scope),
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
    // It stays this worker's, and nobody drives it: when the worker leaves, one that has the key may take it.
    // Whether there is more to claim is told by a full page, so those that can be opened must fill it.
    claim: async (worker, tools, limit) => {
      const opened: CallRecord[] = []
      for (;;) {
        const claimed = await store.claim(worker, tools, limit)
        opened.push(
          ...each(
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
    close: () => store.close(),
  }
}

const unreadableReason = '[sealed, and cannot be opened]'

/** Synchronous where the store is. */
const when = <A, B>(soon: MaybePromise<A>, then: (value: A) => B): MaybePromise<B> =>
  soon instanceof Promise ? soon.then(then) : then(soon)

const flat = <A, B>(soon: MaybePromise<A>, then: (value: A) => MaybePromise<B>): MaybePromise<B> =>
  soon instanceof Promise ? soon.then(then) : then(soon)

/** The call a change is about. */
function callOf({ guards, insertCall, updateCall, steps, events }: Change): string {
  const [guard] = guards
  if (guard && 'call' in guard) return guard.call
  return insertCall?.uid ?? updateCall?.uid ?? events[0]?.call ?? steps?.[0]?.call ?? ''
}

const ofCall = (uid: string, field: string): Place => ({ record: frame('call', uid), field })
const ofStep = ({ call, key }: StepRecord, field: string): Place => ({ record: frame('step', call, key), field })
const ofWait = (id: string, field: string): Place => ({ record: frame('wait', id), field })
const ofAttachment = ({ tenant, id }: AttachmentRecord, field: string): Place => ({
  record: frame('attachment', tenant, id),
  field,
})
/** What was asked is bound to the place of the call: moved to another session or tenant, it cannot be opened. */
const ofInput = (uid: string, { tenant, session, batch, id, occurrence }: CallPosition): Place =>
  ofCall(uid, `input ${frame(tenant, session, batch, id, occurrence)}`)

const ofKept = ({ of, tenant, session, key }: DocumentName): Place => ({
  record: frame('kept', of, tenant, session, key),
  field: 'value',
})

type ToKeep = NonNullable<Change['documents']>[number]
const mustBeSealed = ({ secret, value }: ToKeep): boolean => value !== null && (secret === true || isSealedText(value))

class Sealer {
  readonly #seal: Seal

  constructor(seal: Seal) {
    this.#seal = seal
  }

  /** Nothing but what is always sealed, and what would pass for sealed when it is read. */
  plain(change: Change): Change {
    const { insertCall, updateCall, attachments } = change
    let next = change
    if (insertCall && insertCall.trouble !== null)
      next = { ...next, insertCall: { ...insertCall, ...this.#trouble(insertCall.uid, insertCall) } }
    if (updateCall && updateCall.progress.trouble !== null) {
      const { uid, progress } = updateCall
      next = { ...next, updateCall: { ...updateCall, progress: { ...progress, ...this.#trouble(uid, progress) } } }
    }
    if (change.events.some(posesAsSealed))
      next = { ...next, events: change.events.map((each) => (posesAsSealed(each) ? this.#event(each) : each)) }
    if (change.documents?.some(mustBeSealed))
      next = { ...next, documents: change.documents.map((each) => (mustBeSealed(each) ? this.#kept(each) : each)) }
    const posing = (each: AttachmentRecord): boolean =>
      isSealedBytes(each.data) || (each.name !== null && isSealedText(each.name))
    if (attachments?.some(posing))
      next = { ...next, attachments: attachments.map((each) => (posing(each) ? this.#attachment(each) : each)) }
    return next
  }

  change(change: Change): Change {
    const {
      insertCall,
      updateCall,
      steps,
      insertWaits,
      resolveWait,
      attachments,
      documents: documents,
      events,
    } = change
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
              resolution: this.#in(resolveWait.resolution, ofWait(resolveWait.id, 'resolution')),
            },
          }
        : {}),
      ...(attachments ? { attachments: attachments.map((each) => this.#attachment(each)) } : {}),
      ...(documents ? { documents: documents.map((each) => this.#kept(each)) } : {}),
      events: events.map((each) => this.#event(each)),
    }
  }

  openKept(found: StoredDocument): StoredDocument {
    return looksSealed(found.value) ? { ...found, value: this.#out(found.value, ofKept(found), true) } : found
  }

  openCall(record: CallRecord): CallRecord {
    const { uid, input, options, args, outcome, trouble } = record
    const must = isSealedUid(uid)
    // Nearly all calls have nothing to open.
    if (!must && !([input, options, args, outcome, trouble] as const).some(looksSealed)) return record
    return {
      ...record,
      input: this.#out(input, ofInput(uid, record.position), must),
      options: this.#out(options, ofCall(uid, 'options'), must),
      args: this.#out(args, ofCall(uid, 'args'), must),
      outcome: this.#out(outcome, ofCall(uid, 'outcome'), must),
      trouble: this.#out(trouble, ofCall(uid, 'trouble'), must),
    }
  }

  openStep(step: StepRecord): StepRecord {
    const must = isSealedUid(step.call)
    if (!must && !looksSealed(step.input) && !looksSealed(step.value)) return step
    return {
      ...step,
      input: this.#out(step.input, ofStep(step, 'input'), must),
      value: this.#out(step.value, ofStep(step, 'value'), must),
    }
  }

  openWait(wait: WaitRecord): WaitRecord {
    const must = isSealedUid(wait.call)
    if (!must && !looksSealed(wait.terms) && !looksSealed(wait.resolution)) return wait
    const { id, terms, resolution } = wait
    return {
      ...wait,
      terms: this.#out(terms, ofWait(id, 'terms'), must),
      resolution: this.#out(resolution, ofWait(id, 'resolution'), must),
    }
  }

  openAttachment(found: AttachmentRecord): AttachmentRecord {
    const must = isSealedUid(found.id)
    if (!must && !isSealedBytes(found.data) && !looksSealed(found.name)) return found
    const data =
      must || isSealedBytes(found.data) ? this.#seal.openBytes(found.data, ofAttachment(found, 'data')) : found.data
    return { ...found, data, name: this.#out(found.name, ofAttachment(found, 'name'), must) }
  }

  openEvent(event: EventRecord): EventRecord {
    const text = textIn(event)
    if (text === null) return event
    // A payload is sealed as its JSON; plain, it need not be a text.
    if (typeof text !== 'string')
      return isSealedUid(event.call) ? withText(event, this.#out('', ofEvent(event), true)) : event
    const opened = this.#out(text, ofEvent(event), isSealedUid(event.call))
    if (opened === text) return event
    return withText(event, event.type === 'wait.announced' ? JSON.parse(opened) : opened)
  }

  #in<T extends string | null>(text: T, place: Place): T {
    return text === null ? text : (this.#seal.text(text, place) as T)
  }

  #out<T extends string | null>(text: T, place: Place, must: boolean): T {
    return text === null || !(must || isSealedText(text)) ? text : (this.#seal.openText(text, place) as T)
  }

  #call(call: CallRecord): CallRecord {
    const { uid, position, input, options } = call
    const own = { input: this.#in(input, ofInput(uid, position)), options: this.#in(options, ofCall(uid, 'options')) }
    // The same position object: stores tell by it that the guard means this call.
    return { ...call, ...this.#fields(uid, call), ...own }
  }

  #progress(uid: string, progress: CallProgress): CallProgress {
    return { ...progress, ...this.#fields(uid, progress) }
  }

  #fields(uid: string, { args, outcome, trouble }: CallProgress): Pick<CallProgress, 'args' | 'outcome' | 'trouble'> {
    return {
      args: this.#in(args, ofCall(uid, 'args')),
      outcome: this.#in(outcome, ofCall(uid, 'outcome')),
      trouble: this.#in(trouble, ofCall(uid, 'trouble')),
    }
  }

  #trouble(uid: string, { trouble }: CallProgress): Pick<CallProgress, 'trouble'> {
    return { trouble: this.#in(trouble, ofCall(uid, 'trouble')) }
  }

  #step(step: StepRecord): StepRecord {
    return {
      ...step,
      input: this.#in(step.input, ofStep(step, 'input')),
      value: this.#in(step.value, ofStep(step, 'value')),
    }
  }

  #wait(wait: WaitRecord): WaitRecord {
    const { id, terms, resolution } = wait
    return {
      ...wait,
      terms: this.#in(terms, ofWait(id, 'terms')),
      resolution: this.#in(resolution, ofWait(id, 'resolution')),
    }
  }

  #attachment(each: AttachmentRecord): AttachmentRecord {
    return {
      ...each,
      name: this.#in(each.name, ofAttachment(each, 'name')),
      data: this.#seal.bytes(each.data, ofAttachment(each, 'data')),
    }
  }

  #kept(each: ToKeep): ToKeep {
    return { ...each, value: this.#in(each.value, ofKept(each)) }
  }

  #event(event: NewEvent): NewEvent {
    const text = textIn(event)
    if (text === null) return event
    return withText(
      event,
      this.#in(event.type === 'wait.announced' ? JSON.stringify(text) : (text as string), ofEvent(event)),
    )
  }
}

/** What an event tells in words of its own: why a call is cancelled or decided about, what a wait announces. Null for the others. */
const textIn = (event: NewEvent): unknown =>
  event.type === 'call.cancelling'
    ? event.body.reason
    : event.type === 'decision.made'
      ? (event.body.reason ?? null)
      : event.type === 'wait.announced'
        ? event.body.payload
        : null
const withText = <T extends NewEvent>(event: T, text: unknown): T => ({
  ...event,
  body: { ...event.body, [event.type === 'wait.announced' ? 'payload' : 'reason']: text },
})
const ofEvent = ({ call, type }: NewEvent): Place => ofCall(call, type === 'wait.announced' ? 'announced' : 'reason')

const posesAsSealed = (event: NewEvent): boolean => {
  const text = textIn(event)
  return typeof text === 'string' && isSealedText(text)
}

/** A first look; what begins like this is sealed or broken. */
const looksSealed = (text: string | null): boolean => text !== null && isSealedText(text)
