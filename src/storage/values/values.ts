// VALUES: the values of one session, JSON by key, in the store.

import { type ErrorCode, PawlError } from '../../core/errors.ts'
import { bytesIn } from '../../core/size-limits.ts'
import type { Clock } from '../../core/clock.ts'
import { decode, encode, holdsAttachment } from '../../core/value.ts'
import type { ListValues, SessionValues, ValueStat } from '../../core/session-values.ts'
import type { StoredDocument, Store } from '../../store/store.ts'
import { counting, doneBy, namesOf, type Refused, type Row, rowIn, rowName, type Scope } from './value-rows.ts'
import { writeBy, type Writer } from './write-value.ts'

export interface ValueQuotas {
  /** Of one value, with its key. */
  readonly valueBytes: number
  /** Of all values together. */
  readonly bytes: number
  readonly keys: number
}

const KiB = 1024
const defaults: ValueQuotas = { valueBytes: 256 * KiB, bytes: 16 * KiB * KiB, keys: 10_000 }
const longestKey = 255

/** Those given, the rest as always. Throws config_invalid. */
export function valueQuotas(given: Partial<ValueQuotas> = {}): ValueQuotas {
  for (const [name, most] of Object.entries(given)) {
    if (!Object.hasOwn(defaults, name))
      throw new PawlError('config_invalid', `values.${name} does not exist; there are valueBytes, bytes, keys.`)
    if (most !== undefined && !(Number.isSafeInteger(most) && most > 0))
      throw new PawlError('config_invalid', `values.${name} is ${String(most)}; it must be a whole number above zero.`)
  }
  const { valueBytes = defaults.valueBytes, bytes = defaults.bytes, keys = defaults.keys } = given
  return { valueBytes, bytes, keys }
}

export interface ValueParts {
  readonly store: Store
  readonly clock: Clock
  readonly quotas: ValueQuotas
}

export function openValues(
  { store, clock, quotas }: ValueParts,
  { tenant, session }: Scope,
  writer?: Writer,
): SessionValues {
  const scope = { tenant, session }
  const write = writeBy({ store, clock }, scope, writer)
  const change = async (
    op: 'set' | 'delete',
    key: string,
    text: string | null,
    ifRevision: number | null | undefined,
  ) => {
    const row = text === null ? null : { at: clock.now(), text }
    const refuse = (was: Row | null): Refused | null => unexpected(key, was, ifRevision)
    const count = counting({ op, row, key, most: quotas, refuse, full: 'values_full' })
    const tells = { type: 'value.changed', body: { key, change: op === 'set' ? 'set' : 'deleted' } } as const
    return doneBy(await write({ of: 'value', key, names: namesOf('value', scope, key), count, tells }), op, key)
  }
  return {
    async get(given) {
      const key = keyOf(given)
      const kept = await store.document(rowName('value', scope, key))
      if (!kept) return undefined
      const row = rowIn(kept.value)
      return { ...statOf(key, row), value: decode(row.text) }
    },
    async set(given, value, { ifRevision } = {}) {
      const key = keyOf(given)
      checkRevision(ifRevision, true)
      const text = encode(value)
      if (holdsAttachment(value))
        throw new PawlError(
          'value_invalid',
          'An attachment belongs to its call: keep its bytes as a file of the session.',
        )
      const bytes = bytesIn(key) + bytesIn(text)
      if (bytes > quotas.valueBytes)
        throw new PawlError(
          'value_too_large',
          `'${key}' would have ${bytes} bytes; the quota valueBytes is ${quotas.valueBytes}.`,
          {
            details: { key, bytes, most: quotas.valueBytes },
          },
        )
      return statOf(key, (await change('set', key, text, ifRevision)) as Row)
    },
    async delete(given, { ifRevision } = {}) {
      const key = keyOf(given)
      checkRevision(ifRevision, false)
      return (await change('delete', key, null, ifRevision)) !== null
    },
    async list(options = {}) {
      const { prefix, after, limit } = listOf(options)
      const found: StoredDocument[] = []
      // The prefix itself is a key too, and what begins with it follows it.
      const first =
        prefix === '' || after !== undefined ? undefined : await store.document(rowName('value', scope, prefix))
      if (first) found.push(first)
      const rest = await store.documentsOf({ of: 'value', ...scope, after: after ?? prefix, limit: limit + 1 })
      found.push(...rest.filter(({ key }) => key.startsWith(prefix)))
      return {
        entries: found.slice(0, limit).map(({ key, value }) => statOf(key, rowIn(value))),
        more: found.length > limit,
      }
    },
  }
}

const statOf = (key: string, { revision, bytes, at }: Row): ValueStat => ({ key, revision, bytes, updatedAt: at })

function keyOf(key: unknown, mayBeBlank = false): string {
  const wrong = (why: string): never => {
    throw new PawlError('value_key_invalid', why)
  }
  if (typeof key !== 'string') return wrong('It is not a text.')
  if ((key.trim() === '' && !mayBeBlank) || key.length > longestKey)
    return wrong(`It has ${key.length} characters; 1 to ${longestKey} are taken, not all blank.`)
  if (!key.isWellFormed() || key.includes('\0')) return wrong('It has NUL or half a character.')
  return key
}

function checkRevision(revision: unknown, mayBeNull: boolean): void {
  if (
    revision === undefined ||
    (revision === null && mayBeNull) ||
    (Number.isSafeInteger(revision) && (revision as number) > 0)
  )
    return
  throw new PawlError(
    'config_invalid',
    `ifRevision is ${JSON.stringify(revision)}; it must be the revision of a value${mayBeNull ? ', or null' : ''}.`,
  )
}

/** The condition of a compare-and-set. */
function unexpected(key: string, was: Row | null, ifRevision: number | null | undefined): Refused | null {
  if (ifRevision === undefined || (was?.revision ?? null) === ifRevision) return null
  const code: ErrorCode = 'value_changed'
  const message = was ? `'${key}' has the revision ${was.revision} now.` : `There is no '${key}' any more.`
  return { code, message, details: { now: was?.revision ?? null } }
}

function listOf({ prefix = '', after, limit = 200 }: ListValues): {
  prefix: string
  after: string | undefined
  limit: number
} {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1000)
    throw new PawlError('config_invalid', `limit is ${String(limit)}; it must be a whole number from 1 to 1000.`)
  // Keys may begin with a blank.
  if (prefix !== '') keyOf(prefix, true)
  if (after !== undefined && !keyOf(after).startsWith(prefix))
    throw new PawlError('config_invalid', 'after is not a key that begins with the prefix.')
  return { prefix, after, limit }
}
