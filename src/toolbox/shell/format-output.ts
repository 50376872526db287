// Shortens the output of a shell run to the requested `output` level, and saves the full output as session files.

import { createHash } from 'node:crypto'
import { PawlError } from '../../core/errors.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { LongText } from '../../calls/output/measure-long-text.ts'
import { shortenText } from '../../calls/output/truncate-text.ts'
import { cleanTerminal } from '../../calls/output/clean-terminal-text.ts'

export const outputLevels = ['auto', 'silent', 'concise', 'normal', 'verbose', 'full'] as const
export type OutputLevel = (typeof outputLevels)[number]

/** Bytes per level. `auto` is small on success and the same as `normal` on failure. */
const budgets = { silent: 200, concise: 2_048, normal: 8_192, verbose: 16_384, full: Number.POSITIVE_INFINITY } as const
const autoSuccessBudget = 384
const maxStderrBytes = 4_096

export const budgetOf = (level: OutputLevel, success: boolean): number =>
  level === 'auto' ? (success ? autoSuccessBudget : budgets.normal) : budgets[level]

/** Shortens to at most `most` bytes: the beginning, the end, and error lines from between. */
export function shortenOutput(text: string, most: number): string {
  const clean = cleanTerminal(text)
  if (Buffer.byteLength(clean) <= most) return clean
  return shortenText(new LongText(clean), { bytes: most, lines: Number.MAX_SAFE_INTEGER }, 'text').text
}

export interface ShownOutput {
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  /** Paths of the full output of each shortened stream. */
  readonly files: readonly string[]
}

interface FullOutput {
  readonly stdout: string
  readonly stderr: string
  readonly cut: boolean
}

export async function showOutput(
  full: FullOutput,
  level: OutputLevel,
  success: boolean,
  ctx: ToolContext,
): Promise<ShownOutput> {
  const budget = budgetOf(level, success)
  const shown = {
    stdout: shortenOutput(full.stdout, budget),
    stderr: shortenOutput(full.stderr, Math.min(budget, level === 'full' ? budget : maxStderrBytes)),
  }
  const files: string[] = []
  let truncated = full.cut
  for (const stream of ['stdout', 'stderr'] as const) {
    if (shown[stream] === cleanTerminal(full[stream])) continue
    truncated = true
    const path = await saveOutput(`/outputs/${outputFileName(ctx)}.${stream}`, full[stream], ctx)
    if (path !== undefined) files.push(path)
  }
  return { ...shown, truncated, files }
}

/** The call id for people, plus a hash that is unique to the call: models reuse ids in every message. */
function outputFileName({ callId, idempotencyKey }: ToolContext): string {
  const own = createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 12)
  return `${callId.replaceAll(/[^\w.-]+/g, '_').slice(0, 80)}-${own}`
}

/** Undefined if the file cannot be stored: the command has already run, so this must not fail the call. */
async function saveOutput(path: string, text: string, ctx: ToolContext): Promise<string | undefined> {
  try {
    return (await ctx.files.write(path, text, { mediaType: 'text/plain' })).path
  } catch (error) {
    if (error instanceof PawlError && /^(files?|directory)_/.test(error.code)) return undefined
    throw error
  }
}
