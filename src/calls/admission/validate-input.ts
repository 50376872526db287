// Validates the arguments of a call: parse, before hooks, input schema, prepare. The body sees only valid input, in its
// recorded form. Once recorded, a later execution uses the record and runs none of these steps again.

import type { Execution, ToSettle } from '../../engine/engine.ts'
import type { CallTerms } from '../../store/records/call-record.ts'
import { failure } from '../../core/outcome.ts'
import { utf8Bytes, fits, type Sizes } from '../../core/size-limits.ts'
import { decode, encode, type Json } from '../../core/tool-value.ts'
import { chain, isThenable, type MaybePromise } from '../../core/maybe-promise.ts'
import { findCopiedMarks, mayHideFields, withoutReceived } from '../../tools/hidden-arguments.ts'
import { onCrashOf } from '../../tools/tool-hints.ts'
import type { CheckResult } from '../../tools/schema.ts'
import { schemaDigest } from '../../tools/schema-digest.ts'
import type { Prepared, Tool } from '../../tools/tool.ts'
import type { Toolset } from '../../tools/toolset.ts'
import {
  type ValidatedInput,
  RecordedInput,
  noPayload,
  argumentLimits,
  describeProblems,
  repairArguments,
  type ReadArguments,
  tooLargeMessage,
  withoutQuotedInput,
} from './read-arguments.ts'
import {
  runCallback,
  type StageContext,
  runContained,
  outcomeOfAbandoned,
  CallbackAbandoned,
} from '../run-host-callback.ts'
import { runCallbackInContext } from '../context/context-for-callbacks.ts'
import { notStarted } from '../attempts/outcome-when-stopped.ts'
import { complete } from '../attempts/complete-call.ts'
import { runBeforeHooks } from './run-hooks.ts'
import { outcomeOfThrown } from '../attempts/error-to-outcome.ts'
import { stepTooLarge } from '../context/steps.ts'
import { checkInvalidCallsBudget } from '../authorization/check-budget.ts'
import { stepKeys } from '../../store/journal-keys.ts'

/** Synchronous unless a hook, prepare or an asynchronous schema is involved. */
export function validateInput(stage: StageContext): MaybePromise<ValidatedInput | ToSettle> {
  const { execution, tool } = stage
  if (execution.args !== null) return inputFromRecord(stage, execution.args)
  const read = parseInput(stage)
  if ('settle' in read) return limitInvalidCalls(read, stage)
  if (tool.prepare || hasBeforeHooks(stage) || execution.recordedStep(stepKeys.prepare))
    return execution.runAtRisk(() => validateWithHooks(stage, read.input))
  return chain(checkSchema(stage, read.input), recordChecked, stage)
}

/** True if there are before hooks, or if a decision of one is recorded. */
const hasBeforeHooks = ({ execution, host }: StageContext): boolean =>
  host.hooks.some((hook) => hook.before) || execution.recordedStep(stepKeys.beforeHooks) !== null

const recordChecked = (checked: Validated | ToSettle, stage: StageContext): MaybePromise<ValidatedInput | ToSettle> =>
  'settle' in checked ? limitInvalidCalls(checked, stage) : recordInput(stage.execution, stage.tool, checked)

/** Hooks and prepare may change the arguments; changed arguments are validated again. */
async function validateWithHooks(stage: StageContext, input: Json): Promise<ValidatedInput | ToSettle> {
  const { execution, tool } = stage
  const final = await runHooksAndPrepare(stage, input)
  return 'settle' in final ? final : recordInput(execution, tool, final.validated, final.prepared)
}

/** Validates arguments that a person edited: hooks, schema and prepare run again on them. */
export async function validateEditedInput(
  stage: StageContext,
  input: Json,
  edit: number,
): Promise<ValidatedInput | ToSettle> {
  const final = await stage.execution.runAtRisk(() => runHooksAndPrepare(stage, input, stepKeys.editSuffix(edit)))
  // Another schema accepted the edit when the person made it.
  if ('settle' in final) return isInvalid(final) && isSchemaChanged(stage) ? toolChanged(stage.execution) : final
  const { wire } = final.validated
  stage.execution.approvals.amend(wire, {
    edited: edit,
    version: stage.tool.version as string,
    schema: schemaDigest(stage.tool.input),
    ...(final.prepared.ran ? { prepared: true } : {}),
  })
  return new RecordedInput(wire, final.prepared.payload)
}

