// What a crash test found: one point per crash, and how a run after it compares with one without.

import { canonical } from '../../core/canonical-json.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Json } from '../../core/value.ts'

export interface CrashRun {
  /** How the call ended; null if it did not. */
  readonly outcome: Outcome | null
  /** What happened outside, as `effects` tells it. */
  readonly effects: readonly Json[]
}

export interface CrashPoint extends CrashRun {
  /** The n-th write of a run without a crash. */
  readonly write: number
  /** What it puts on record: `call.started`, `step.done charge`. */
  readonly what: string
  /** Killed before it was made, or when it was on record and its answer was lost. */
  readonly when: 'before' | 'after'
  /** `same`: as if nothing had happened. `unknown`: the call says honestly that it does not know, and nothing happened too often. */
  readonly verdict: 'same' | 'unknown' | 'differs'
  /** What differs, in words; empty if nothing does. */
  readonly differences: readonly string[]
}

export interface CrashReport {
  readonly tool: string
  /** Without a crash. */
  readonly clean: CrashRun
  readonly writes: readonly string[]
  readonly points: readonly CrashPoint[]
}

/** Thrown when a run after a crash differs. */
export class CrashTestError extends Error {
  override readonly name = 'CrashTestError'
  readonly report: CrashReport

  constructor(report: CrashReport) {
    super(told(report))
    this.report = report
  }
}

export function compared(
  clean: CrashRun,
  run: CrashRun,
  trouble: string | null,
): Pick<CrashPoint, 'verdict' | 'differences'> {
  const differences = trouble === null ? [] : [trouble]
  const unknown = run.outcome?.status === 'unknown' && clean.outcome?.status !== 'unknown'
  if (run.outcome === null) differences.push('the call has no outcome')
  else if (!unknown && textOf(run.outcome) !== textOf(clean.outcome))
    differences.push(`the outcome is ${shown(run.outcome)}`)
  const [expected, found] = [counts(clean.effects), counts(run.effects)]
  for (const effect of new Set([...expected.keys(), ...found.keys()])) {
    const [wanted, got] = [expected.get(effect) ?? 0, found.get(effect) ?? 0]
    // Who does not know may have done less, never more.
    if (got > wanted || (got < wanted && !unknown))
      differences.push(`${effect} happened ${times(got)} instead of ${times(wanted)}`)
  }
  return { differences, verdict: differences.length > 0 ? 'differs' : unknown ? 'unknown' : 'same' }
}

function counts(effects: readonly Json[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const effect of effects) {
    const text = canonical(effect)
    found.set(text, (found.get(text) ?? 0) + 1)
  }
  return found
}

const textOf = (outcome: Outcome | null): string => canonical(JSON.parse(JSON.stringify(outcome)) as Json)
const times = (count: number): string => (count === 1 ? 'once' : count === 0 ? 'never' : `${count} times`)
const longest = 200

function shown(outcome: Outcome | null): string {
  if (outcome === null) return 'none'
  const { status, ...rest } = outcome
  const about = outcome.status === 'success' ? outcome.value : Object.values(rest)[0]
  const text = JSON.stringify(about)
  return `${status} ${text.length > longest ? `${text.slice(0, longest)}…` : text}`
}

function told({ tool, clean, writes, points }: CrashReport): string {
  const wrong = points.filter(({ verdict }) => verdict === 'differs')
  const lines = wrong.map(
    ({ write, what, when, differences }) =>
      `  killed ${when} write ${write} of ${writes.length} (${what})${when === 'after' ? ', its answer lost' : ''}:\n${differences
        .map((each) => `    ${each}`)
        .join('\n')}`,
  )
  const again = wrong.some(({ differences }) => differences.some((each) => / times instead of /.test(each)))
  const advice = again
    ? '\n\nWhat is under way when a process dies runs again. Give the outside a key it can know it by (ctx.key), or make the step `once`.'
    : ''
  return `'${tool}' does not survive ${wrong.length} of ${points.length} crashes. Without one: ${shown(clean.outcome)}; ${clean.effects.length} effect${clean.effects.length === 1 ? '' : 's'}.\n${lines.join('\n')}${advice}`
}
