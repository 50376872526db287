// The report of a crash test: one point per crash, compared with the run without a crash.

import { canonicalJson, canonicalText } from '../../core/canonical-json.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { Json } from '../../core/tool-value.ts'

/** One run of the call. */
export interface CrashRun {
  /** Outcome of the call; null if it did not end. */
  readonly outcome: Outcome | null
  /** External effects of the run, from the `effects` option. */
  readonly effects: readonly Json[]
}

/** What happened when the worker was killed at one write. */
export interface CrashPoint extends CrashRun {
  /** The n-th write of a run without a crash. */
  readonly write: number
  /** Label of the write: `call.started`, `step.done charge`. */
  readonly what: string
  /** Killed before the write, or after it was durable and its answer was lost. */
  readonly when: 'before' | 'after'
  /** `same`: equal to the clean run. `unknown`: the outcome is unknown, and no effect happened too often. */
  readonly verdict: 'same' | 'unknown' | 'differs'
  /** Descriptions of the differences; empty if there are none. */
  readonly differences: readonly string[]
}

/** The result of crashTest(). */
export interface CrashReport {
  /** Name of the tool. */
  readonly tool: string
  /** The run without a crash. */
  readonly clean: CrashRun
  /** The writes of an undisturbed run, in order. */
  readonly writes: readonly string[]
  /** One entry per place where the worker was killed. */
  readonly points: readonly CrashPoint[]
}

/** Thrown when a run after a crash differs. */
export class CrashTestError extends Error {
  override readonly name = 'CrashTestError'
  /** What went wrong, and where. */
  readonly report: CrashReport

  constructor(report: CrashReport) {
    super(formatReport(report))
    this.report = report
  }
}

export function compareRuns(
  clean: CrashRun,
  run: CrashRun,
  problem: string | null,
): Pick<CrashPoint, 'verdict' | 'differences'> {
  const differences = problem === null ? [] : [problem]
  const unknown = run.outcome?.status === 'unknown' && clean.outcome?.status !== 'unknown'
  if (run.outcome === null) differences.push('the call has no outcome')
  else if (!unknown && canonicalOutcome(run.outcome) !== canonicalOutcome(clean.outcome))
    differences.push(`the outcome is ${showOutcome(run.outcome)}`)
  const [expected, found] = [countEffects(clean.effects), countEffects(run.effects)]
  for (const effect of new Set([...expected.keys(), ...found.keys()])) {
    const [wanted, got] = [expected.get(effect) ?? 0, found.get(effect) ?? 0]
    // With an unknown outcome an effect may be missing, but never repeated.
    if (got > wanted || (got < wanted && !unknown))
      differences.push(`${effect} happened ${times(got)} instead of ${times(wanted)}`)
  }
  return { differences, verdict: differences.length > 0 ? 'differs' : unknown ? 'unknown' : 'same' }
}

function countEffects(effects: readonly Json[]): Map<string, number> {
  const found = new Map<string, number>()
  for (const effect of effects) {
    const text = canonicalJson(effect)
    found.set(text, (found.get(text) ?? 0) + 1)
  }
  return found
}

const canonicalOutcome = (outcome: Outcome | null): string => canonicalText(JSON.stringify(outcome))
const times = (count: number): string => (count === 1 ? 'once' : count === 0 ? 'never' : `${count} times`)
const maxShownChars = 200

function showOutcome(outcome: Outcome | null): string {
  if (outcome === null) return 'none'
  const { status, ...rest } = outcome
  const about = outcome.status === 'success' ? outcome.value : Object.values(rest)[0]
  const text = JSON.stringify(about)
  return `${status} ${text.length > maxShownChars ? `${text.slice(0, maxShownChars)}…` : text}`
}

function formatReport({ tool, clean, writes, points }: CrashReport): string {
  const wrong = points.filter(({ verdict }) => verdict === 'differs')
  const lines = wrong.map(
    ({ write, what, when, differences }) =>
      `  killed ${when} write ${write} of ${writes.length} (${what})${when === 'after' ? ', its answer lost' : ''}:\n${differences
        .map((each) => `    ${each}`)
        .join('\n')}`,
  )
  const again = wrong.some(({ differences }) => differences.some((each) => / times instead of /.test(each)))
  const advice = again
    ? '\n\nA step that is running when the process dies runs again. Pass an idempotency key (ctx.key), or make the step `once`.'
    : ''
  return `'${tool}' does not survive ${wrong.length} of ${points.length} crashes. Without one: ${showOutcome(clean.outcome)}; ${clean.effects.length} effect${clean.effects.length === 1 ? '' : 's'}.\n${lines.join('\n')}${advice}`
}