async function runHooksAndPrepare(
  stage: StageContext,
  input: Json,
  suffix = '',
): Promise<{ validated: Validated; prepared: PreparedPayload } | ToSettle> {
  const { execution } = stage
  const hooked = await runBeforeHooks(stage, input, suffix)
  if ('settle' in hooked) return hooked
  const checked = await checkSchema(stage, hooked.input)
  if ('settle' in checked) return suffix === '' ? limitInvalidCalls(checked, stage) : checked
  // The call was stopped while the hooks ran: skip prepare.
  if (execution.stopped) return notStarted(execution.stopped)
  const prepared = await prepare(stage, checked.wire, suffix)
  if ('settle' in prepared) return prepared
  const final = prepared.input === undefined ? checked : await checkSchema(stage, prepared.input)
  return 'settle' in final ? final : { validated: final, prepared }
}

function recordInput(
  execution: Execution,
  tool: Tool,
  { args, wire }: Validated,
  prepared = notPrepared,
): MaybePromise<ValidatedInput> {
  const toInput = (text: string): ValidatedInput =>
    new RecordedInput(text, prepared.payload, text === wire && !prepared.ran ? args : undefined)
  return chain(execution.accept(wire, termsOf(tool, prepared.ran)), toInput)
}

const termsByTool = new WeakMap<Tool, string>()

/** The terms a recovery needs from the current definition. Cached per tool, except for prepared calls. */
function termsOf(tool: Tool, prepared: boolean): string {
  const cached = prepared ? undefined : termsByTool.get(tool)
  if (cached !== undefined) return cached
  const version = tool.version === undefined ? {} : { version: tool.version }
  const schema = schemaDigest(tool.input)
  const untold = tool.sensitive || mayHideFields(tool) ? { untold: true as const } : {}
  const terms: CallTerms = {
    onCrash: onCrashOf(tool),
    ...version,
    schema,
    ...(prepared ? { prepared: true } : {}),
    ...untold,
  }
  const text = JSON.stringify(terms)
  if (!prepared) termsByTool.set(tool, text)
  return text
}

/** The parsed input. If the model's text could not be parsed, the tool's `repair` is tried once. */
export function parseInput(stage: StageContext): { input: Json } | ToSettle {
  const { execution, tool, host } = stage
  const { raw, unreadable } = execution.options
  if (unreadable === undefined) return { input: decode(execution.request.input) }
  let read: ReadArguments = { ok: false, raw: raw ?? '', problem: unreadable }
  const { repair } = tool
  try {
    const limits = { ...argumentLimits, bytes: host.sizes.arguments }
    if (repair) read = repairArguments(raw ?? '', (text) => runContained('repair', stage, () => repair(text)), limits)
  } catch (error) {
    host.logger.error('`repair` failed; the arguments are refused', {
      tool: tool.name,
      callId: execution.callId,
      error,
    })
  }
  if (read.ok) return { input: decode(read.wire) }
  const problem = mayHideFields(tool, () => host.toolsets.toolsetFor(execution.request))
    ? withoutQuotedInput(read.problem)
    : read.problem
  return { settle: invalidArguments(`${problem}\nFix the arguments and call again.`) }
}

/** The output of the schema in its recorded form, as a value and as text. */
interface Validated {
  readonly args: Json
  readonly wire: string
}

export function checkSchema(stage: StageContext, input: Json): MaybePromise<Validated | ToSettle> {
  const { tool, host, execution } = stage
  const { sizes } = host
  const tools = (): Toolset => host.toolsets.toolsetFor(execution.request)
  const hidden = mayHideFields(tool, tools)
  try {
    const copied = hidden ? findCopiedMarks(tool, input, tools) : []
    if (copied.length > 0) return { settle: invalidArguments(describeProblems(copied)) }
    const checked = runCallback('An input schema', stage, () => tool.input.check(input))
    if (!isThenable(checked)) return encodeChecked(checked, sizes, hidden)
    return checked
      .then((found) => encodeChecked(found, sizes, hidden))
      .catch((error: unknown) => outcomeOfError(error, stage))
  } catch (error) {
    return outcomeOfError(error, stage)
  }
}

/** Throws if the output of the schema has no recorded form: that is a bug in the tool, not an error of the model. */
function encodeChecked(checked: CheckResult, sizes: Sizes, hidden: boolean): Validated | ToSettle {
  if (!checked.ok)
    return {
      settle: invalidArguments(describeProblems(hidden ? checked.problems.map(withoutReceived) : checked.problems)),
    }
  const wire = encode(checked.value)
  // Hooks, prepare or the schema may have made the arguments larger than the received ones.
  if (!fits(wire, sizes.arguments))
    return { settle: invalidArguments(`${tooLargeMessage(utf8Bytes(wire), sizes.arguments)}.`) }
  return { args: decode(wire), wire }
}

