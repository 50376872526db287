// What the model reads of an outcome: the default projection, what the host's project hooks make of it (CALL-8), and the output budget
// over both (VAL-7). Nothing here is recorded: the outcome stands as it is, and is shown anew whenever it is asked for.
//
// Hooks see the whole text, not the shortened one: what they look for must not be cut in half. A view that a hook changed says nothing of
// read_output, which would lead around the hook to what it took out.

import { isRevealing, type Outcome } from '../../core/outcome.ts'
import { bytesIn, fits, startOf } from '../../core/size-limits.ts'
import type { Redactor } from '../../security/redact.ts'
import { isThenable, type MaybePromise } from '../../core/maybe-promise.ts'
import type { Clock } from '../../core/clock.ts'
import { decode, encode, isAttachment } from '../../core/value.ts'
import type { Logger } from '../../tools/context/context.ts'
import { defaultBudget, fit, type OutputBudget } from './truncate.ts'
import type { Hook, HookFacts } from '../admission/hook.ts'
import { merged, type ModelPart } from '../../models/model-parts.ts'
import { withoutSecrets } from './redact-outcome.ts'
import { scope } from '../async-context.ts'

export interface ShowHost {
  readonly hooks: readonly Hook[]
  readonly budget: OutputBudget
  readonly clock: Clock
  readonly logger: Logger
  readonly redact: Redactor
}

type Parts = readonly ModelPart[]

/** An outcome on its way to the model. */
export interface ToShow {
  readonly outcome: Outcome
  /** Its recorded form, where it is at hand. */
  readonly text?: string
}

/**
 * `call` names the call on record, or is '' for one that is not; it is what read_output takes, which the model has or has not. Without facts
 * no hook is asked. A promise only where a hook may have a word.
 */
export type Show = (
  given: ToShow,
  call: string,
  byModel: boolean,
  facts: (() => HookFacts) | null,
) => MaybePromise<Parts>

/** How long a batch waits for a project hook. */
const patienceMs = 5_000
const unbounded: OutputBudget = { bytes: Number.MAX_SAFE_INTEGER, lines: Number.MAX_SAFE_INTEGER }

export function showing(host: ShowHost): Show {
  const { budget } = host
  const hooks = host.hooks.filter((hook) => hook.project).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const fitted = ({ outcome, text }: ToShow, call: string, byModel: boolean, most: OutputBudget): Parts =>
    fit(outcome, most, call === '' ? null : call, text, byModel).parts
  const byDefault = (given: ToShow, call: string, byModel: boolean): Parts => {
    // Before it is cut: half a secret is not known again. Asked each time: a token that a call was given is a secret from then on.
    const shown = host.redact.active ? shownOf(given, host.redact) : given
    const note = noteOf(shown.outcome, budget)
    if (note === null) return fitted(shown, call, byModel, budget)
    return merged([note, ...fitted(shown, call, byModel, without(budget, bytesIn(note.text)))])
  }
  if (hooks.length === 0) return byDefault
  return (given, call, byModel, facts) =>
    facts === null ? byDefault(given, call, byModel) : hooked(given, call, byModel, facts())

  async function hooked(given: ToShow, call: string, byModel: boolean, about: HookFacts): Promise<Parts> {
    const { outcome } = given
    const { outcome: shown } = host.redact.active ? shownOf(given, host.redact) : given
    const note = noteOf(shown, unbounded)
    const whole = note ? merged([note, ...fit(shown, unbounded, null).parts]) : fit(shown, unbounded, null).parts
    let parts = whole
    // By name, each on what the one before it made. One that fails changes nothing: what the others took out stays out.
    for (const hook of hooks) parts = (await changed(hook, { about, call, outcome, parts }, host)) ?? parts
    return parts === whole
      ? byDefault(given, call, byModel)
      : within(host.redact.active ? host.redact.deep(parts) : parts, outcome, budget)
  }
}

/** What people did with the call comes first: what follows is not what the model asked for. It has a quarter of the room. */
function noteOf({ note }: Outcome, { bytes }: OutputBudget): Extract<ModelPart, { type: 'text' }> | null {
  if (note === undefined) return null
  const most = Math.floor((bytes ?? defaultBudget.bytes) / 4) - 8
  return { type: 'text', text: `[${fits(note, most) ? note : `${startOf(note, most)}…`}]\n` }
}

const without = ({ bytes, tokens, ...rest }: OutputBudget, taken: number): OutputBudget => ({
  ...rest,
  ...(bytes === undefined ? {} : { bytes: bytes - taken }),
  ...(tokens === undefined ? {} : { tokens: Math.max(1, tokens - Math.ceil(taken / 4)) }),
})

function shownOf(given: ToShow, redact: Redactor): ToShow {
  if (isRevealing(given.outcome)) return given
  const outcome = withoutSecrets(given.outcome, given.text, redact)
  return outcome === given.outcome ? given : { outcome }
}

interface Shown {
  readonly about: HookFacts
  readonly call: string
  readonly outcome: Outcome
  readonly parts: Parts
}

/** Undefined: as it was. */
async function changed(
  hook: Hook,
  { about, call, outcome, parts }: Shown,
  { clock, logger }: ShowHost,
): Promise<Parts | undefined> {
  const { tool, callId } = about
  const fault = (what: string, error?: unknown): undefined => {
    logger.error(`A project hook ${what}; the model reads what it would read without it`, {
      hook: hook.name,
      tool,
      callId,
      error,
    })
  }
  let callOff = (): void => {}
  try {
    // Copies: what a hook does to them is not what the program gets, nor what the next hook sees.
    const own = decode(encode(outcome)) as unknown as Outcome
    const shown = parts.map((part) => ({ ...part }))
    const given = scope.run({ tool, callId, call, logger }, (): unknown => hook.project?.(about, own, shown))
    const tooLate = (): Promise<typeof late> =>
      new Promise((resolve) => (callOff = clock.timer(patienceMs, () => resolve(late))))
    const said = isThenable(given) ? await Promise.race([given, tooLate()]) : given
    if (said === late) return fault(`gave nothing within ${patienceMs} ms`)
    if (said === undefined || said === null) return undefined
    return areParts(said) ? merged(said) : fault('gave something that is not a list of parts')
  } catch (error) {
    return fault('threw', error)
  } finally {
    callOff()
  }
}

const late = Symbol('late')

const areParts = (said: unknown): said is Parts => Array.isArray(said) && said.every(isPart)

function isPart(part: unknown): part is ModelPart {
  const { type, text, attachment } = (part ?? {}) as Record<string, unknown>
  return type === 'text' ? typeof text === 'string' : type === 'attachment' && isAttachment(attachment)
}

/** Over the budget the text is shortened as one, and the attachments follow it. */
function within(parts: Parts, outcome: Outcome, budget: OutputBudget): Parts {
  const attachments = parts.filter((part) => part.type === 'attachment')
  // With attachments read as null, JSON stays JSON.
  const between = outcome.status === 'success' && typeof outcome.value !== 'string' ? 'null' : ''
  const text = parts.map((part) => (part.type === 'text' ? part.text : between)).join('')
  const fitted = fit({ status: 'success', value: text }, budget, null)
  if (attachments.length === 0) return fitted.parts
  return fitted.cut === null ? parts : [...fitted.parts, ...attachments]
}
