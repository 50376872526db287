// Puts events into words when they are handed out (SESS-9): of a call from its record, of a model's answer from its message. Nothing of it is stored, so a
// reader gets the words of today, in the language that it asked for.

import { argumentLimits, readArguments } from '../calls/admission/read-arguments.ts'
import type { Narrator } from '../feed/feed.ts'
import type { CallOptions, CallRecord, CallTerms } from '../store/records/call-record.ts'
import type { EventRecord } from '../store/records/event.ts'
import { isTurn, messageName } from '../store/records/conversation.ts'
import { isSealedUid } from '../store/records/sealed-uid.ts'
import type { Outcome } from '../core/outcome.ts'
import { isThenable } from '../core/maybe-promise.ts'
import { decode, type Json, recorded } from '../core/value.ts'
import { callsIn, type CallPart, type Message } from '../models/message.ts'
import type { Redactor } from '../security/redact.ts'
import { isUnreadable } from '../security/seal.ts'
import type { Store } from '../store/store.ts'
import { shownArgs } from '../tools/hidden-fields.ts'
import {
  headline,
  renderNarration,
  type Narrated,
  type Told,
  type TellOf,
} from '../tools/narration/render-narration.ts'
import { hidden } from '../tools/narration/secret-fields.ts'
import type { Tool } from '../tools/tool.ts'
import type { Entry, Toolset } from '../tools/toolset.ts'
import { isSensitive } from './sensitive-tools.ts'

interface NarratorHost {
  readonly store: Pick<Store, 'call' | 'document'>
  readonly redact: Redactor
  /** All calls are sealed here: then it says nothing about one that it is. */
  readonly sealAll: boolean
  tools(tenant: string, session: string): Toolset
}

type CallEvent = Extract<
  EventRecord,
  { type: 'call.received' | 'call.started' | 'call.parked' | 'call.settled' | 'wait.opened' }
>

export function narrator(host: NarratorHost): Narrator {
  const clean = <T>(value: T): T => host.redact.deep(value)
  return async (event, locale) => {
    // A body that asks a person may wait inside, and is not parked then; who waits otherwise is.
    if (event.type === 'wait.opened' && event.body.asks !== 'question') return {}
    try {
      switch (event.type) {
        case 'wait.opened':
        case 'call.received':
        case 'call.started':
        case 'call.parked':
        case 'call.settled': {
          const narration = await ofCall(host, event, { locale, clean })
          return narration === null ? {} : { narration }
        }
        case 'turn.answered': {
          const said = await ofAnswer(host, event, { locale, clean })
          return said === '' ? {} : { headline: said }
        }
        default:
          return {}
      }
    } catch (error) {
      // Whoever asks for the call, or the message, hears why.
      if (!isUnreadable(error)) throw error
      return {}
    }
  }
}

type About = Pick<TellOf, 'locale' | 'clean'>

/** Null for what is no call of a tool, or was forgotten. */
async function ofCall(host: NarratorHost, event: CallEvent, about: About): Promise<string | null> {
  const call = await host.store.call(event.call)
  if (!call) return null
  const options = call.options === null ? {} : (JSON.parse(call.options) as CallOptions)
  const isChore = call.tool.startsWith('pawl:') && !options.absent
  if (isTurn(call) || isChore) return null
  const tools = host.tools(call.position.tenant, call.position.session)
  const entry = options.absent ? undefined : tools.recorded(call.tool)
  const tool: Narrated = entry ? narratedOf(entry) : { name: options.name ?? call.tool.replace(/@.*$/s, '') }
  const phase = phaseOf(event)
  if (mayHoldSecrets(host, call, options))
    return renderNarration({ ...tool, sensitive: true }, undefined, { ...about, phase })
  const value = phase === 'completed' && call.outcome !== null ? valueOf(call.outcome) : undefined
  const input = call.args === null ? undefined : shownIn(entry, call, decode(call.args), tools)
  return renderNarration(tool, input, { ...about, phase, ...(value === undefined ? {} : { value }) })
}

/** Sealed though not all are: because of its tool, or of what it runs under. Where all are, what runs under another may be either. */
const mayHoldSecrets = ({ sealAll }: NarratorHost, { uid }: CallRecord, { root, inTask, task }: CallOptions): boolean =>
  sealAll ? root !== undefined || inTask !== undefined || task !== undefined : isSealedUid(uid)

/** Arguments without what nobody may read; undefined where the contract is not here that would tell, and there is something to be told. */
function shownIn(
  entry: Entry | undefined,
  { terms }: Pick<CallRecord, 'terms'>,
  input: Json,
  tools: Toolset,
): Json | undefined {
  if (entry?.tool) return shownArgs(entry.tool, input, () => tools, hidden)
  return terms !== null && (JSON.parse(terms) as CallTerms).untold ? undefined : input
}

/** Words that nobody has accepted are shown to nobody (POL-9). */
const narratedOf = ({ name, sensitive, tool, remote }: Entry): Narrated =>
  remote?.held()
    ? { name, sensitive }
    : { name, sensitive, title: tool?.title ?? remote?.title, narrate: tool?.narrate }

function phaseOf(event: CallEvent): Told {
  if (event.type === 'call.parked' || event.type === 'wait.opened') return 'waiting'
  if (event.type !== 'call.settled') return 'started'
  const { status } = event.body
  return status === 'success' ? 'completed' : status === 'failure' ? 'failed' : status
}

function valueOf(outcome: string): Json | undefined {
  const ended = decode(outcome) as unknown as Outcome
  return ended.status === 'success' ? ended.value : undefined
}

async function ofAnswer(
  host: NarratorHost,
  event: Extract<EventRecord, { type: 'turn.answered' }>,
  about: About,
): Promise<string> {
  const { tenant, session, body } = event
  const kept = await host.store.document(messageName({ tenant, session }, body.message))
  const { message } = (kept ? decode(kept.value) : {}) as { message?: Message }
  if (message?.role !== 'assistant') return ''
  const tools = host.tools(tenant, session)
  return headline(
    callsIn(message).map((call) => ofPart(call, tools, about)),
    about.locale,
  )
}

/** Asked for, and perhaps not taken yet: arguments that its tool would not take are not put into its words. */
function ofPart({ name, input }: CallPart, tools: Toolset, about: About): string {
  const entry = tools.find(name)
  if (!entry) return renderNarration({ name }, undefined, { ...about, phase: 'started' })
  const read = readArguments(input, argumentLimits)
  const sensitive = isSensitive(entry, read, tools)
  const accepted = sensitive || !read.ok ? undefined : taken(entry.tool, read.wire)
  const given = accepted === undefined ? undefined : shownIn(entry, { terms: null }, accepted, tools)
  return renderNarration({ ...narratedOf(entry), sensitive }, given, { ...about, phase: 'started' })
}

/** Undefined too where the schema takes its time: nobody waits for it here. */
function taken(tool: Tool | undefined, wire: string): Json | undefined {
  try {
    const checked = tool?.input.check(decode(wire))
    if (isThenable(checked)) {
      Promise.resolve(checked).catch(() => {})
      return undefined
    }
    return checked?.ok ? recorded(checked.value as Json) : undefined
  } catch {
    return undefined
  }
}
