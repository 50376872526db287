// The model's view of an outcome: the default projection, the changes by project hooks, and the output budget applied
// to both. Nothing here is recorded; the view is computed from the recorded outcome whenever it is needed.
//
// Hooks see the whole text, not the shortened one, so a pattern they search for is never cut in half. A view that a
// hook changed does not mention read_output, which would give access to the text that the hook removed.

import { revealsSecrets, type Outcome } from '../../core/outcome.ts'
import { utf8Bytes, fits, truncateToBytes } from '../../core/size-limits.ts'
import type { Redactor } from '../../security/redact.ts'
import { isThenable, type MaybePromise } from '../../core/maybe-promise.ts'
import type { Clock } from '../../core/clock.ts'
import { decode, encode, isAttachment } from '../../core/tool-value.ts'
import type { Logger } from '../../tools/context/tool-context.ts'
import { defaultBudget, fitToBudget, type OutputBudget } from './truncate.ts'
import type { Hook, HookFacts } from '../admission/hook-definition.ts'
import { mergeParts, type ModelPart } from '../../models/outcome-to-model-parts.ts'
import { redactOutcome } from './redact-outcome.ts'
import { scope } from '../async-context.ts'

export interface ProjectHost {
  readonly hooks: readonly Hook[]
  readonly budget: OutputBudget
  readonly clock: Clock
  readonly logger: Logger
  readonly redact: Redactor
}

type Parts = readonly ModelPart[]

export interface OutcomeToProject {
  readonly outcome: Outcome
  /** The recorded form of the outcome, if the caller has it. */
  readonly text?: string
}

/**
 * `call` is the handle for read_output, or '' if the call is not recorded. `hasReadOutput`: the model has that tool.
 * Without `facts` no hook runs. Returns a promise only if there are hooks.
 */
export type ProjectOutcome = (
  given: OutcomeToProject,
  call: string,
  hasReadOutput: boolean,
  facts: (() => HookFacts) | null,
) => MaybePromise<Parts>

/** Timeout of a project hook. */
const patienceMs = 5_000
const unbounded: OutputBudget = { bytes: Number.MAX_SAFE_INTEGER, lines: Number.MAX_SAFE_INTEGER }

export function createProjection(host: ProjectHost): ProjectOutcome {
  const { budget } = host
  const hooks = host.hooks.filter((hook) => hook.project).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const fitted = (
    { outcome, text }: OutcomeToProject,
    call: string,
    hasReadOutput: boolean,
    most: OutputBudget,
  ): Parts => {
    const short = text === undefined ? undefined : shortText(outcome, most, text)
    if (short !== undefined) return short === '' ? [] : [{ type: 'text', text: short }]
    return fitToBudget(outcome, most, call === '' ? null : call, hasReadOutput).parts
  }
  const byDefault = (given: OutcomeToProject, call: string, hasReadOutput: boolean): Parts => {
    // Redact before truncating, because half a secret is not recognized. Check each time, because secrets can be added.
    const shown = host.redact.active ? redacted(given, host.redact) : given
    const note = noteOf(shown.outcome, budget)
    if (note === null) return fitted(shown, call, hasReadOutput, budget)
    return mergeParts([note, ...fitted(shown, call, hasReadOutput, reduceBudget(budget, utf8Bytes(note.text)))])
  }
  if (hooks.length === 0) return byDefault
  return (given, call, hasReadOutput, facts) =>
    facts === null ? byDefault(given, call, hasReadOutput) : projectWithHooks(given, call, hasReadOutput, facts())

  async function projectWithHooks(
    given: OutcomeToProject,
    call: string,
    hasReadOutput: boolean,
    about: HookFacts,
  ): Promise<Parts> {
    const { outcome } = given
    const { outcome: shown } = host.redact.active ? redacted(given, host.redact) : given
    const note = noteOf(shown, unbounded)
    const whole = note
      ? mergeParts([note, ...fitToBudget(shown, unbounded, null).parts])
      : fitToBudget(shown, unbounded, null).parts
    let parts = whole
    // Hooks run in order of their names, each on the result of the previous one. A hook that fails changes nothing.
    for (const hook of hooks) parts = (await runProjectHook(hook, { about, call, outcome, parts }, host)) ?? parts
    return parts === whole
      ? byDefault(given, call, hasReadOutput)
      : fitParts(host.redact.active ? host.redact.deep(parts) : parts, outcome, budget)
  }
}

