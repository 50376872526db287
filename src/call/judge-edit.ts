// Arguments that a person wrote instead of the model (POL-3): checked by the tool's schema before they are taken, and bound to what they
// become, for the tool as it was shown: one that has changed since asks again. The call checks them again when it goes on: hooks and prepare
// have their word there too.

import type { CallRecord } from '../journal/call-state.ts'
import { PawlError } from '../kernel/errors.ts'
import type { Clock } from '../kernel/time.ts'
import { encode, type Json } from '../kernel/value.ts'
import { fingerprintOf } from '../policy/fingerprint.ts'
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

export const judgeEdit =
  ({ toolsOf, clock, logger }: Judge) =>
  async (call: CallRecord, input: Json, shown: string): Promise<{ fingerprint: string } | { problems: readonly string[] }> => {
    const entry = toolsOf(call).recorded(call.tool)
    const tool: Tool | undefined = entry?.tool ?? (await entry?.remote?.load().catch(() => undefined))
    if (!tool) throw new PawlError('answer_unchecked', `The tool is '${call.tool}'.`)
    const about = { tool: tool.name, callId: call.position.id, call: call.uid, logger, who: 'An input schema' }
    let callOff = (): void => {}
    try {
      const late = new Promise<never>((_, reject) => (callOff = clock.timer(patienceMs, () => reject(new Error('It did not answer')))))
      const checked: Checked = await Promise.race([scope.run(about, async () => tool.input.check(input)), late])
      if (!checked.ok) return { problems: checked.problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)) }
      const { tenant } = call.position
      return { fingerprint: fingerprintOf({ tenant, call: call.uid, tool: shown, args: encode(checked.value) }) }
    } catch (error) {
      logger.error('An input schema could not check arguments of a person', { tool: tool.name, call: call.uid, error })
      return { problems: ['The schema of the tool could not check the arguments; the call still waits.'] }
    } finally {
      callOff()
    }
  }
