// Are the arguments ones the tool takes: read, hooked, validated, prepared (CALL-1, CALL-4, CALL-7, CALL-8). The body never sees invalid
// input, and always sees the recorded form: once accepted, a later execution uses what is on record and asks nobody again.

import type { Invocation, ToSettle } from '../engine/engine.ts'
import type { CallTerms } from '../journal/call-state.ts'
import { PawlError } from '../kernel/errors.ts'
import { failure } from '../kernel/outcome.ts'
import { decode, encode, type Json } from '../kernel/value.ts'
import type { Soon } from '../kernel/soon.ts'
import { onCrashOf } from '../tool/hints.ts'
import type { Checked } from '../tool/schema.ts'
import type { Prepared, Tool } from '../tool/tool.ts'
import { describeProblems, mended, type ReadArguments } from './arguments.ts'
import { inContext } from './context.ts'
import { beforeHooks, hasBefore } from './hooks.ts'
import type { CallHost } from './host.ts'
import { scope } from './scope.ts'
import { settleThrown } from './settle.ts'

export interface Accepted {
  readonly args: Json
  readonly prepared: Json
  /** The same from the record: a body may do to what it is given whatever it likes. */
  anew(): Accepted
}

const none = 'null'

class FromRecord implements Accepted {
  readonly args: Json
  readonly prepared: Json
  readonly #args: string
  readonly #prepared: string

  /** `value`: what the text of the arguments stands for, where it is at hand and nobody else has it. */
  constructor(args: string, prepared: string, value?: Json) {
    this.#args = args
    this.#prepared = prepared
    this.args = value ?? decode(args)
    this.prepared = prepared === none ? null : decode(prepared)
  }

