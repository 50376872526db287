// WAIT-6: a value that would be the outcome of a parked call is checked against the tool's output schema before it is taken. A runtime that
// does not have the tool cannot check: it says so and writes nothing, instead of taking what the call would then fail with.

import type { CallRecord } from '../../store/records/call-record.ts'
import { PawlError } from '../../core/errors.ts'
import { decode, encode } from '../../core/value.ts'
import { checkedFor, type Judge, toolOf } from './validate-external.ts'

export const judgeAnswer =
  (judge: Judge) =>
  async (call: CallRecord, value: unknown, must: boolean): Promise<readonly string[]> => {
    const tool = await toolOf(judge, call)
    if (!tool) {
      if (must) throw new PawlError('answer_unchecked', `The tool is '${call.tool}'.`)
      return []
    }
    const { output } = tool
    if (!output) return []
    // In the form in which it lands.
    const checked = await checkedFor(judge, call, tool, 'An output schema', () => output.check(decode(encode(value))))
    if (!checked) return ['The output schema of the tool could not check the value; the wait is still open.']
    return checked.ok
      ? []
      : checked.problems.map(({ path, message }) => `${path === '' ? 'value' : `value.${path}`}: ${message}`)
  }
