// Arguments that a person wrote instead of the model (POL-3): checked by the tool's schema before they are taken, and bound to what they
// become, for the tool as it was shown: one that has changed since asks again. The call checks them again when it goes on: hooks and prepare
// have their word there too.

import type { CallRecord } from '../journal/call-state.ts'
import { PawlError } from '../kernel/errors.ts'
import { decode, encode, isAttachment, type Json } from '../kernel/value.ts'
import { fingerprintOf } from '../policy/fingerprint.ts'
import { redactedWord } from '../secret/matcher.ts'
import { copiedHidden, hides, shownArgs, untoldProblem } from '../tool/hidden.ts'
import type { Problem } from '../tool/schema.ts'
import type { Toolset } from '../tool/toolset.ts'
import { checkedFor, type Judge, toolOf } from './judge.ts'

export const judgeEdit =
  (judge: Judge) =>
  async (call: CallRecord, given: Json, shown: string): Promise<{ fingerprint: string; input: Json } | { problems: readonly string[] }> => {
    const tool = await toolOf(judge, call)
    if (!tool) throw new PawlError('answer_unchecked', `The tool is '${call.tool}'.`)
    const tools = (): Toolset => judge.toolsOf(call)
    // What they were not shown and left as it was shown is what it was. The item may be there a moment before the accepted arguments are.
    const was = decode(call.args ?? call.input)
    const seen = judge.redact.deep(shownArgs(tool, was, tools))
    const input = seen === was ? given : asItWas(given, was, seen)
    const hidden = hides(tool, tools)
    const copied = hidden ? copiedHidden(tool, input, tools) : []
    if (copied.length > 0) return { problems: told(copied) }
    if (seen !== was && encode(input).includes(redactedWord))
      return { problems: [`${redactedWord} stands for a secret that is not shown; give the value itself.`] }
    const checked = await checkedFor(judge, call, tool, 'An input schema', () => tool.input.check(input))
    if (!checked) return { problems: ['The schema of the tool could not check the arguments; the call still waits.'] }
    if (!checked.ok) return { problems: told(hidden ? checked.problems.map(untoldProblem) : checked.problems) }
    const { tenant } = call.position
    return { input, fingerprint: fingerprintOf({ tenant, call: call.uid, tool: shown, args: encode(checked.value) }) }
  }

/** What was left as it was shown is what it was before; in a list that was changed nobody can tell which item is which. */
function asItWas(given: Json, was: Json, seen: Json): Json {
  if (encode(given) === encode(seen)) return was
  if (!isObject(given) || !isObject(was) || !isObject(seen)) return given
  const all = Object.entries(given).map(([key, value]): [string, Json] => {
    const [before, shown] = [was, seen].map((of) => (Object.hasOwn(of, key) ? of[key] : undefined))
    return [key, before === undefined || shown === undefined ? value : asItWas(value, before, shown)]
  })
  return Object.fromEntries(all)
}

const isObject = (value: Json): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isAttachment(value)

const told = (problems: readonly Problem[]): string[] =>
  problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
