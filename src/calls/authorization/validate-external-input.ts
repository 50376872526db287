// Runs a tool's schema on values from people or external services for a call that is not being executed, with a timeout
// and with stray errors contained. Used by validate-answer.ts and validate-edit.ts.

import type { CallRecord } from '../../store/records/call-record.ts'
import type { Clock } from '../../core/clock.ts'
import type { Redactor } from '../../security/redact.ts'
import type { Logger } from '../../tools/context/tool-context.ts'
import type { CheckResult } from '../../tools/schema.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Toolset } from '../../tools/toolset.ts'
import { scope } from '../async-context.ts'

const callbackTimeoutMs = 30_000

export interface ValidationPorts {
  readonly toolsOf: (call: CallRecord) => Toolset
  readonly clock: Clock
  readonly logger: Logger
  readonly redact: Pick<Redactor, 'deep'>
}

export async function recordedTool({ toolsOf }: ValidationPorts, call: CallRecord): Promise<Tool | undefined> {
  const entry = toolsOf(call).findByKey(call.tool)
  return entry?.tool ?? (await entry?.remote?.load().catch(() => undefined))
}

/** Null if the schema itself threw or timed out; that is logged. */
export async function runSchema(
  { clock, logger }: ValidationPorts,
  call: CallRecord,
  tool: Tool,
  who: string,
  check: () => CheckResult | Promise<CheckResult>,
): Promise<CheckResult | null> {
  const about = { tool: tool.name, callId: call.position.id, call: call.uid, logger, who }
  let cancelTimer = (): void => {}
  try {
    const timeout = new Promise<never>(
      (_, reject) =>
        (cancelTimer = clock.timer(callbackTimeoutMs, () => reject(new Error(`${who} did not return in time`)))),
    )
    return await Promise.race([scope.run(about, async () => check()), timeout])
  } catch (error) {
    logger.error(`${who} failed; the value was not validated`, { tool: tool.name, call: call.uid, error })
    return null
  } finally {
    cancelTimer()
  }
}
