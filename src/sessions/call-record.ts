// A call as it goes on record: its input in recorded form, what came with it, and the hash by which it is known again.

import { hash } from 'node:crypto'
import { type ArgumentLimits, type ReadArguments, readArguments } from '../calls/admission/read-arguments.ts'
import { closeNames } from '../core/similar-names.ts'
import { contentText } from '../engine/call-content.ts'
import type { Asked } from '../engine/engine.ts'
import { absentTool, type CallOptions, type CallPosition } from '../store/records/call-record.ts'
import type { TaskTerms } from '../store/records/task-terms.ts'
import { canonical } from '../core/canonical-json.ts'
import { milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import { bytesIn, fits } from '../core/size-limits.ts'
import { spawnName } from '../core/task-state.ts'
import type { Json } from '../core/value.ts'
import type { Seal } from '../security/seal.ts'
import type { Timeouts } from '../tools/tool-options.ts'
import { toolSearchTool } from '../tools/tool-search.ts'
import type { Entry } from '../tools/toolset.ts'
import { type CallAsk, clockValues, keyBatch } from './call-request.ts'

export interface Place {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
  /** The session's own rules, as data. */
  readonly policy?: unknown
  readonly unattended?: true
  /** The turn that tasks belong to which a body starts. */
  readonly turn?: string
  /** The frame that turn works in. */
  readonly frame?: string
}

/** Where in its batch a call stands, and under what. */
interface Around {
  readonly batch: string
  readonly order: number
  readonly line: string | null
  readonly stop: boolean
  readonly root: string | undefined
  readonly above: readonly string[] | undefined
  readonly turn: string | undefined
  readonly within?: readonly string[] | undefined
  /** It is a task. */
  readonly task?: TaskTerms | undefined
  /** The task that it runs under. */
  readonly inTask?: string | undefined
}

export function askedOf(
  call: CallAsk,
  entry: Entry | undefined,
  place: Place,
  at: { occurrence: number; byHost: boolean | undefined } & Around,
  limits: ArgumentLimits,
  sealFor: (read: ReadArguments) => Seal | null,
): Asked {
  const read = readArguments(call.input, limits)
  const seal = sealFor(read)
  const { idempotencyKey: key } = call
  const position: CallPosition =
    key === undefined
      ? { tenant: place.tenant, session: place.session, batch: at.batch, id: call.id, occurrence: at.occurrence }
      : { tenant: place.tenant, session: place.session, batch: keyBatch, id: key, occurrence: 0 }
  const tool = entry?.keys[0] ?? absentTool
  const input = read.ok ? read.wire : 'null'
  const content = contentText(call.name, read.ok ? contentOf(read) : JSON.stringify(read.raw))
  return {
    position,
    principal: place.principal,
    tool,
    input,
    // Of the content, not of the text: the same arguments in another order of keys are the same call.
    hash: seal ? seal.hash(content) : hash('sha256', content, 'base64url'),
    options: optionsOf(call, tool, read, at, place, entryTerms(call.name, entry, at), limits.bytes),
    line: at.line,
    sealed: seal !== null,
  }
}

/** A name that nothing goes by is not looked up again by whoever runs the call: there it might be what a record calls another's tool. */
function entryTerms(
  name: string,
  entry: Entry | undefined,
  { byHost, within }: Pick<Around, 'within'> & { byHost: boolean | undefined },
): Pick<CallOptions, 'internal' | 'absent' | 'within'> {
  // What it may have meant instead is one of those that it has.
  if (entry === undefined) return { absent: true, ...(within ? { within: closeNames(name, within) } : {}) }
  // Whoever goes on with it looks through the same, and starts no others.
  if (within && (entry.tool === toolSearchTool || entry.name === spawnName)) return { within }
  return byHost && entry.internal ? { internal: true } : {}
}

const contentOf = ({ wire, sorted }: { wire: string; sorted: boolean }): string =>
  sorted ? wire : canonical(JSON.parse(wire) as Json)

function optionsOf(
  call: CallAsk,
  tool: string,
  read: ReadArguments,
  { batch, order, root, above, turn, stop, task, inTask }: Around,
  { policy, unattended, frame }: Place,
  terms: Pick<CallOptions, 'internal' | 'absent' | 'within'>,
  mostBytes: number,
): CallOptions | null {
  const options: { -readonly [K in keyof CallOptions]: CallOptions[K] } = { ...terms }
  if (tool !== call.name) options.name = call.name
  if (read.raw !== null) options.raw = read.raw
  if (!read.ok) options.unreadable = read.problem
  if (call.idempotencyKey !== undefined) options.callId = call.id
  if (call.idempotencyKey !== undefined && batch !== '') options.batch = batch
  if (call.meta !== undefined) options.meta = metaOf(call.meta, mostBytes)
  if (call.timeout !== undefined) options.timeout = inMs(clockValues(call.timeout))
  if (call.deadline !== undefined) options.deadline = Number(call.deadline)
  if (order !== 0) options.order = order
  if (stop) options.stop = true
  if (turn !== undefined) options.turn = turn
  if (frame !== undefined) options.frame = frame
  if (root !== undefined) options.root = root
  if (task !== undefined) options.task = task
  if (inTask !== undefined) options.inTask = inTask
  if (above !== undefined) options.above = above
  if (policy !== undefined) options.policy = policy
  if (unattended) options.unattended = true
  for (const _ in options) return options
  return null
}

/** As it goes on record. What cannot is refused before anything starts. */
function metaOf(meta: Json, most: number): Json {
  const text = JSON.stringify(meta)
  if (!fits(text, most))
    throw new PawlError('call_invalid', `Its meta has ${bytesIn(text)} bytes; at most ${most} are kept.`)
  return JSON.parse(text) as Json
}

const inMs = (clocks: Timeouts): Record<string, number> =>
  Object.fromEntries(
    Object.entries(clocks).map(([name, duration]) => [name, milliseconds(duration, `timeout.${name}`)]),
  )

/** What holds for a call about people holds for those it makes; and they are of the same frame. */
export const askingOf = ({
  policy,
  unattended,
  frame,
}: CallOptions): Pick<Place, 'policy' | 'unattended' | 'frame'> => ({
  ...(policy === undefined ? {} : { policy }),
  ...(unattended ? { unattended } : {}),
  ...(frame === undefined ? {} : { frame }),
})
