// Are the arguments ones the tool takes: read, hooked, validated, prepared (CALL-1, CALL-4, CALL-7, CALL-8). The body never sees invalid
// input, and always sees the recorded form: once accepted, a later execution uses what is on record and asks nobody again.

import type { Execution, ToSettle } from '../../engine/engine.ts'
import type { CallTerms } from '../../store/records/call-record.ts'
import { failure } from '../../core/outcome.ts'
import { bytesIn, fits, type Sizes } from '../../core/size-limits.ts'
import { decode, encode, type Json } from '../../core/value.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { copiedHidden, hides, untoldProblem } from '../../tools/hidden-fields.ts'
import { onCrashOf } from '../../tools/hints.ts'
import type { Checked } from '../../tools/schema.ts'
import type { Prepared, Tool } from '../../tools/tool.ts'
import type { Toolset } from '../../tools/toolset.ts'
import { type ValidatedInput, FromRecord, none } from './validated-input.ts'
import {
  argumentLimits,
  describeProblems,
  mended,
  type ReadArguments,
  tooLarge,
  untoldBreak,
} from './read-arguments.ts'
import { ask, type Asking, contained, endOf, Unanswered } from '../host-callback.ts'
import { askInContext } from '../context/callback-context.ts'
import { notStarted } from '../attempts/stop-outcome.ts'
import { finish } from '../attempts/complete.ts'
import { beforeHooks, hasBefore } from './run-hooks.ts'
import { settleThrown } from '../attempts/error-to-outcome.ts'
import { tooLarge as stepTooLarge } from '../context/run-step.ts'
import { stillInvalid } from '../authorization/check-budget.ts'

/** At once, unless somebody has to be asked. */
export function accept(asking: Asking): MaybePromise<ValidatedInput | ToSettle> {
  const { execution, tool } = asking
  if (execution.args !== null) return recordedOnes(asking, execution.args)
  const read = readable(asking)
  if ('settle' in read) return loopBound(read, asking)
  if (tool.prepare || hasBefore(asking) || execution.recorded(prepareKey))
    return execution.atRisk(() => askedAbout(asking, read.input))
  const checked = validated(asking, read.input)
  const finished = (final: Validated | ToSettle): MaybePromise<ValidatedInput | ToSettle> =>
    'settle' in final ? loopBound(final, asking) : recorded(execution, tool, final)
  return checked instanceof Promise ? checked.then(finished) : finished(checked)
}

/** The long way: hooks may change the arguments, and prepare too; what it changed is validated again. */
async function askedAbout(asking: Asking, input: Json): Promise<ValidatedInput | ToSettle> {
  const { execution, tool } = asking
  const final = await finalOf(asking, input)
  return 'settle' in final ? final : recorded(execution, tool, final.validated, final.prepared)
}

/** A person changed the arguments: whoever had a word about the model's has one about these. */
export async function acceptAgain(asking: Asking, input: Json, edit: number): Promise<ValidatedInput | ToSettle> {
  const final = await asking.execution.atRisk(() => finalOf(asking, input, again(edit)))
  if ('settle' in final) return final
  const { wire } = final.validated
  asking.execution.asks.amend(wire, {
    edited: edit,
    version: asking.tool.version as string,
    ...(final.prepared.said ? { prepared: true } : {}),
  })
  return new FromRecord(wire, final.prepared.payload)
}

const again = (edit: number): string => `:edit:${edit}`

async function finalOf(
  asking: Asking,
  input: Json,
  again = '',
): Promise<{ validated: Validated; prepared: Payload } | ToSettle> {
  const { execution } = asking
  const hooked = await beforeHooks(asking, input, again)
  if ('settle' in hooked) return hooked
  const checked = await validated(asking, hooked.input)
  if ('settle' in checked) return again === '' ? loopBound(checked, asking) : checked
  // What was told to stop while hooks were asked prepares nothing.
  if (execution.stopped) return notStarted(execution.stopped)
  const prepared = await prepare(asking, checked.wire, again)
  if ('settle' in prepared) return prepared
  const final = prepared.input === undefined ? checked : await validated(asking, prepared.input)
  return 'settle' in final ? final : { validated: final, prepared }
}

