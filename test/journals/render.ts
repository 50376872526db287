// Renders a recording as a golden journal: the changes of each call in order, and the values of each document in order.
// The order between calls is left out, because reordering independent calls is not a change of behaviour.

import { createHash } from 'node:crypto'
import type { CallPosition, CallRecord, StepRecord, WaitRecord } from '../../src/store/records/call-record.ts'
import type { NewEvent } from '../../src/store/records/event.ts'
import type { Change, Guard, DocumentName } from '../../src/store/store.ts'
import type { Entry, Recording } from './recorder.ts'

export const start = Date.UTC(2026, 0, 1)
const end = Date.UTC(2036, 0, 1)
/** The shape of the ids that scenarios inject (scenario.ts). */
const idShape = /\d{8}xid/g

type Plain = null | boolean | number | string | readonly Plain[] | { readonly [key: string]: Plain }
type Rows = Record<string, Plain[]>

export interface Journal {
  readonly calls: Rows
  readonly documents: Rows
  /** Changes that concern no call, by session. */
  readonly sessions: Rows
  readonly erasures: Plain[]
  /** The return value of the scenario. */
  readonly returned: Plain
}

const plain = (value: unknown): Plain => value as Plain
const given = (fields: object): Record<string, Plain> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** The handle of a turn adds `output: null` where none was requested. It is not recorded, so journals leave it out. */
const shownReturn = (returned: unknown): unknown =>
  returned === undefined
    ? undefined
    : JSON.parse(
        JSON.stringify(returned, (key, value: unknown) => (key === 'output' && value === null ? undefined : value)),
      )

export function render(recording: Recording, returned: unknown): Journal {
  const calls: Rows = {}
  const documents: Rows = {}
  const sessions: Rows = {}
  const erasures: Plain[] = []
  const progress = new Map<string, Record<string, unknown>>()
  /** One group per position, even if two workers inserted the call and one of them was rejected. */
  const groupOf = (uid: string): Plain[] => {
    const position = recording.positions.get(uid)
    return (calls[position ? positionText(position) : uid] ??= [])
  }
  for (const entry of recording.entries) {
    if (entry.kind === 'erase') {
      erasures.push(plain({ query: entry.query, answer: entry.answer }))
      continue
    }
    if (entry.kind === 'effect') {
      const { position, what, unwritten } = entry
      ;(calls[position] ??= []).push({ runs: what, ...(unwritten === 0 ? {} : { unwritten }) })
      continue
    }
    if (entry.kind === 'claim') {
      const { uid, fence, deaths } = entry
      groupOf(uid).push({ claim: fence, deaths })
      progress.set(uid, { ...progress.get(uid), deaths })
      continue
    }
    const subject = subjectOf(entry.change, recording)
    const change = renderChange(entry, subject, progress)
    if (subject !== null) groupOf(subject).push(change)
    else (sessions[sessionOf(entry.change)] ??= []).push(change)
    for (const { value, secret, ...name } of entry.change.documents ?? []) {
      const row = given({ by: subject ?? undefined, secret, value: value === null ? null : parsed(value) })
      ;(documents[documentKey(name)] ??= []).push(entry.answer === 'ok' ? row : { ...row, answer: entry.answer })
    }
  }
  return named({ calls, documents, sessions, erasures, returned: plain(shownReturn(returned) ?? null) }, recording)
}

/** The uid of the call that a change belongs to. */
function subjectOf(change: Change, { waits }: Recording): string | null {
  const {
    insertCall,
    updateCall,
    steps,
    insertWaits,
    resolveWait,
    takeSlots,
    queueForSlot,
    releaseSlots,
    guards,
    events,
  } = change
  const guarded = guards.find((guard) => 'call' in guard)
  return (
    insertCall?.uid ??
    updateCall?.uid ??
    steps?.[0]?.call ??
    insertWaits?.[0]?.call ??
    (resolveWait && waits.get(resolveWait.id)?.call) ??
    (guarded && 'call' in guarded ? guarded.call : undefined) ??
    (events.find(({ call }) => call !== '')?.call || undefined) ??
    takeSlots?.holder ??
    queueForSlot?.holder ??
    releaseSlots?.holder ??
    null
  )
}