  anew(): Accepted {
    return new FromRecord(this.#args, this.#prepared)
  }
}

/** At once, unless somebody has to be asked. */
export function accept(invocation: Invocation, tool: Tool, host: CallHost): Soon<Accepted | ToSettle> {
  if (invocation.args !== null) return recordedOnes(invocation, tool, host)
  const read = readable(invocation, tool, host)
  if ('settle' in read) return loopBound(read, invocation, host)
  if (tool.prepare || hasBefore(invocation, host) || invocation.recorded(prepareKey)) return askedAbout(invocation, tool, read.input, host)
  const checked = validated(tool, read.input)
  const finish = (final: Validated | ToSettle): Soon<Accepted | ToSettle> =>
    'settle' in final ? loopBound(final, invocation, host) : recorded(invocation, tool, final)
  return checked instanceof Promise ? checked.then(finish) : finish(checked)
}

/** The long way: hooks may change the arguments, and prepare too; what it changed is validated again. */
async function askedAbout(invocation: Invocation, tool: Tool, input: Json, host: CallHost): Promise<Accepted | ToSettle> {
  const hooked = await beforeHooks(invocation, tool, input, host)
  if ('settle' in hooked) return hooked
  const checked = await validated(tool, hooked.input)
  if ('settle' in checked) return loopBound(checked, invocation, host)
  const prepared = await prepare(invocation, tool, checked.args, host)
  if ('settle' in prepared) return prepared
  const final = prepared.input === undefined ? checked : await validated(tool, prepared.input)
  return 'settle' in final ? final : recorded(invocation, tool, final, prepared)
}

function recorded(invocation: Invocation, tool: Tool, { args, wire }: Validated, prepared = notPrepared): Soon<Accepted> {
  const given = (text: string): Accepted => new FromRecord(text, prepared.payload, text === wire && !prepared.said ? args : undefined)
  const text = invocation.accept(wire, termsOf(tool, prepared.said))
  return text instanceof Promise ? text.then(given) : given(text)
}

const terms = new WeakMap<Tool, string>()

/** What a recovery must know of the tool as it is now; the same text for all its calls, but for those it prepared. */
function termsOf(tool: Tool, prepared: boolean): string {
  const known = prepared ? undefined : terms.get(tool)
  if (known !== undefined) return known
  const version = tool.version === undefined ? {} : { version: tool.version }
  const own: CallTerms = { onCrash: onCrashOf(tool), ...version, ...(prepared ? { prepared: true } : {}) }
  const text = JSON.stringify(own)
  if (!prepared) terms.set(tool, text)
  return text
}

/** What the model wrote, if it can be read; a tool's `repair` may mend it once. */
function readable(invocation: Invocation, tool: Tool, host: CallHost): { input: Json } | ToSettle {
  const { raw, unreadable } = invocation.options
  if (unreadable === undefined) return { input: decode(invocation.request.input) }
  let again: ReadArguments = { ok: false, raw: raw ?? '', problem: unreadable }
  try {
    if (tool.repair) again = mended(raw ?? '', tool.repair)
  } catch (error) {
    host.logger.error('repair threw', { tool: tool.name, callId: invocation.callId, error })
  }
  return again.ok ? { input: decode(again.wire) } : { settle: refused(`${again.problem}\nFix the arguments and call again.`) }
}

/** The schema's output, in its recorded form: as a value and as text. */
interface Validated {
  readonly args: Json
  readonly wire: string
}

function validated(tool: Tool, input: Json): Soon<Validated | ToSettle> {
  const checked = tool.input.check(input)
  return checked instanceof Promise ? checked.then(judged) : judged(checked)
}

function judged(checked: Checked): Validated | ToSettle {
  if (!checked.ok) return { settle: refused(describeProblems(checked.problems)) }
  try {
    const wire = encode(checked.value)
    return { args: decode(wire), wire }
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    return { settle: refused(describeProblems([{ path: error.details.path as string, message: error.message }])) }
  }
}

const prepareKey = 'prepare'
const notPrepared = { payload: none, said: false }

/** Runs once; what it said is on record. */
async function prepare(
  invocation: Invocation,
  tool: Tool,
  args: Json,
  host: CallHost,
): Promise<{ input?: Json; payload: string; said: boolean } | ToSettle> {
  // What is on record holds, also for a tool that no longer prepares.
  if (!tool.prepare && !invocation.recorded(prepareKey)) return notPrepared
  const run = tool.prepare as (input: Json, ctx: unknown) => Prepared | Promise<Prepared>
  try {
    const about = { tool: tool.name, callId: invocation.callId, call: invocation.request.uid, logger: host.logger, step: 'prepare' }
    const end = await invocation.run({ key: prepareKey, input: null, once: false }, async () => ({
      done: encode((await inContext(invocation, tool, host, (ctx) => scope.run(about, async () => run(args, ctx)))) ?? {}),
    }))
    const said = decode((end as { done: string }).done) as { input?: Json; payload?: Json; answer?: Json }
    if ('answer' in said) return { settle: { status: 'success', value: said.answer ?? null } }
    return { ...(said.input === undefined ? {} : { input: said.input }), payload: encode(said.payload ?? null), said: true }
  } catch (error) {
    return { settle: settleThrown(error, invocation, host) }
  }
}

/** CALL-7: recorded arguments and payload with the live body; a changed version upgrades them, or the call stops. */
async function recordedOnes(invocation: Invocation, tool: Tool, host: CallHost): Promise<Accepted | ToSettle> {
  const args = invocation.args as string
  const { version, prepared: said } = invocation.terms ?? {}
  const prepared = said ? await prepare(invocation, tool, decode(args), host) : { payload: none }
  if ('settle' in prepared) return prepared
  // An answer that has come needs no body, so it does not matter what that has become.
  if (version === tool.version || invocation.landed) return new FromRecord(args, prepared.payload)
  const change = `It was accepted under version ${version ?? 'none'} and the tool is now at ${tool.version ?? 'none'}`
  const stop = {
    settle: failure({ class: 'unavailable', code: 'tool_changed', message: `The tool has changed since this was asked. ${change}.` }),
  }
  if (!tool.upgrade) return stop
  try {
    const upgraded = await validated(tool, decode(encode(await tool.upgrade({ args: decode(args), version }))))
    return 'settle' in upgraded ? stop : new FromRecord(upgraded.wire, prepared.payload)
  } catch (error) {
    return { settle: settleThrown(error, invocation, host) }
  }
}

/** A model that keeps sending arguments that are not valid is told to stop trying (POL-8). */
async function loopBound(bad: ToSettle, invocation: Invocation, host: CallHost): Promise<ToSettle> {
  const over = await host.usage.invalid(invocation.request)
  return over ? { settle: failure({ class: 'resource_limit', code: 'over_budget', message: over.message, source: 'policy' }) } : bad
}

const refused = (message: string): ReturnType<typeof failure> => failure({ class: 'invalid_request', code: 'invalid_arguments', message })
