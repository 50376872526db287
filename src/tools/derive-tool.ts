// Tools that are others but for something.

import type { Hints } from './hints.ts'
import { made } from './tool-brand.ts'
import type { Tool } from './tool.ts'

/** The same tool with another body, in the background too: for tests that look on. */
export const withBody = (of: Tool, execute: Tool['execute'], more: Partial<Pick<Tool, 'onCrash'>> = {}): Tool =>
  made({ ...of, execute, ...more, ...(of.background ? { background: made({ ...of.background, execute }) } : {}) })

/**
 * The same tool as one of a provider (TOOL-2). What a source that is not trusted says of its tools may raise their risk and never
 * lower it: believed, its "readOnly" or "idempotent" would have them run again after a crash, retried, and side by side.
 */
export function remoteTool(of: Tool, about: { id: string; provider: string; trusted: boolean }): Tool {
  const { id, provider, trusted } = about
  const { hints } = of
  const risks: Hints = {
    ...(hints.destructive ? { destructive: true } : {}),
    ...(hints.openWorld ? { openWorld: true } : {}),
  }
  const doubted = {
    hints: risks,
    concurrency: of.concurrency.kind === 'parallel' ? ({ kind: 'barrier' } as const) : of.concurrency,
  }
  return made({
    ...of,
    id,
    background: undefined,
    afterMs: undefined,
    ...(trusted ? {} : doubted),
    remote: { provider, trusted, hints },
  })
}
