// WAIT-6: a value that would be the outcome of a parked call is checked against the tool's output schema before it is taken. A runtime that
// does not have the tool cannot check: it says so and writes nothing, instead of taking what the call would then fail with.

import type { CallRecord } from '../journal/call-state.ts'
import { PawlError } from '../kernel/errors.ts'
import type { Clock } from '../kernel/time.ts'
import { decode, encode } from '../kernel/value.ts'
import type { Logger } from '../tool/context.ts'
import type { Checked } from '../tool/schema.ts'
import type { Tool } from '../tool/tool.ts'
import type { Toolset } from '../tool/toolset.ts'
import { scope } from './scope.ts'

const patienceMs = 30_000

interface Judge {
  readonly toolsOf: (call: CallRecord) => Toolset
  readonly clock: Clock
  readonly logger: Logger
}

export const judgeAnswer =
  ({ toolsOf, clock, logger }: Judge) =>
  async (call: CallRecord, value: unknown, must: boolean): Promise<readonly string[]> => {
    const entry = toolsOf(call).recorded(call.tool)
    const tool: Tool | undefined = entry?.tool ?? (await entry?.remote?.load().catch(() => undefined))
    if (!tool) {
      if (must) throw new PawlError('answer_unchecked', `The tool is '${call.tool}'.`)
      return []
    }
    const { output } = tool
    if (!output) return []
    const about = { tool: tool.name, callId: call.position.id, call: call.uid, logger, who: 'An output schema' }
    let callOff = (): void => {}
    try {
      const late = new Promise<never>((_, reject) => (callOff = clock.timer(patienceMs, () => reject(new Error('It did not answer')))))
      // In the form in which it lands.
      const checked: Checked = await Promise.race([scope.run(about, async () => output.check(decode(encode(value)))), late])
      return checked.ok ? [] : checked.problems.map(({ path, message }) => `${path === '' ? 'value' : `value.${path}`}: ${message}`)
    } catch (error) {
      logger.error('An output schema could not check an answer', { tool: tool.name, call: call.uid, error })
      return ['The output schema of the tool could not check the value; the wait is still open.']
    } finally {
      callOff()
    }
  }