function sessionOf({ documents = [], events, guards }: Change): string {
  const [first] = [...documents, ...events, ...guards.filter((guard) => guard.kind === 'kept')]
  return first ? `${first.tenant}/${first.session}` : '/'
}

/** The key of a token is the hash of random bytes. */
const documentKey = ({ of, tenant, session, key }: DocumentName): string =>
  `${of} ${tenant}/${session}/${of === 'token' ? '<hash>' : key}`

function renderChange(
  { change, answer }: Entry & { kind: 'change' },
  subject: string | null,
  progress: Map<string, object>,
): Plain {
  const {
    insertCall,
    updateCall,
    takeSlots,
    queueForSlot,
    releaseSlots,
    steps,
    insertWaits,
    resolveWait,
    attachments,
    uses,
    documents,
    guards,
    events,
    ...rest
  } = change
  return given({
    guards: guards.length > 0 ? guards.map((guard) => guardText(guard, subject)) : undefined,
    insert: insertCall && inserted(insertCall, progress),
    update: updateCall && moved(updateCall, subject, progress),
    take: takeSlots && { worker: takeSlots.worker, places: takeSlots.slots, holder: own(takeSlots.holder, subject) },
    line: queueForSlot && { ...queueForSlot, holder: own(queueForSlot.holder, subject) },
    give: releaseSlots && { ...releaseSlots, holder: own(releaseSlots.holder, subject) },
    steps: steps?.map((step) => renderStep(step, subject)),
    waits: insertWaits?.map((wait) => renderWait(wait, subject)),
    resolve: resolveWait && { wait: resolveWait.id, resolution: parsed(resolveWait.resolution) },
    attachments: attachments?.map(({ data, ...about }) => ({ ...about, bytes: data.length })),
    uses: uses?.map((use) => ({ ...use, call: own(use.call, subject) })),
    keep: documents?.map(({ value, ...name }) => `${value === null ? 'delete' : 'put'} ${documentKey(name)}`),
    events: events.length > 0 ? events.map((event) => renderEvent(event, subject)) : undefined,
    ...rest,
    answer: answer === 'ok' ? undefined : answer,
  })
}

const own = (call: string, subject: string | null): string | undefined => (call === subject ? undefined : call)

function guardText(guard: Guard, subject: string | null): string {
  switch (guard.kind) {
    case 'absent':
      return `absent ${positionText(guard.position)}`
    case 'holds':
    case 'held':
      return `${guard.kind} ${own(guard.call, subject) ?? 'it'} ${guard.fence}`
    case 'unsettled':
      return `unsettled ${own(guard.call, subject) ?? 'it'}`
    case 'open':
      return `open ${guard.wait}`
    case 'kept':
      return `kept ${documentKey(guard)} ${guard.revision}`
    case 'room':
      return `room ${guard.name}`
  }
}

const parsedFields = ['options', 'args', 'terms', 'outcome', 'input', 'value', 'resolution']
const parsedIn = (record: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name,
      parsedFields.includes(name) && typeof value === 'string' ? parsed(value) : value,
    ]),
  )

function inserted(call: CallRecord, progress: Map<string, object>): object {
  const { position, uid, ...rest } = parsedIn(call)
  progress.set(uid as string, rest)
  return {
    position: positionText(position as CallPosition),
    ...Object.fromEntries(Object.entries(rest).filter(([, v]) => v !== null)),
  }
}

/** Progress is written as a whole; only changed fields are shown. */
function moved(
  { uid, progress: next, release }: NonNullable<Change['updateCall']>,
  subject: string | null,
  progress: Map<string, object>,
): object {
  const before = (progress.get(uid) ?? {}) as Record<string, unknown>
  const now = parsedIn(next)
  progress.set(uid, { ...before, ...now })
  const changed = Object.entries(now).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]))
  return given({ call: own(uid, subject), ...Object.fromEntries(changed), release })
}