function recorded(
  execution: Execution,
  tool: Tool,
  { args, wire }: Validated,
  prepared = notPrepared,
): MaybePromise<ValidatedInput> {
  const given = (text: string): ValidatedInput =>
    new FromRecord(text, prepared.payload, text === wire && !prepared.said ? args : undefined)
  const text = execution.accept(wire, termsOf(tool, prepared.said))
  return text instanceof Promise ? text.then(given) : given(text)
}

const terms = new WeakMap<Tool, string>()

/** What a recovery must know of the tool as it is now; the same text for all its calls, but for those it prepared. */
function termsOf(tool: Tool, prepared: boolean): string {
  const known = prepared ? undefined : terms.get(tool)
  if (known !== undefined) return known
  const version = tool.version === undefined ? {} : { version: tool.version }
  const untold = tool.sensitive || hides(tool) ? { untold: true as const } : {}
  const own: CallTerms = { onCrash: onCrashOf(tool), ...version, ...(prepared ? { prepared: true } : {}), ...untold }
  const text = JSON.stringify(own)
  if (!prepared) terms.set(tool, text)
  return text
}

/** What the model wrote, if it can be read; a tool's `repair` may mend it once. */
function readable(asking: Asking): { input: Json } | ToSettle {
  const { execution, tool, host } = asking
  const { raw, unreadable } = execution.options
  if (unreadable === undefined) return { input: decode(execution.request.input) }
  let again: ReadArguments = { ok: false, raw: raw ?? '', problem: unreadable }
  const { repair } = tool
  try {
    const limits = { ...argumentLimits, bytes: host.sizes.arguments }
    if (repair) again = mended(raw ?? '', (text) => contained('repair', asking, () => repair(text)), limits)
  } catch (error) {
    host.logger.error('repair threw', { tool: tool.name, callId: execution.callId, error })
  }
  if (again.ok) return { input: decode(again.wire) }
  const problem = hides(tool, () => host.toolsOf(execution.request)) ? untoldBreak(again.problem) : again.problem
  return { settle: refused(`${problem}\nFix the arguments and call again.`) }
}

/** The schema's output, in its recorded form: as a value and as text. */
interface Validated {
  readonly args: Json
  readonly wire: string
}

function validated(asking: Asking, input: Json): MaybePromise<Validated | ToSettle> {
  const { tool, host, execution } = asking
  const { sizes } = host
  const tools = (): Toolset => host.toolsOf(execution.request)
  const hidden = hides(tool, tools)
  try {
    const copied = hidden ? copiedHidden(tool, input, tools) : []
    if (copied.length > 0) return { settle: refused(describeProblems(copied)) }
    const checked = ask('An input schema', asking, () => tool.input.check(input))
    return checked instanceof Promise
      ? checked.then((found) => judged(found, sizes, hidden)).catch((error: unknown) => ended(error, asking))
      : judged(checked, sizes, hidden)
  } catch (error) {
    return ended(error, asking)
  }
}

/** What a schema makes of arguments and has no recorded form is not the model's to mend: that throws. */
function judged(checked: Checked, sizes: Sizes, hidden: boolean): Validated | ToSettle {
  if (!checked.ok)
    return { settle: refused(describeProblems(hidden ? checked.problems.map(untoldProblem) : checked.problems)) }
  const wire = encode(checked.value)
  // Hooks, prepare and the schema itself may have made them larger than what was asked.
  if (!fits(wire, sizes.arguments)) return { settle: refused(`${tooLarge(bytesIn(wire), sizes.arguments)}.`) }
  return { args: decode(wire), wire }
}

/** A schema, prepare or upgrade threw or did not answer: how the call ends. */
function ended(error: unknown, { execution, host }: Asking): ToSettle {
  const end = error instanceof Unanswered ? endOf(error) : null
  return end ?? { settle: settleThrown(error, execution, host) }
}