/** The end of the call after a schema, prepare or upgrade threw or timed out. */
function outcomeOfError(error: unknown, { execution, host }: StageContext): ToSettle {
  const end = error instanceof CallbackAbandoned ? outcomeOfAbandoned(error) : null
  return end ?? { settle: outcomeOfThrown(error, execution, host) }
}

const notPrepared = { payload: noPayload, ran: false }

interface PreparedPayload {
  readonly payload: string
  readonly ran: boolean
}

/** Runs the tool's `prepare` once and records its result. */
async function prepare(
  stage: StageContext,
  wire: string,
  suffix = '',
): Promise<({ input?: Json } & PreparedPayload) | ToSettle> {
  const { execution, tool, host } = stage
  const key = stepKeys.prepare + suffix
  // A recorded result is used even if the current definition has no prepare.
  if (!tool.prepare && !execution.recordedStep(key)) return notPrepared
  const run = tool.prepare as (input: Json, ctx: unknown) => Prepared | Promise<Prepared>
  try {
    const end = await execution.runStep({ key, input: null, once: false }, async () => {
      // A copy: prepare changes the arguments only by returning `input`.
      const result =
        (await runCallbackInContext('prepare', stage, (ctx) => run(decode(wire), ctx), { step: key })) ?? {}
      const done = encode('answer' in result ? { answer: result.answer ?? null } : result)
      if (!fits(done, host.sizes.step)) throw stepTooLarge('prepare', 'value', done, host)
      return { done }
    })
    const result = decode((end as { done: string }).done) as { input?: Json; payload?: Json; answer?: Json }
    if ('answer' in result)
      return await complete(stage, new RecordedInput(wire, noPayload), {
        settle: { status: 'success', value: result.answer ?? null },
      })
    return {
      ...(result.input === undefined ? {} : { input: result.input }),
      payload: encode(result.payload ?? null),
      ran: true,
    }
  } catch (error) {
    return outcomeOfError(error, stage)
  }
}

/**
 * Recorded arguments and payload for the current body. If the tool's version changed, `upgrade` converts them or the
 * call ends.
 */
async function inputFromRecord(stage: StageContext, args: string): Promise<ValidatedInput | ToSettle> {
  const { execution, tool } = stage
  const { version, prepared: wasPrepared, edited } = execution.terms ?? {}
  const suffix = edited === undefined ? '' : stepKeys.editSuffix(edited)
  const prepared = wasPrepared ? await prepare(stage, args, suffix) : { payload: noPayload }
  if ('settle' in prepared) return prepared
  // A call whose answer has arrived runs no body, so its arguments need no upgrade.
  if (version === tool.version || execution.landed) return new RecordedInput(args, prepared.payload)
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
    const upgradedArgs = await runCallback('upgrade', stage, () => upgrade({ args: decode(args), version }))
    const upgraded = await checkSchema(stage, decode(encode(upgradedArgs)))
    if ('settle' in upgraded) return isInvalid(upgraded) ? stop : upgraded
    return new RecordedInput(upgraded.wire, prepared.payload)
  } catch (error) {
    return outcomeOfError(error, stage)
  }
}

/** A record of an older version of Pawl has no digest and counts as changed: nothing says that it still fits. */
export const isSchemaChanged = ({ execution, tool }: StageContext): boolean =>
  execution.terms?.schema !== schemaDigest(tool.input)

/** The end of a call whose arguments the changed tool does not accept. */
export function toolChanged({ attempt }: Pick<Execution, 'attempt'>): ToSettle {
  const ran = attempt > 0 ? 'It was not run again: what it did before is not undone.' : 'It was not run.'
  const message = `The tool has changed since this was asked and no longer accepts these arguments. ${ran} Read its schema and call it again.`
  return { settle: failure({ class: 'unavailable', code: 'tool_changed', message }) }
}

/** Counts invalid arguments against the budget, which ends a model's loop of invalid calls. */
function limitInvalidCalls(invalid: ToSettle, stage: StageContext): MaybePromise<ToSettle> {
  if (!isInvalid(invalid)) return invalid
  return chain(checkInvalidCallsBudget(stage), (exceeded) => exceeded ?? invalid)
}

export const isInvalid = ({ settle }: ToSettle): boolean =>
  settle.status === 'failure' && settle.failure.class === 'invalid_request'

const invalidArguments = (message: string): ReturnType<typeof failure> =>
  failure({ class: 'invalid_request', code: 'invalid_arguments', message })