const renderStep = ({ call, ...step }: StepRecord, subject: string | null): object =>
  given({ call: own(call, subject), ...parsedIn(step) })

/** Leaves out the random salt, and the key hash derived from it. */
const renderWait = ({ call, salt: _salt, keyHash: _hash, ...wait }: WaitRecord, subject: string | null): object =>
  given({ call: own(call, subject), ...parsedIn(wait) })

const renderEvent = ({ type, tenant, session, call, at, body }: NewEvent, subject: string | null): object => ({
  [type]: body,
  at,
  ...(call === subject ? {} : { of: `${tenant}/${session}/${call}` }),
})

const positionText = ({ tenant, session, batch, id, occurrence }: CallPosition): string =>
  `${tenant === 'default' ? '' : `${tenant}:`}${session}/${batch}/${id}#${occurrence}`

function parsed(text: string): unknown {
  if (text.startsWith('~1.')) return '<sealed>'
  try {
    return JSON.parse(text) as unknown
  } catch {
    return { text }
  }
}

/** Replaces ids by names, and timestamps by the time since the start. */
function named(
  { calls, documents, sessions, erasures, returned }: Journal,
  { positions, waits, workers }: Recording,
): Journal {
  const names = new Map<string, string>()
  for (const [index, id] of workers.entries()) names.set(id, `<worker ${index + 1}>`)
  let others = 0
  const nameOf = (id: string): string => {
    const known = names.get(id)
    if (known !== undefined) return known
    const position = positions.get(id)
    const wait = waits.get(id)
    const name = position
      ? `<call ${text(positionText(position))}>`
      : wait
        ? `<wait ${wait.name || 'of'} ${nameOf(wait.call)}>`
        : `<id ${++others}>`
    names.set(id, name)
    return name
  }
  const text = (value: string): string => value.replace(idShape, (id) => nameOf(id))
  const walk = (value: unknown): Plain => {
    if (typeof value === 'number') return value >= start && value < end ? `t+${value - start}` : value
    if (typeof value === 'string') {
      const inner = value.length > 80 && /^[[{]/.test(value) ? parsed(value) : undefined
      if (inner !== undefined && typeof inner === 'object' && !('text' in (inner as object)))
        return { '<json>': walk(inner) }
      return value.startsWith('~1.') ? '<sealed>' : shortened(text(value))
    }
    if (value instanceof Uint8Array) return `<${value.length} bytes>`
    if (Array.isArray(value)) return value.map((each) => walk(each))
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(given(value)).map(([key, each]) => [text(key), walk(each)]))
    return plain(value)
  }
  const sorted = (rows: Rows): Rows => {
    const groups = Object.entries(rows).toSorted(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(groups.map(([raw, entries]) => [text(raw), entries.map((each) => walk(each))]))
  }
  return {
    calls: sorted(calls),
    documents: sorted(documents),
    sessions: sorted(sessions),
    erasures: erasures.map((each) => walk(each)),
    returned: walk(returned),
  }
}

const longest = 600
const shortened = (text: string): string =>
  text.length <= longest
    ? text
    : `${text.slice(0, 40)}<${text.length} characters, ${createHash('sha256').update(text).digest('hex').slice(0, 16)}>`

/** Prints JSON with small objects on one line and longer strings on their own lines. */
export function print(value: unknown, indent = ''): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const line = JSON.stringify(value)
  if (line.length + indent.length <= 110 && !hasText(value)) return line
  const inner = `${indent} `
  if (Array.isArray(value)) return `[\n${value.map((each) => inner + print(each, inner)).join(',\n')}\n${indent}]`
  const fields = Object.entries(value).map(([key, each]) => `${inner}${JSON.stringify(key)}: ${print(each, inner)}`)
  return fields.length === 0 ? '{}' : `{\n${fields.join(',\n')}\n${indent}}`
}

const textFields = ['message', 'text', 'reason', 'summary', 'description', 'title', 'note']
function hasText(value: object): boolean {
  return Object.entries(value).some(([key, each]) =>
    typeof each === 'object' && each !== null
      ? hasText(each as object)
      : textFields.includes(key) && typeof each === 'string',
  )
}
