// Parses and validates the argument of `decide()` before anything is read or written.

import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import { utf8Bytes, fits } from '../core/size-limits.ts'
import { decode, encode, type Json } from '../core/tool-value.ts'
import { type ArgumentPatterns, compilePatterns, isPlain, refuseAt } from '../policy/conditions.ts'
import type { RememberScope } from '../policy/match-remembered-rules.ts'

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

const knownFields = [
  'approve',
  'deny',
  'edit',
  'answer',
  'by',
  'reason',
  'door',
  'tenant',
  'session',
  'fingerprint',
  'remember',
]
const maxReasonLength = 1_000
const maxRememberMs = 366 * 24 * 60 * 60_000

/** A copy of the object's own fields: inherited fields are ignored, and each getter is read only once. */
function ownFields(input: unknown): Readonly<Record<string, unknown>> | null {
  try {
    return isPlain(input) ? { ...input } : null
  } catch {
    return null
  }
}

export function parseDecision(
  input: unknown,
  maxBytes: number,
): ParsedDecision | { readonly problems: readonly string[] } {
  const problems: string[] = []
  const report = (why: string): void => void problems.push(why)
  const fields = ownFields(input)
  if (!fields)
    return {
      problems: [
        'A decision must be an object: { approve: true, by }, { deny: true, by }, { edit, by } or { answer, by }.',
      ],
    }
  for (const field of Object.keys(fields))
    if (!knownFields.includes(field)) report(`A decision has no field '${field}'.`)
  const has = (field: string): boolean => Object.hasOwn(fields, field) && fields[field] !== undefined
  for (const field of ['approve', 'deny'])
    if (has(field) && fields[field] !== true) report(`${field} must be true or omitted.`)
  const { by, reason, door = 'library', tenant, session, fingerprint, remember } = fields
  const verbs = ['approve', 'deny', 'edit', 'answer'].filter(has)
  const approveWithEdit = verbs.length === 2 && verbs.includes('approve') && verbs.includes('edit')
  if (verbs.length !== 1 && !approveWithEdit)
    report('A decision needs exactly one of approve, deny, edit and answer; only approve and edit can be combined.')
  const verb = approveWithEdit ? 'edit' : (verbs[0] as ParsedDecision['verb'])
  if (!isPerson(by)) report('by must name the person who decides, as a string without surrounding whitespace.')
  if (!isName(door)) report('door must be a string of 1 to 512 characters.')
  if (
    reason !== undefined &&
    !(typeof reason === 'string' && reason.trim() !== '' && reason.length <= maxReasonLength && reason.isWellFormed())
  )
    report(`reason must be a string of 1 to ${maxReasonLength} characters.`)
  for (const [field, value] of Object.entries({ tenant, session, fingerprint }))
    if (value !== undefined && typeof value !== 'string') report(`${field} must be a string.`)
  const value = verb === 'edit' || verb === 'answer' ? encodeField(fields[verb], verb, maxBytes, report) : undefined
  const remembered = remember === undefined ? undefined : parseRemember(remember, report)
  if (remember !== undefined && verb !== 'approve' && verb !== 'deny') report('remember requires approve or deny.')
  if (problems.length > 0) return { problems }
  return {
    verb,
    by: by as string,
    door: door as string,
    ...(reason === undefined ? {} : { reason: reason as string }),
    ...(tenant === undefined ? {} : { tenant: tenant as string }),
    ...(session === undefined ? {} : { session: session as string }),
    ...(fingerprint === undefined ? {} : { fingerprint: fingerprint as string }),
    ...(value === undefined ? {} : { value }),
    ...(remembered === undefined ? {} : { remember: remembered }),
  }
}

/** One spelling per person: two spellings of a name would count as two voters. Invisible characters are rejected. */
export const isPerson = (by: unknown): by is string =>
  isName(by) &&
  by.trim() === by &&
  by.normalize('NFC') === by &&
  !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(by)

function encodeField(
  value: unknown,
  field: string,
  maxBytes: number,
  report: (why: string) => void,
): string | undefined {
  try {
    const text = encode(value)
    if (!fits(text, maxBytes)) report(`${field} has ${utf8Bytes(text)} bytes; the limit is ${maxBytes}.`)
    return text
  } catch (error) {
    report(`${field} cannot be recorded: ${(error as Error).message}`)
    return undefined
  }
}

function parseRemember(input: unknown, report: (why: string) => void): ParsedDecision['remember'] | undefined {
  const fields: unknown = input === true ? {} : input
  if (!isPlain(fields)) {
    report('remember must be true or { scope, when, for }.')
    return undefined
  }
  for (const field of Object.keys(fields))
    if (!['scope', 'when', 'for'].includes(field)) report(`remember has no field '${field}'.`)
  const { scope = 'session', when, for: duration = '1d' } = fields as Remember
  if (!['session', 'principal', 'tenant'].includes(scope))
    report("remember.scope must be 'session', 'principal' or 'tenant'.")
  try {
    const forMs = milliseconds(duration, 'remember.for')
    if (forMs < 1_000 || forMs > maxRememberMs) report('remember.for must be between one second and one year.')
    if (when !== undefined) compilePatterns(when, refuseAt('remember.when'))
    return { scope, forMs, ...(when === undefined ? {} : { when: decode(encode(when)) as ArgumentPatterns & Json }) }
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    report(error.message)
    return undefined
  }
}
