// Builds the record of a new call: its encoded input, its options, and the hash that identifies equal content.

import { hash } from 'node:crypto'
import { type ArgumentLimits, type ReadArguments, readArguments } from '../calls/admission/read-arguments.ts'
import { similarNames } from '../core/similar-names.ts'
import type { NewCall } from '../engine/engine.ts'
import { type CallOptions, type CallPosition } from '../store/records/call-record.ts'
import type { TaskTerms } from '../store/records/task-terms.ts'
import { canonicalText, contentText } from '../core/canonical-json.ts'
import { milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import { fits, utf8Bytes } from '../core/size-limits.ts'
import { messageTaskName, spawnName } from '../core/task-state.ts'
import { type Json, decode, parseJson } from '../core/tool-value.ts'
import type { Seal } from '../security/seal.ts'
import type { Timeouts } from '../tools/tool-options.ts'
import type { Owner } from '../tasks/ports.ts'
import { toolSearchTool } from '../tools/tool-search.ts'
import type { Entry, Toolset } from '../tools/toolset.ts'
import { type CallAsk, toTimeouts } from './call-request.ts'
import { absentTool, keyBatch } from '../store/journal-keys.ts'

export interface Caller extends Owner {
  /** The frame of the turn. */
  readonly frame?: string
}

/** Position of a call in its batch, and the calls it is nested in. */
interface BatchContext {
  readonly batch: string
  readonly order: number
  readonly line: string | null
  readonly stop: boolean
  readonly root: string | undefined
  readonly above: readonly string[] | undefined
  readonly turn: string | undefined
  readonly within?: readonly string[] | undefined
  /** Set if the call is a task. */
  readonly task?: TaskTerms | undefined
  /** Id of the task the call runs under. */
  readonly inTask?: string | undefined
}

export function buildRequest(
  call: CallAsk,
  entry: Entry | undefined,
  caller: Caller,
  context: { occurrence: number; byHost: boolean | undefined } & BatchContext,
  limits: ArgumentLimits,
  sealFor: (read: ReadArguments) => Seal | null,
): NewCall {
  const read = readArguments(call.input, limits)
  const seal = sealFor(read)
  const { idempotencyKey: key } = call
  const position: CallPosition =
    key === undefined
      ? {
          tenant: caller.tenant,
          session: caller.session,
          batch: context.batch,
          id: call.id,
          occurrence: context.occurrence,
        }
      : { tenant: caller.tenant, session: caller.session, batch: keyBatch, id: key, occurrence: 0 }
  const tool = entry?.keys[0] ?? absentTool
  const input = read.ok ? read.wire : 'null'
  const content = contentText(call.name, read.ok ? canonicalContent(read) : JSON.stringify(read.raw))
  return {
    position,
    principal: caller.principal,
    tool,
    input,
    // Hash of the canonical content: the same arguments with keys in another order are the same call.
    hash: seal ? seal.hash(content) : hash('sha256', content, 'base64url'),
    options: buildOptions(call, tool, read, context, caller, entryOptions(call.name, entry, context), limits.bytes),
    line: context.line,
    sealed: seal !== null,
  }
}

/**
 * A call whose tool was not found is marked `absent`: the worker that runs it must not look the name up again, because
 * it might equal the record key of another tool.
 */
function entryOptions(
  name: string,
  entry: Entry | undefined,
  { byHost, within }: Pick<BatchContext, 'within'> & { byHost: boolean | undefined },
): Pick<CallOptions, 'internal' | 'absent' | 'within'> {
  // Suggestions come only from the tools the turn has.
  if (entry === undefined) return { absent: true, ...(within ? { within: similarNames(name, within) } : {}) }
  // tool_search and task starts are limited to the tools of the turn, even on the worker that resumes the call.
  if (within && (entry.tool === toolSearchTool || entry.name === spawnName)) return { within }
  return byHost && entry.internal ? { internal: true } : {}
}

const canonicalContent = ({ wire, sorted }: { wire: string; sorted: boolean }): string =>
  sorted ? wire : canonicalText(wire)

function buildOptions(
  call: CallAsk,
  tool: string,
  read: ReadArguments,
  { batch, order, root, above, turn, stop, task, inTask }: BatchContext,
  { policy, unattended, frame }: Caller,
  terms: Pick<CallOptions, 'internal' | 'absent' | 'within'>,
  maxBytes: number,
): CallOptions | null {
  const options: { -readonly [K in keyof CallOptions]: CallOptions[K] } = { ...terms }
  if (tool !== call.name) options.name = call.name
  if (read.raw !== null) options.raw = read.raw
  if (!read.ok) options.unreadable = read.problem
  if (call.idempotencyKey !== undefined) options.callId = call.id
  if (call.idempotencyKey !== undefined && batch !== '') options.batch = batch
  if (call.meta !== undefined) options.meta = recordedMeta(call.meta, maxBytes)
  if (call.timeout !== undefined) options.timeout = timeoutsInMs(toTimeouts(call.timeout))
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

/** The recorded form of `meta`. Rejected before anything starts if it is too large. */
function recordedMeta(meta: Json, maxBytes: number): Json {
  const text = JSON.stringify(meta)
  if (!fits(text, maxBytes))
    throw new PawlError('call_invalid', `\`meta\` has ${utf8Bytes(text)} bytes; the limit is ${maxBytes}.`)
  return parseJson(text)
}

const timeoutsInMs = (timeouts: Timeouts): Record<string, number> =>
  Object.fromEntries(
    Object.entries(timeouts).map(([name, duration]) => [name, milliseconds(duration, `timeout.${name}`)]),
  )

/** Options that nested calls inherit: policy, unattended and frame. */
export const inheritedOptions = ({
  policy,
  unattended,
  frame,
}: CallOptions): Pick<Caller, 'policy' | 'unattended' | 'frame'> => ({
  ...(policy === undefined ? {} : { policy }),
  ...(unattended ? { unattended } : {}),
  ...(frame === undefined ? {} : { frame }),
})

/**
 * Whether a call is sealed at rest because a tool is sensitive: the called tool itself, or the tool of the task that the
 * call starts or messages.
 */
export function isSensitive(entry: Entry | undefined, read: ReadArguments, tools: Toolset): boolean {
  if (!entry || entry.sensitive) return entry !== undefined
  // The arguments do not say which tool the task runs: assume any sensitive background tool.
  if (entry.name === messageTaskName) return tools.entries.some(({ sensitive, tool }) => sensitive && tool?.background)
  if (entry.name !== spawnName) return false
  // The arguments are unreadable, so the tool is unknown: assume any sensitive tool.
  if (!read.ok) return tools.entries.some(({ sensitive }) => sensitive)
  const input = decode(read.wire)
  const { tool } = (typeof input === 'object' && input !== null ? input : {}) as { readonly tool?: unknown }
  return typeof tool === 'string' && tools.find(tool.trim())?.sensitive === true
}