const successText = '{"status":"success","value":'

/**
 * Fast path for short, plain results: their view is part of the recorded form. Without a backslash there is no line
 * break, terminal code or escape in it, and without a tag no attachment.
 */
function shortText(outcome: Outcome, budget: OutputBudget, text: string): string | undefined {
  if (budget.tokens !== undefined || text.length * 3 > (budget.bytes ?? defaultBudget.bytes) || text.includes('\\'))
    return undefined
  if (outcome.status !== 'success' || !text.startsWith(successText)) return undefined
  for (const field in outcome) if (field !== 'status' && field !== 'value') return undefined
  if (typeof outcome.value === 'string') return outcome.value
  return text.includes('"$pawl"') ? undefined : text.slice(successText.length, -1)
}

/** The note about changes by people comes first and gets at most a quarter of the budget. */
function noteOf({ note }: Outcome, { bytes }: OutputBudget): Extract<ModelPart, { type: 'text' }> | null {
  if (note === undefined) return null
  const most = Math.floor((bytes ?? defaultBudget.bytes) / 4) - 8
  return { type: 'text', text: `[${fits(note, most) ? note : `${truncateToBytes(note, most)}…`}]\n` }
}

const reduceBudget = ({ bytes, tokens, ...rest }: OutputBudget, taken: number): OutputBudget => ({
  ...rest,
  ...(bytes === undefined ? {} : { bytes: bytes - taken }),
  ...(tokens === undefined ? {} : { tokens: Math.max(1, tokens - Math.ceil(taken / 4)) }),
})

function redacted(given: OutcomeToProject, redact: Redactor): OutcomeToProject {
  if (revealsSecrets(given.outcome)) return given
  const outcome = redactOutcome(given.outcome, given.text, redact)
  return outcome === given.outcome ? given : { outcome }
}

interface HookInput {
  readonly about: HookFacts
  readonly call: string
  readonly outcome: Outcome
  readonly parts: Parts
}

/** Returns undefined if the hook changed nothing or failed. */
async function runProjectHook(
  hook: Hook,
  { about, call, outcome, parts }: HookInput,
  { clock, logger }: ProjectHost,
): Promise<Parts | undefined> {
  const { tool, callId } = about
  const fault = (what: string, error?: unknown): undefined => {
    logger.error(`A project hook ${what}. Its changes are ignored`, {
      hook: hook.name,
      tool,
      callId,
      error,
    })
  }
  let cancelTimer = (): void => {}
  try {
    // Copies, so that a hook cannot change the caller's outcome or the input of the next hook.
    const own = decode(encode(outcome)) as unknown as Outcome
    const shown = parts.map((part) => ({ ...part }))
    const given = scope.run({ tool, callId, call, logger }, (): unknown => hook.project?.(about, own, shown))
    const tooLate = (): Promise<typeof late> =>
      new Promise((resolve) => (cancelTimer = clock.timer(patienceMs, () => resolve(late))))
    const answer = isThenable(given) ? await Promise.race([given, tooLate()]) : given
    if (answer === late) return fault(`did not return within ${patienceMs} ms`)
    if (answer === undefined || answer === null) return undefined
    return areParts(answer) ? mergeParts(answer) : fault('returned a value that is not a list of parts')
  } catch (error) {
    return fault('threw', error)
  } finally {
    cancelTimer()
  }
}

const late = Symbol('late')

const areParts = (said: unknown): said is Parts => Array.isArray(said) && said.every(isPart)

function isPart(part: unknown): part is ModelPart {
  const { type, text, attachment } = (part ?? {}) as Record<string, unknown>
  return type === 'text' ? typeof text === 'string' : type === 'attachment' && isAttachment(attachment)
}

/** If the parts exceed the budget, the text is shortened as a whole and the attachments are appended. */
function fitParts(parts: Parts, outcome: Outcome, budget: OutputBudget): Parts {
  const attachments = parts.filter((part) => part.type === 'attachment')
  // Attachments become null, so that JSON text stays valid.
  const between = outcome.status === 'success' && typeof outcome.value !== 'string' ? 'null' : ''
  const text = parts.map((part) => (part.type === 'text' ? part.text : between)).join('')
  const fitted = fitToBudget({ status: 'success', value: text }, budget, null)
  if (attachments.length === 0) return fitted.parts
  return fitted.cut === null ? parts : [...fitted.parts, ...attachments]
}
