// Arguments that a person wrote instead of the model (POL-3): checked by the tool's schema before they are taken, and bound to what they
// become, for the tool as it was shown: one that has changed since asks again. The call checks them again when it goes on: hooks and prepare
// have their word there too.

import type { CallRecord } from '../journal/call-state.ts'
import { PawlError } from '../kernel/errors.ts'
import { encode, type Json } from '../kernel/value.ts'
import { fingerprintOf } from '../policy/fingerprint.ts'
import { checkedFor, type Judge, toolOf } from './judge.ts'

export const judgeEdit =
  (judge: Judge) =>
  async (call: CallRecord, input: Json, shown: string): Promise<{ fingerprint: string } | { problems: readonly string[] }> => {
    const tool = await toolOf(judge, call)
    if (!tool) throw new PawlError('answer_unchecked', `The tool is '${call.tool}'.`)
    const checked = await checkedFor(judge, call, tool, 'An input schema', () => tool.input.check(input))
    if (!checked) return { problems: ['The schema of the tool could not check the arguments; the call still waits.'] }
    if (!checked.ok) return { problems: checked.problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)) }
    const { tenant } = call.position
    return { fingerprint: fingerprintOf({ tenant, call: call.uid, tool: shown, args: encode(checked.value) }) }
  }
