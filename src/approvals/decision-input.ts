// Parses and validates the argument of `decide()` before anything is read or written.

import { option, type OptionCheck, optionProblem, type OptionTable } from '../core/check-options.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import { asSentence, PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import { utf8Bytes, fits } from '../core/size-limits.ts'
import { decode, defined, encode, type Json } from '../core/tool-value.ts'
import { type ArgumentPatterns, compilePatterns, isPlain, refuseAt } from '../policy/conditions.ts'
import type { RememberScope } from '../policy/match-remembered-rules.ts'

/** A rule to remember with a decision, so that later calls of the tool do not ask. */
export interface Remember {
  /** 'session' (default), 'principal' (all sessions of the principal that made the call) or 'tenant'. */
  readonly scope?: RememberScope
  /** Limits the rule to arguments that match these patterns. */
  readonly when?: ArgumentPatterns
  /** How long the rule holds; default one day, at most one year. */
  readonly for?: Duration
}

interface DecisionFields {
  /** The person who decides. */
  readonly by: string
  /** Shown to the model and recorded. */
  readonly reason?: string
  /** Entry point the decision came through; default 'library'. */
  readonly door?: string
  /** If set, the item must belong to this tenant; otherwise the answer is `unknown`. */
  readonly tenant?: string
  /** If set, the item must belong to this session; otherwise the answer is `unknown`. */
  readonly session?: string
  /** Fingerprint that was shown; the decision is refused if the item has another one. */
  readonly fingerprint?: string
}

/** A person's decision: approve or deny, possibly with edited arguments, an answer, or a rule to remember. */
export type InboxDecision = DecisionFields &
  (
    | { readonly approve: true; readonly edit?: unknown; readonly remember?: true | Remember }
    | { readonly edit: unknown }
    | { readonly deny: true; readonly remember?: true | Remember }
    | { readonly answer: unknown }
  )

/** The validated decision. */
export interface ParsedDecision {
  readonly verb: 'approve' | 'deny' | 'edit' | 'answer'
  readonly by: string
  readonly door: string
  readonly reason?: string
  readonly tenant?: string
  readonly session?: string
  readonly fingerprint?: string
  /** Edited arguments or the answer, encoded. */
  readonly value?: string
  readonly remember?: { readonly scope: RememberScope; readonly when?: ArgumentPatterns; readonly forMs: number }
}

const maxReasonLength = 1_000
const maxRememberMs = 366 * 24 * 60 * 60_000

/** One spelling per person: two spellings of a name would count as two voters. Invisible characters are rejected. */
export const isPerson = (by: unknown): by is string =>
  isName(by) &&
  by.trim() === by &&
  by.normalize('NFC') === by &&
  !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(by)

export const rememberOptions = {
  scope: option.oneOf('session', 'principal', 'tenant'),
  when: option.object,
  for: option.durationWithin('a duration between one second and one year', (ms) => ms >= 1_000 && ms <= maxRememberMs),
} satisfies OptionTable<Remember>

/** `false` is not the opposite decision: a form that leaves a box empty must not deny or approve. */
const verb = (opposite: string): OptionCheck => ({
  ...option.oneOf(true),
  part: (value, path) =>
    value === false ? `\`${path}\` is false; leave it out, or pass \`${opposite}: true\` to ${opposite}` : undefined,
})

export const decisionOptions = {
  approve: verb('deny'),
  deny: verb('approve'),
  // Arguments and answers are data of the tool; its schema checks them.
  edit: option.anything,
  answer: option.anything,
  by: option.required({
    expected: 'the person who decides, as a string without surrounding whitespace',
    valid: isPerson,
  }),
  reason: {
    expected: `a string of 1 to ${maxReasonLength} characters`,
    valid: (value) =>
      typeof value === 'string' && value.trim() !== '' && value.length <= maxReasonLength && value.isWellFormed(),
  },
  door: option.identifier,
  tenant: option.string,
  session: option.string,
  fingerprint: option.string,
  remember: option.either(option.oneOf(true), option.nested(rememberOptions)),
} satisfies OptionTable<InboxDecision>

/** A copy of the object's own fields: inherited fields are ignored, and each getter is read only once. */
function ownFields(input: unknown): Readonly<Record<string, unknown>> | null {
  try {
    return isPlain(input) ? { ...input } : null
  } catch {
    return null
  }
}

type GivenFields = DecisionFields & { readonly remember?: true | Remember }
type Problems = { readonly problems: readonly string[] }

export function parseDecision(input: unknown, maxBytes: number): ParsedDecision | Problems {
  const fields = ownFields(input)
  if (!fields)
    return problem(
      'A decision must be an object: { approve: true, by }, { deny: true, by }, { edit, by } or { answer, by }.',
    )
  const invalid = optionProblem(fields, decisionOptions, 'decide()')
  if (invalid !== undefined) return problem(asSentence(invalid))
  const verbs = (['approve', 'deny', 'edit', 'answer'] as const).filter((verb) => fields[verb] !== undefined)
  const approveWithEdit = verbs.length === 2 && verbs.includes('approve') && verbs.includes('edit')
  const verb = approveWithEdit ? 'edit' : verbs[0]
  if (verb === undefined || (verbs.length > 1 && !approveWithEdit))
    return problem(
      'A decision needs exactly one of approve, deny, edit and answer; only approve and edit can be combined.',
    )
  const { by, reason, door = 'library', tenant, session, fingerprint, remember } = fields as unknown as GivenFields
  if (remember !== undefined && verb !== 'approve' && verb !== 'deny')
    return problem('remember requires approve or deny.')
  try {
    return {
      verb,
      by,
      door,
      ...defined({ reason, tenant, session, fingerprint }),
      ...(verb === 'edit' || verb === 'answer' ? { value: encodeField(fields[verb], verb, maxBytes) } : {}),
      ...(remember === undefined ? {} : { remember: parseRemember(remember === true ? {} : remember) }),
    }
  } catch (error) {
    if (error instanceof PawlError) return problem(error.message)
    throw error
  }
}

const problem = (why: string): Problems => ({ problems: [why] })

function encodeField(value: unknown, field: string, maxBytes: number): string {
  let text: string
  try {
    text = encode(value)
  } catch (error) {
    throw new PawlError('value_invalid', `${field} cannot be recorded: ${(error as Error).message}`)
  }
  if (!fits(text, maxBytes))
    throw new PawlError('value_invalid', `${field} has ${utf8Bytes(text)} bytes; the limit is ${maxBytes}.`)
  return text
}

function parseRemember({
  scope = 'session',
  when,
  for: duration = '1d',
}: Remember): NonNullable<ParsedDecision['remember']> {
  if (when !== undefined) compilePatterns(when, refuseAt('remember.when'))
  return {
    scope,
    forMs: milliseconds(duration, 'remember.for'),
    ...(when === undefined ? {} : { when: decode(encode(when)) as ArgumentPatterns & Json }),
  }
}
