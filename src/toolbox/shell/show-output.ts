// SHELL: how much of the output the model is shown, by the `output` it asked for; the whole is kept as files of the session, to be read on.

import { createHash } from 'node:crypto'
import { PawlError } from '../../core/errors.ts'
import type { ToolContext } from '../../tools/context/context.ts'
import { LongText } from '../../calls/output/long-text.ts'
import { shortenText } from '../../calls/output/truncate-text.ts'
import { cleanTerminal } from '../../calls/output/terminal-text.ts'

export const outputLevels = ['auto', 'silent', 'concise', 'normal', 'verbose', 'full'] as const
export type OutputLevel = (typeof outputLevels)[number]

/** Bytes. `auto` is little where all is well, and as much as `normal` where it is not. */
const budgets = { silent: 200, concise: 2_048, normal: 8_192, verbose: 16_384, full: Number.POSITIVE_INFINITY } as const
const littleOnSuccess = 384
const mostOfErrors = 4_096

export const budgetOf = (level: OutputLevel, success: boolean): number =>
  level === 'auto' ? (success ? littleOnSuccess : budgets.normal) : budgets[level]

/** At most so many bytes: the beginning, the end, and between them the lines that tell of trouble. */
export function shortened(text: string, most: number): string {
  const clean = cleanTerminal(text)
  if (Buffer.byteLength(clean) <= most) return clean
  return shortenText(new LongText(clean), { bytes: most, lines: Number.MAX_SAFE_INTEGER }, 'text').text
}

export interface Shown {
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  /** Where the whole is, of what was shortened. */
  readonly files: readonly string[]
}

interface Whole {
  readonly stdout: string
  readonly stderr: string
  readonly cut: boolean
}

export async function showOutput(whole: Whole, level: OutputLevel, success: boolean, ctx: ToolContext): Promise<Shown> {
  const budget = budgetOf(level, success)
  const shown = {
    stdout: shortened(whole.stdout, budget),
    stderr: shortened(whole.stderr, Math.min(budget, level === 'full' ? budget : mostOfErrors)),
  }
  const files: string[] = []
  let truncated = whole.cut
  for (const stream of ['stdout', 'stderr'] as const) {
    if (shown[stream] === cleanTerminal(whole[stream])) continue
    truncated = true
    const path = await saved(`/outputs/${nameOf(ctx)}.${stream}`, whole[stream], ctx)
    if (path !== undefined) files.push(path)
  }
  return { ...shown, truncated, files }
}

/** Its id for people, and what no other call has: models use the same ids again in every message. */
function nameOf({ callId, idempotencyKey }: ToolContext): string {
  const own = createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 12)
  return `${callId.replaceAll(/[^\w.-]+/g, '_').slice(0, 80)}-${own}`
}

/** Undefined if there is no room for it: what was run has run, so that is no failure. */
async function saved(path: string, text: string, ctx: ToolContext): Promise<string | undefined> {
  try {
    return (await ctx.files.write(path, text, { mediaType: 'text/plain' })).path
  } catch (error) {
    if (error instanceof PawlError && /^(files?|directory)_/.test(error.code)) return undefined
    throw error
  }
}
