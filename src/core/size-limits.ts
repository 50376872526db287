// The table of size limits. Exceeding one is an error with a code, never a crash, and never affects other calls.

import { option } from './check-options.ts'

interface SizeRow {
  readonly most: number
  readonly unit: 'bytes' | 'characters' | 'calls' | 'entries' | 'levels'
  /** The measured value, and the effect of exceeding the limit. Printed in docs/reference/sizes.md. */
  readonly description: string
}

const KiB = 1024
const MiB = 1024 * KiB

/** Bytes are UTF-8 bytes of the recorded form. */
export const sizeTable = {
  arguments: {
    most: MiB,
    unit: 'bytes',
    description: 'The arguments of a call, and its meta. Above it the call is rejected with invalid_arguments.',
  },
  result: {
    most: 8 * MiB,
    unit: 'bytes',
    description: 'An outcome, or the answer to a wait. Above it the call fails with result_too_large.',
  },
  step: {
    most: 8 * MiB,
    unit: 'bytes',
    description: 'The input or value of a step. Above it the step fails with step_too_large.',
  },
  event: {
    most: 256 * KiB,
    unit: 'characters',
    description: 'The live output of an attempt, a progress label, a reason. Above it the text is truncated.',
  },
  attachment: {
    most: 64 * MiB,
    unit: 'bytes',
    description: 'One attachment. Above it ctx.attachments.create throws attachment_too_large.',
  },
  trouble: {
    most: 64 * KiB,
    unit: 'bytes',
    description: 'The diagnostics of a call, stored for operators. Above it the causes are truncated.',
  },
  batch: {
    most: 10_000,
    unit: 'calls',
    description: 'The calls of one batch. Above it run throws batch_too_long and records nothing.',
  },
  journal: {
    most: 10_000,
    unit: 'entries',
    description: 'Steps, sleeps, waits and recorded times of an attempt. Above it ctx throws journal_full.',
  },
  nesting: {
    most: 32,
    unit: 'levels',
    description: 'Nested calls, one inside the body of the other. Above it the call fails with nested_too_deep.',
  },
} as const satisfies Record<string, SizeRow>

export type SizeName = keyof typeof sizeTable
/** Maximum sizes by name, in bytes, characters or items; docs/guide lists them with their defaults. */
export type Sizes = { readonly [Name in SizeName]: number }

export const sizesOption = option.nested(
  Object.fromEntries(Object.keys(sizeTable).map((name) => [name, option.wholeNumber(1)])),
)

/** The given limits, with defaults from the table. */
export function resolveSizes(given: Partial<Sizes> = {}): Sizes {
  const names = Object.keys(sizeTable) as SizeName[]
  return Object.fromEntries(names.map((name) => [name, given[name] ?? sizeTable[name].most])) as Sizes
}

/** True if the text has at most this many UTF-8 bytes. Counts them only if the string is not clearly short enough. */
export const fits = (text: string, bytes: number): boolean =>
  text.length * 3 <= bytes || lengthWithinBytes(text, bytes) === text.length

/** The longest prefix of at most this many bytes that does not cut a character. */
export const truncateToBytes = (text: string, bytes: number): string =>
  fits(text, bytes) ? text : text.slice(0, lengthWithinBytes(text, bytes))

/** The first `max` characters (UTF-16 units), one fewer if the last one would be half of a surrogate pair. */
export const truncateToLength = (text: string, max: number): string => {
  const splitsPair =
    text.length > max && /[\uD800-\uDBFF]/.test(text[max - 1] ?? '') && /[\uDC00-\uDFFF]/.test(text[max] ?? '')
  return text.slice(0, splitsPair ? max - 1 : max)
}

export const utf8Bytes = (text: string): number => {
  let bytes = 0
  for (let at = 0; at < text.length; at++) bytes += bytesOfUnit(text.charCodeAt(at))
  return bytes
}

/** The four bytes of a surrogate pair are counted at its first half, so a cut never splits the pair. */
function bytesOfUnit(unit: number): number {
  if (unit < 0x80) return 1
  if (unit < 0x800) return 2
  if (unit < 0xd800 || unit > 0xdfff) return 3
  return unit < 0xdc00 ? 4 : 0
}

function lengthWithinBytes(text: string, most: number): number {
  let bytes = 0
  for (let at = 0; at < text.length; at++) {
    bytes += bytesOfUnit(text.charCodeAt(at))
    if (bytes > most) return at
  }
  return text.length
}