const prepareKey = 'prepare'
const notPrepared = { payload: none, said: false }

interface Payload {
  readonly payload: string
  readonly said: boolean
}

/** Runs once; what it said is on record. */
async function prepare(asking: Asking, wire: string, again = ''): Promise<({ input?: Json } & Payload) | ToSettle> {
  const { execution, tool, host } = asking
  const key = prepareKey + again
  // What is on record holds, also for a tool that no longer prepares.
  if (!tool.prepare && !execution.recorded(key)) return notPrepared
  const run = tool.prepare as (input: Json, ctx: unknown) => Prepared | Promise<Prepared>
  try {
    const end = await execution.run({ key, input: null, once: false }, async () => {
      // Arguments of its own: what it does to them has to be said to count.
      const said = (await askInContext('prepare', asking, (ctx) => run(decode(wire), ctx), { step: key })) ?? {}
      const done = encode('answer' in said ? { answer: said.answer ?? null } : said)
      if (!fits(done, host.sizes.step)) throw stepTooLarge('prepare', 'value', done, host)
      return { done }
    })
    const said = decode((end as { done: string }).done) as { input?: Json; payload?: Json; answer?: Json }
    if ('answer' in said)
      return await finish(asking, new FromRecord(wire, none), {
        settle: { status: 'success', value: said.answer ?? null },
      })
    return {
      ...(said.input === undefined ? {} : { input: said.input }),
      payload: encode(said.payload ?? null),
      said: true,
    }
  } catch (error) {
    return ended(error, asking)
  }
}

/** CALL-7: recorded arguments and payload with the live body; a changed version upgrades them, or the call stops. */
async function recordedOnes(asking: Asking, args: string): Promise<ValidatedInput | ToSettle> {
  const { execution, tool } = asking
  const { version, prepared: said, edited } = execution.terms ?? {}
  const prepared = said ? await prepare(asking, args, edited === undefined ? '' : again(edited)) : { payload: none }
  if ('settle' in prepared) return prepared
  // A call whose answer has come runs no body: what its arguments would mean now is nothing to it.
  if (version === tool.version || execution.landed) return new FromRecord(args, prepared.payload)
  const change = `It was accepted under version ${version ?? 'none'} and the tool is now at ${tool.version ?? 'none'}`
  const stop = {
    settle: failure({
      class: 'unavailable',
      code: 'tool_changed',
      message: `The tool has changed since this was asked. ${change}.`,
    }),
  }
  const { upgrade } = tool
  if (!upgrade) return stop
  try {
    const better = await ask('upgrade', asking, () => upgrade({ args: decode(args), version }))
    const upgraded = await validated(asking, decode(encode(better)))
    if ('settle' in upgraded) return isInvalid(upgraded) ? stop : upgraded
    return new FromRecord(upgraded.wire, prepared.payload)
  } catch (error) {
    return ended(error, asking)
  }
}

/** The tool was defined anew while somebody was asked: what it does not take any more is not run, nor asked about. */
export async function stillTaken(asking: Asking, { args }: ValidatedInput): Promise<ToSettle | null> {
  const checked = await validated(asking, args)
  if (!('settle' in checked)) return null
  const message =
    'The tool has changed while this waited for a person, and does not take these arguments any more. It was not run: read its schema and ask again.'
  return isInvalid(checked) ? { settle: failure({ class: 'unavailable', code: 'tool_changed', message }) } : checked
}

/** A model that keeps sending arguments that are not valid is told to stop trying (POL-8). */
function loopBound(bad: ToSettle, asking: Asking): MaybePromise<ToSettle> {
  if (!isInvalid(bad)) return bad
  const over = stillInvalid(asking)
  return over instanceof Promise ? over.then((told) => told ?? bad) : (over ?? bad)
}

const isInvalid = ({ settle }: ToSettle): boolean =>
  settle.status === 'failure' && settle.failure.class === 'invalid_request'

const refused = (message: string): ReturnType<typeof failure> =>
  failure({ class: 'invalid_request', code: 'invalid_arguments', message })
