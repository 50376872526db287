// The values of one session: JSON by key, in the store.

import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { type ErrorCode, PawlError } from '../../core/errors.ts'
import { utf8Bytes } from '../../core/size-limits.ts'
import type { Clock } from '../../core/clock.ts'
import { decode, encode, containsAttachment } from '../../core/tool-value.ts'
import type { ListValues, SessionValues, ValueStat } from '../../core/session-values-interface.ts'
import type { Scope } from '../../core/scope.ts'
import type { StoredDocument, Store } from '../../store/store.ts'
import { planWrite, readMark, documentNames, type Refusal, type Row, parseRow, rowName } from './value-rows.ts'
import { writerFor, type Writer } from './write-value.ts'
import { collections } from '../../store/collections.ts'

/** Quotas for the values of a session. */
export interface ValueQuotas {
  /** Maximum size of one value including its key, in bytes (default 256 KiB). */
  readonly valueBytes: number
  /** Maximum size of all values of a session, in bytes (default 16 MiB). */
  readonly bytes: number
  /** Maximum number of keys per session (default 10,000). */
  readonly keys: number
}

const KiB = 1024
const defaults: ValueQuotas = { valueBytes: 256 * KiB, bytes: 16 * KiB * KiB, keys: 10_000 }
const maxKeyLength = 255

export const valuesOption = option.nested({
  valueBytes: option.wholeNumber(1),
  bytes: option.wholeNumber(1),
  keys: option.wholeNumber(1),
} satisfies OptionTable<ValueQuotas>)

/** Fills in the defaults. */
export const valueQuotas = ({
  valueBytes = defaults.valueBytes,
  bytes = defaults.bytes,
  keys = defaults.keys,
}: Partial<ValueQuotas> = {}): ValueQuotas => ({ valueBytes, bytes, keys })

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
  const write = writerFor({ store, clock }, scope, writer)
  const change = async (
    op: 'set' | 'delete',
    key: string,
    text: string | null,
    ifRevision: number | null | undefined,
  ) => {
    const row = text === null ? null : { at: clock.now(), text }
    const refuse = (was: Row | null): Refusal | null => revisionMismatch(key, was, ifRevision)
    const count = planWrite({ op, row, key, most: quotas, refuse, full: 'values_full' })
    const event = { type: 'value.changed', body: { key, change: op === 'set' ? 'set' : 'deleted' } } as const
    const names = documentNames('value', scope, key)
    return readMark(await write({ kind: 'value', key, names, count, event }), op, key)
  }
  return {
    async get(given) {
      const key = checkKey(given)
      const stored = await store.document(rowName('value', scope, key))
      if (!stored) return undefined
      const row = parseRow(stored.value)
      return { ...statOf(key, row), value: decode(row.text) }
    },
    async set(given, value, options) {
      const key = checkKey(given)
      checkOptions(options, setOptions, 'values.set()')
      if (value === undefined)
        throw new PawlError(
          'value_invalid',
          `The value of '${key}' is undefined, which JSON cannot represent. Pass null, or call values.delete() to remove the key.`,
        )
      const text = encode(value)
      if (containsAttachment(value))
        throw new PawlError(
          'value_invalid',
          'An attachment belongs to its call. Store its bytes as a session file instead.',
        )
      const bytes = utf8Bytes(key) + utf8Bytes(text)
      if (bytes > quotas.valueBytes)
        throw new PawlError(
          'value_too_large',
          `'${key}' would have ${bytes} bytes; the quota valueBytes is ${quotas.valueBytes}.`,
          {
            details: { key, bytes, most: quotas.valueBytes },
          },
        )
      return statOf(key, (await change('set', key, text, options?.ifRevision)) as Row)
    },
    async delete(given, options) {
      const key = checkKey(given)
      checkOptions(options, deleteOptions, 'values.delete()')
      return (await change('delete', key, null, options?.ifRevision)) !== null
    },
    async list(options = {}) {
      const { prefix, after, limit } = checkListOptions(options)
      const found: StoredDocument[] = []
      // The prefix itself may be a key; the query below starts strictly after it.
      const first =
        prefix === '' || after !== undefined ? undefined : await store.document(rowName('value', scope, prefix))
      if (first) found.push(first)
      const rest = await store.documentsOf({
        of: collections.value.of,
        ...scope,
        after: after ?? prefix,
        limit: limit + 1,
      })
      found.push(...rest.filter(({ key }) => key.startsWith(prefix)))
      return {
        entries: found.slice(0, limit).map(({ key, value }) => statOf(key, parseRow(value))),
        more: found.length > limit,
      }
    },
  }
}

const statOf = (key: string, { revision, bytes, at }: Row): ValueStat => ({ key, revision, bytes, updatedAt: at })

function checkKey(key: unknown, mayBeBlank = false): string {
  const refuse = (why: string): never => {
    throw new PawlError('value_key_invalid', why)
  }
  if (typeof key !== 'string') return refuse('The key must be a string.')
  if ((key.trim() === '' && !mayBeBlank) || key.length > maxKeyLength)
    return refuse(`The key has ${key.length} characters; it must have 1 to ${maxKeyLength} and not be blank.`)
  if (!key.isWellFormed() || key.includes('\0')) return refuse('The key contains NUL or a lone surrogate.')
  return key
}

/** The refusal of a compare-and-set whose expected revision is not the current one. */
function revisionMismatch(key: string, was: Row | null, ifRevision: number | null | undefined): Refusal | null {
  if (ifRevision === undefined || (was?.revision ?? null) === ifRevision) return null
  const code: ErrorCode = 'value_changed'
  const message = was ? `'${key}' now has the revision ${was.revision}.` : `'${key}' no longer exists.`
  return { code, message, details: { now: was?.revision ?? null } }
}

const setOptions = { ifRevision: option.either(option.wholeNumber(1), option.oneOf(null)) }
const deleteOptions = { ifRevision: option.wholeNumber(1) }
const listOptions = {
  prefix: option.anything,
  after: option.anything,
  limit: option.wholeNumber(1, 1_000),
} satisfies OptionTable<ListValues>

function checkListOptions(options: ListValues): {
  prefix: string
  after: string | undefined
  limit: number
} {
  checkOptions(options, listOptions, 'values.list()')
  const { prefix = '', after, limit = 200 } = options
  // A prefix may be blank, because keys may begin with a space.
  if (prefix !== '') checkKey(prefix, true)
  if (after !== undefined && !checkKey(after).startsWith(prefix))
    throw new PawlError('config_invalid', '`after` must be a key that begins with the prefix.')
  return { prefix, after, limit }
}
