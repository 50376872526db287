// Creates variants of an existing tool.

import { createHash } from 'node:crypto'
import type { Hints } from './tool-hints.ts'
import { brand } from './tool-brand.ts'
import type { Tool } from './tool.ts'

/** The same tool with another body, which is used for background runs too. Used by the test tools. */
export const withBody = (tool: Tool, execute: Tool['execute'], more: Partial<Pick<Tool, 'onCrash'>> = {}): Tool =>
  brand({
    ...tool,
    execute,
    ...more,
    ...(tool.background ? { background: brand({ ...tool.background, execute }) } : {}),
  })

/**
 * The same tool as it is used when it comes from a provider. Hints of an untrusted provider may raise the risk but
 * never lower it: a false `readOnly` or `idempotent` would make the tool run again after a crash, be retried and run in
 * parallel.
 */
export function remoteTool(tool: Tool, origin: { id: string; provider: string; trusted: boolean }): Tool {
  const { id, provider, trusted } = origin
  const { hints } = tool
  const risks: Hints = {
    ...(hints.destructive ? { destructive: true } : {}),
    ...(hints.openWorld ? { openWorld: true } : {}),
  }
  const lessTrusted = {
    hints: risks,
    concurrency: tool.concurrency.kind === 'parallel' ? ({ kind: 'barrier' } as const) : tool.concurrency,
  }
  return brand({
    ...tool,
    id,
    background: undefined,
    afterMs: undefined,
    ...(trusted ? {} : lessTrusted),
    remote: { provider, trusted, hints },
    // Approvals and remembered rules are for this provider: another one may show the same name and definition.
    fingerprint: createHash('sha256')
      .update(JSON.stringify(['provider', provider, tool.fingerprint]))
      .digest('base64url'),
  })
}
