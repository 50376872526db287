// Checking what people or the outside give for a call that nobody drives at the moment: by the tool's schemas, contained, and not waited for
// without end. A runtime that does not have the tool cannot check.

import type { CallRecord } from '../../store/records/call-record.ts'
import type { Clock } from '../../core/clock.ts'
import type { Redactor } from '../../security/redact.ts'
import type { Logger } from '../../tools/context/context.ts'
import type { Checked } from '../../tools/schema.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Toolset } from '../../tools/toolset.ts'
import { scope } from '../async-context.ts'

const patienceMs = 30_000

export interface Judge {
  readonly toolsOf: (call: CallRecord) => Toolset
  readonly clock: Clock
  readonly logger: Logger
  readonly redact: Pick<Redactor, 'deep'>
}

export async function toolOf({ toolsOf }: Judge, call: CallRecord): Promise<Tool | undefined> {
  const entry = toolsOf(call).recorded(call.tool)
  return entry?.tool ?? (await entry?.remote?.load().catch(() => undefined))
}

/** Null: the schema itself failed, which operators hear of. */
export async function checkedFor(
  { clock, logger }: Judge,
  call: CallRecord,
  tool: Tool,
  who: string,
  check: () => Checked | Promise<Checked>,
): Promise<Checked | null> {
  const about = { tool: tool.name, callId: call.position.id, call: call.uid, logger, who }
  let callOff = (): void => {}
  try {
    const late = new Promise<never>(
      (_, reject) => (callOff = clock.timer(patienceMs, () => reject(new Error('It did not answer')))),
    )
    return await Promise.race([scope.run(about, async () => check()), late])
  } catch (error) {
    logger.error(`${who} could not check what was given`, { tool: tool.name, call: call.uid, error })
    return null
  } finally {
    callOff()
  }
}
