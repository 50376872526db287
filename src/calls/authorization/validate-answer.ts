// Validates an answer that would become the outcome of a parked call against the tool's output schema before it is
// accepted. A runtime without the tool refuses and writes nothing; otherwise the call could fail later on an invalid
// answer.

import type { CallRecord } from '../../store/records/call-record.ts'
import { PawlError } from '../../core/errors.ts'
import { decode, encode } from '../../core/tool-value.ts'
import { runSchema, type ValidationPorts, recordedTool } from './validate-external-input.ts'

export const createAnswerValidator =
  (ports: ValidationPorts) =>
  async (call: CallRecord, value: unknown, required: boolean): Promise<readonly string[]> => {
    const tool = await recordedTool(ports, call)
    if (!tool) {
      if (required) throw new PawlError('answer_unchecked', `This runtime does not have the tool '${call.tool}'.`)
      return []
    }
    const { output } = tool
    if (!output) return []
    // Validated in its recorded form, as the call will receive it.
    const checked = await runSchema(ports, call, tool, 'An output schema', () => output.check(decode(encode(value))))
    if (!checked) return ['The output schema of the tool could not check the value; the wait is still open.']
    return checked.ok
      ? []
      : checked.problems.map(({ path, message }) => `${path === '' ? 'value' : `value.${path}`}: ${message}`)
  }
