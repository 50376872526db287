// Adds narrations to events as the feed delivers them: from the call's record, or from the message of a model's
// answer. Narrations are not stored, so a reader gets the current wording in the requested language.

import { argumentLimits, readArguments } from '../calls/admission/read-arguments.ts'
import type { Narrator } from '../feed/event-feed.ts'
import {
  type CallOptions,
  type CallRecord,
  isSealedUid,
  parseCallOptions,
  parseCallTerms,
} from '../store/records/call-record.ts'
import type { EventRecord } from '../store/records/event.ts'
import { isTurn } from '../store/records/conversation.ts'
import type { Outcome } from '../core/outcome.ts'
import { isThenable } from '../core/maybe-promise.ts'
import { type Json, decode, toRecordedForm } from '../core/tool-value.ts'
import { type CallPart, type Message, callsIn } from '../models/message.ts'
import { isUnreadable } from '../security/seal.ts'
import type { Foundation } from '../engine/foundation.ts'
import { maskArgs } from '../tools/hidden-arguments.ts'
import {
  type NarratedTool,
  type NarrationOptions,
  type NarrationPhase,
  headline,
  renderNarration,
} from '../tools/narration/render-narration.ts'
import { hiddenValue } from '../tools/narration/secret-fields.ts'
import type { Tool } from '../tools/tool.ts'
import type { Entry, Toolset } from '../tools/toolset.ts'
import { isSensitive } from './build-call-request.ts'
import { collections } from '../store/collections.ts'
import { isReserved } from '../store/journal-keys.ts'

type NarratorHost = Pick<Foundation, 'store' | 'redact' | 'registry' | 'seal'>

type CallEvent = Extract<
  EventRecord,
  { type: 'call.received' | 'call.started' | 'call.parked' | 'call.settled' | 'wait.opened' }
>

export function narrator(host: NarratorHost): Narrator {
  const clean = <T>(value: T): T => host.redact.deep(value)
  return async (event, locale) => {
    // Only a question waits inside a running body; every other wait parks the call, and that event is narrated.
    if (event.type === 'wait.opened' && event.body.asks !== 'question') return {}
    try {
      switch (event.type) {
        case 'wait.opened':
        case 'call.received':
        case 'call.started':
        case 'call.parked':
        case 'call.settled': {
          const narration = await narrateCall(host, event, { locale, clean })
          return narration === null ? {} : { narration }
        }
        case 'turn.answered': {
          const text = await narrateAnswer(host, event, { locale, clean })
          return text === '' ? {} : { headline: text }
        }
        default:
          return {}
      }
    } catch (error) {
      // Reading the call or message itself reports the error.
      if (!isUnreadable(error)) throw error
      return {}
    }
  }
}

type NarrationContext = Pick<NarrationOptions, 'locale' | 'clean'>

/** Null for turns, internal calls and deleted calls. */
async function narrateCall(host: NarratorHost, event: CallEvent, about: NarrationContext): Promise<string | null> {
  const call = await host.store.call(event.call)
  if (!call) return null
  const options = parseCallOptions(call.options)
  const isInternal = isReserved(call.tool) && !options.absent
  if (isTurn(call) || isInternal) return null
  const tools = host.registry.toolsetFor(call.position.tenant, call.position.session)
  const entry = options.absent ? undefined : tools.findByKey(call.tool)
  const tool: NarratedTool = entry
    ? narrationOf(entry)
    : { name: host.redact.text(options.name ?? call.tool.replace(/@.*$/s, '')) }
  const phase = phaseOf(event)
  if (mayHoldSecrets(host, call, options))
    return renderNarration({ ...tool, sensitive: true }, undefined, { ...about, phase })
  const value = phase === 'completed' && call.outcome !== null ? valueOf(call.outcome) : undefined
  const input = call.args === null ? undefined : visibleArgs(entry, call, decode(call.args), tools)
  return renderNarration(tool, input, { ...about, phase, ...(value === undefined ? {} : { value }) })
}

/**
 * True if the call may be sealed because of its tool or its parent. If all calls are sealed anyway, true only for
 * nested calls and tasks.
 */
const mayHoldSecrets = ({ seal }: NarratorHost, { uid }: CallRecord, { root, inTask, task }: CallOptions): boolean =>
  // If all calls are sealed, a sealed call does not imply a sensitive tool.
  seal.all ? root !== undefined || inTask !== undefined || task !== undefined : isSealedUid(uid)

/** Arguments without hidden fields. Undefined if some fields are hidden and this runtime does not have the tool. */
function visibleArgs(
  entry: Entry | undefined,
  { terms }: Pick<CallRecord, 'terms'>,
  input: Json,
  tools: Toolset,
): Json | undefined {
  if (entry?.tool) return maskArgs(entry.tool, input, () => tools, hiddenValue)
  return terms !== null && parseCallTerms(terms).untold ? undefined : input
}

/** The texts of a quarantined definition are not used. */
const narrationOf = ({ name, sensitive, tool, remote }: Entry): NarratedTool =>
  remote?.quarantined()
    ? { name, sensitive }
    : { name, sensitive, title: tool?.title ?? remote?.title, narrate: tool?.narrate }

function phaseOf(event: CallEvent): NarrationPhase {
  if (event.type === 'call.parked' || event.type === 'wait.opened') return 'waiting'
  if (event.type !== 'call.settled') return 'started'
  const { status } = event.body
  return status === 'success' ? 'completed' : status === 'failure' ? 'failed' : status
}

function valueOf(outcome: string): Json | undefined {
  const decoded = decode(outcome) as unknown as Outcome
  return decoded.status === 'success' ? decoded.value : undefined
}

async function narrateAnswer(
  host: NarratorHost,
  event: Extract<EventRecord, { type: 'turn.answered' }>,
  about: NarrationContext,
): Promise<string> {
  const { tenant, session, body } = event
  const document = await host.store.document(collections.message.name({ tenant, session }, body.message))
  const { message } = (document ? decode(document.value) : {}) as { message?: Message }
  if (message?.role !== 'assistant') return ''
  const tools = host.registry.toolsetFor(tenant, session)
  return headline(
    callsIn(message).map((call) => narratePart(call, tools, about)),
    about.locale,
  )
}

/** Narrates a call a model requested. Arguments that the tool's schema rejects are not included. */
function narratePart({ name, input }: CallPart, tools: Toolset, about: NarrationContext): string {
  const entry = tools.find(name)
  if (!entry) return renderNarration({ name }, undefined, { ...about, phase: 'started' })
  const read = readArguments(input, argumentLimits)
  const sensitive = isSensitive(entry, read, tools)
  const validated = sensitive || !read.ok ? undefined : validateNow(entry.tool, read.wire)
  const visible = validated === undefined ? undefined : visibleArgs(entry, { terms: null }, validated, tools)
  return renderNarration({ ...narrationOf(entry), sensitive }, visible, { ...about, phase: 'started' })
}

/** Also undefined if the schema validates asynchronously: narration does not wait. */
function validateNow(tool: Tool | undefined, wire: string): Json | undefined {
  try {
    const checked = tool?.input.check(decode(wire))
    if (isThenable(checked)) {
      Promise.resolve(checked).catch(() => {})
      return undefined
    }
    return checked?.ok ? toRecordedForm(checked.value as Json) : undefined
  } catch {
    return undefined
  }
}
