// Are the arguments ones the tool takes: read, hooked, validated, prepared (CALL-1, CALL-4, CALL-7, CALL-8). The body never sees invalid
// input, and always sees the recorded form: once accepted, a later execution uses what is on record and asks nobody again.

import type { Invocation, ToSettle } from '../engine/engine.ts'
import { PawlError } from '../kernel/errors.ts'
import { failure } from '../kernel/outcome.ts'
import { bytesIn, fits } from '../kernel/sizes.ts'
import { decode, encode, type Json } from '../kernel/value.ts'
import { onCrashOf } from '../tool/hints.ts'
import type { Prepared, Tool } from '../tool/tool.ts'
import { argumentLimits, describeProblems, mended, type ReadArguments, tooLarge } from './arguments.ts'
import { contextOf } from './context.ts'
import { beforeHooks } from './hooks.ts'
import type { CallHost } from './host.ts'
import { scope } from './scope.ts'
import { settleThrown } from './settle.ts'
import { tooLarge as stepTooLarge } from './step.ts'

export interface Accepted {
  readonly args: Json
  readonly prepared: Json
}

export async function accept(invocation: Invocation, tool: Tool, host: CallHost): Promise<Accepted | ToSettle> {
  if (invocation.args !== null) return recordedOnes(invocation, tool, host)
  const read = readable(invocation, tool, host)
  if ('settle' in read) return read
  const hooked = await beforeHooks(invocation, read.input, host)
  if ('settle' in hooked) return hooked
  const checked = await validated(tool, hooked.input, host)
  if ('settle' in checked) return loopBound(checked, invocation, host)
  const prepared = await prepare(invocation, tool, checked.args, host)
  if ('settle' in prepared) return prepared
  const final = prepared.input === undefined ? checked : await validated(tool, prepared.input, host)
  if ('settle' in final) return final
  const terms = { onCrash: onCrashOf(tool), ...(tool.version === undefined ? {} : { version: tool.version }) }
  return { args: decode(await invocation.accept(encode(final.args), terms)), prepared: prepared.payload }
}

/** What the model wrote, if it can be read; a tool's `repair` may mend it once. */
function readable(invocation: Invocation, tool: Tool, host: CallHost): { input: Json } | ToSettle {
  const { raw, unreadable } = invocation.options
  if (unreadable === undefined) return { input: decode(invocation.request.input) }
  let again: ReadArguments = { ok: false, raw: raw ?? '', problem: unreadable }
  try {
    if (tool.repair) again = mended(raw ?? '', tool.repair, { ...argumentLimits, bytes: host.sizes.arguments })
  } catch (error) {
    host.logger.error('repair threw', { tool: tool.name, callId: invocation.callId, error })
  }
  return again.ok ? { input: decode(again.wire) } : { settle: refused(`${again.problem}\nFix the arguments and call again.`) }
}

/** The schema's output, in its recorded form. */
async function validated(tool: Tool, input: Json, { sizes }: CallHost): Promise<{ args: Json } | ToSettle> {
  const checked = tool.input.check(input)
  const result = checked instanceof Promise ? await checked : checked
  if (!result.ok) return { settle: refused(describeProblems(result.problems)) }
  try {
    const text = encode(result.value)
    // Hooks, prepare and the schema itself may have made them larger than what was asked.
    if (!fits(text, sizes.arguments)) return { settle: refused(`${tooLarge(bytesIn(text), sizes.arguments)}.`) }
    return { args: decode(text) }
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    return { settle: refused(describeProblems([{ path: error.details.path as string, message: error.message }])) }
  }
}

/** Runs once; what it said is on record. */
async function prepare(
  invocation: Invocation,
  tool: Tool,
  args: Json,
  host: CallHost,
): Promise<{ input?: Json; payload: Json } | ToSettle> {
  if (!tool.prepare) return { payload: null }
  const run = tool.prepare as (input: Json, ctx: unknown) => Prepared | Promise<Prepared>
  const context = contextOf(invocation, tool, host)
  try {
    const about = { tool: tool.name, callId: invocation.callId, call: invocation.request.uid, logger: host.logger, step: 'prepare' }
    const end = await invocation.run({ key: 'prepare', input: null, once: false }, async () => {
      const done = encode((await scope.run(about, () => run(args, context.ctx))) ?? {})
      if (!fits(done, host.sizes.step)) throw stepTooLarge('prepare', 'value', done, host)
      return { done }
    })
    const said = decode((end as { done: string }).done) as { input?: Json; payload?: Json; answer?: Json }
    if ('answer' in said) return { settle: { status: 'success', value: said.answer ?? null } }
    return { ...(said.input === undefined ? {} : { input: said.input }), payload: said.payload ?? null }
  } catch (error) {
    return { settle: settleThrown(error, invocation, host) }
  } finally {
    context.end()
  }
}

/** CALL-7: recorded arguments and payload with the live body; a changed version upgrades them, or the call stops. */
async function recordedOnes(invocation: Invocation, tool: Tool, host: CallHost): Promise<Accepted | ToSettle> {
  const recorded = decode(invocation.args as string)
  const prepared = await prepare(invocation, tool, recorded, host)
  if ('settle' in prepared) return prepared
  const version = invocation.terms?.version
  if (version === tool.version) return { args: recorded, prepared: prepared.payload }
  const change = `It was accepted under version ${version ?? 'none'} and the tool is now at ${tool.version ?? 'none'}`
  const stop = {
    settle: failure({ class: 'unavailable', code: 'tool_changed', message: `The tool has changed since this was asked. ${change}.` }),
  }
  if (!tool.upgrade) return stop
  try {
    const upgraded = await validated(tool, decode(encode(await tool.upgrade({ args: recorded, version }))), host)
    return 'settle' in upgraded ? stop : { args: upgraded.args, prepared: prepared.payload }
  } catch (error) {
    return { settle: settleThrown(error, invocation, host) }
  }
}

/** A model that keeps sending arguments that are not valid is told to stop trying (POL-8). */
function loopBound(bad: ToSettle, invocation: Invocation, host: CallHost): ToSettle {
  const over = host.usage.invalid(invocation.request)
  return over ? { settle: failure({ class: 'resource_limit', code: 'over_budget', message: over.message, source: 'policy' }) } : bad
}

const refused = (message: string): ReturnType<typeof failure> => failure({ class: 'invalid_request', code: 'invalid_arguments', message })
