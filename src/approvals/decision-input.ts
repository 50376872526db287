// What a person says about an item of the inbox, checked before anything is looked up or written.

import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import { bytesIn, fits } from '../core/size-limits.ts'
import { decode, encode, type Json } from '../core/value.ts'
import { type ArgumentPatterns, compilePatterns, isPlain, refuseAt } from '../policy/conditions.ts'
import type { RememberScope } from '../policy/match-remembered.ts'

export interface Remember {
  /** For this session (the default), for whoever asked in all their sessions, or for the whole tenant. */
  readonly scope?: RememberScope
  /** Only for arguments like these. */
  readonly when?: ArgumentPatterns
  /** How long; a day if not said, a year at most. */
  readonly for?: Duration
}

interface Said {
  /** Who decides. */
  readonly by: string
  /** For the model and the record. */
  readonly reason?: string
  /** Through which door it came; 'library' if not said. */
  readonly door?: string
  /** The item must be of this tenant, and session; of another it is as unknown as one that never was. */
  readonly tenant?: string
  readonly session?: string
  /** Of what was shown: the decision is refused if it is about something else. */
  readonly fingerprint?: string
}

export type InboxDecision = Said &
  (
    | { readonly approve: true; readonly edit?: unknown; readonly remember?: true | Remember }
    | { readonly edit: unknown }
    | { readonly deny: true; readonly remember?: true | Remember }
    | { readonly answer: unknown }
  )

/** The same, as it is worked with. */
export interface Word {
  readonly verb: 'approve' | 'deny' | 'edit' | 'answer'
  readonly by: string
  readonly door: string
  readonly reason?: string
  readonly tenant?: string
  readonly session?: string
  readonly fingerprint?: string
  /** Other arguments, or the answer; recorded form. */
  readonly value?: string
  readonly remember?: { readonly scope: RememberScope; readonly when?: ArgumentPatterns; readonly forMs: number }
}

const known = [
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
const longestReason = 1_000
const longestRemembered = 366 * 24 * 60 * 60_000

/** Its own fields, each looked at once: neither what it inherits nor what it says at a second look counts. */
function ownOf(given: unknown): Readonly<Record<string, unknown>> | null {
  try {
    return isPlain(given) ? { ...given } : null
  } catch {
    return null
  }
}

export function wordOf(said: unknown, mostBytes: number): Word | { readonly problems: readonly string[] } {
  const problems: string[] = []
  const wrong = (why: string): void => void problems.push(why)
  const given = ownOf(said)
  if (!given)
    return {
      problems: ['A decision is an object: { approve: true, by }, { deny: true, by }, { edit, by } or { answer, by }.'],
    }
  for (const field of Object.keys(given)) if (!known.includes(field)) wrong(`There is no field '${field}'.`)
  const has = (field: string): boolean => Object.hasOwn(given, field) && given[field] !== undefined
  for (const field of ['approve', 'deny'])
    if (has(field) && given[field] !== true) wrong(`${field} must be true, or left out.`)
  const { by, reason, door = 'library', tenant, session, fingerprint, remember } = given
  const verbs = ['approve', 'deny', 'edit', 'answer'].filter(has)
  const both = verbs.length === 2 && verbs.includes('approve') && verbs.includes('edit')
  if (verbs.length !== 1 && !both) wrong('Say one of approve, deny, edit and answer.')
  const verb = both ? 'edit' : (verbs[0] as Word['verb'])
  if (!isPerson(by)) wrong('by must name who decides: a text without blanks around it.')
  if (!isName(door)) wrong('door must be a name.')
  if (
    reason !== undefined &&
    !(typeof reason === 'string' && reason.trim() !== '' && reason.length <= longestReason && reason.isWellFormed())
  )
    wrong(`reason must be a text of 1 to ${longestReason} characters.`)
  for (const [field, value] of Object.entries({ tenant, session, fingerprint }))
    if (value !== undefined && typeof value !== 'string') wrong(`${field} must be a text.`)
  const value = verb === 'edit' || verb === 'answer' ? recordable(given[verb], verb, mostBytes, wrong) : undefined
  const remembered = remember === undefined ? undefined : rememberOf(remember, wrong)
  if (remember !== undefined && verb !== 'approve' && verb !== 'deny') wrong('remember goes with approve or deny.')
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

/** Two ways to write one name would be two people: so there is one. What nobody sees is in none. */
export const isPerson = (by: unknown): by is string =>
  isName(by) &&
  by.trim() === by &&
  by.normalize('NFC') === by &&
  !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u.test(by)

function recordable(value: unknown, what: string, most: number, wrong: (why: string) => void): string | undefined {
  try {
    const text = encode(value)
    if (!fits(text, most)) wrong(`${what} has ${bytesIn(text)} bytes; at most ${most} are taken.`)
    return text
  } catch (error) {
    wrong(`${what} cannot be recorded: ${(error as Error).message}`)
    return undefined
  }
}

function rememberOf(given: unknown, wrong: (why: string) => void): Word['remember'] | undefined {
  const asked: unknown = given === true ? {} : given
  if (!isPlain(asked)) {
    wrong('remember must be true, or { scope, when, for }.')
    return undefined
  }
  for (const field of Object.keys(asked))
    if (!['scope', 'when', 'for'].includes(field)) wrong(`remember has no field '${field}'.`)
  const { scope = 'session', when, for: lasts = '1d' } = asked as Remember
  if (!['session', 'principal', 'tenant'].includes(scope))
    wrong("remember.scope must be 'session', 'principal' or 'tenant'.")
  try {
    const forMs = milliseconds(lasts, 'remember.for')
    if (forMs < 1_000 || forMs > longestRemembered) wrong('remember.for must be between a second and a year.')
    if (when !== undefined) compilePatterns(when, refuseAt('remember.when'))
    return { scope, forMs, ...(when === undefined ? {} : { when: decode(encode(when)) as ArgumentPatterns & Json }) }
  } catch (error) {
    if (!(error instanceof PawlError)) throw error
    wrong(error.message)
    return undefined
  }
}
