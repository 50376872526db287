// Arguments that a person wrote instead of the model (POL-3): checked by the tool's schema before they are taken, and bound to what they
// become, for the tool as it was shown: one that has changed since asks again. The call checks them again when it goes on: hooks and prepare
// have their word there too.

import type { CallRecord } from '../journal/call-state.ts'
import { PawlError } from '../kernel/errors.ts'
import { decode, encode, type Json } from '../kernel/value.ts'
import { fingerprintOf } from '../policy/fingerprint.ts'
import { copiedHidden, hides, unhidden, untoldProblem } from '../tool/hidden.ts'
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
    const input = unhidden(tool, given, decode(call.args ?? call.input), tools)
    const hidden = hides(tool, tools)
    const copied = hidden ? copiedHidden(tool, input, tools) : []
    if (copied.length > 0) return { problems: told(copied) }
    const checked = await checkedFor(judge, call, tool, 'An input schema', () => tool.input.check(input))
    if (!checked) return { problems: ['The schema of the tool could not check the arguments; the call still waits.'] }
    if (!checked.ok) return { problems: told(hidden ? checked.problems.map(untoldProblem) : checked.problems) }
    const { tenant } = call.position
    return { input, fingerprint: fingerprintOf({ tenant, call: call.uid, tool: shown, args: encode(checked.value) }) }
  }

const told = (problems: readonly Problem[]): string[] =>
  problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
