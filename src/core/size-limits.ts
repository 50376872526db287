// WORDS: how large things may be (VAL-8), in one table. Over a limit is a refusal that says so: never a crash, and never a sibling's loss.

import { PawlError } from './errors.ts'

interface SizeRow {
  readonly most: number
  readonly unit: 'bytes' | 'characters' | 'calls' | 'entries'
  /** What is measured, and what happens over it. */
  readonly says: string
}

const KiB = 1024
const MiB = 1024 * KiB

/** Bytes are those of the recorded form, as UTF-8. */
export const sizeTable = {
  arguments: {
    most: MiB,
    unit: 'bytes',
    says: 'The arguments of a call, and its meta. Over it the call is refused as invalid_arguments.',
  },
  result: {
    most: 8 * MiB,
    unit: 'bytes',
    says: 'An outcome, or the answer to a wait. Over it the call fails with result_too_large.',
  },
  step: {
    most: 8 * MiB,
    unit: 'bytes',
    says: 'The input or value of a step. Over it the step fails with step_too_large.',
  },
  event: {
    most: 256 * KiB,
    unit: 'characters',
    says: 'What an attempt streams to watchers, a label, a reason. Over it the text is cut.',
  },
  attachment: {
    most: 64 * MiB,
    unit: 'bytes',
    says: 'One attachment. Over it ctx.attachments.create throws attachment_too_large.',
  },
  trouble: {
    most: 64 * KiB,
    unit: 'bytes',
    says: 'What went wrong inside a call, kept for operators. Over it the causes are cut.',
  },
  batch: {
    most: 10_000,
    unit: 'calls',
    says: 'The calls of one batch. Over it run throws batch_too_long and records nothing.',
  },
  journal: {
    most: 10_000,
    unit: 'entries',
    says: 'Steps, sleeps, waits and instants of an attempt. Over it ctx throws journal_full.',
  },
} as const satisfies Record<string, SizeRow>

export type SizeName = keyof typeof sizeTable
export type Sizes = { readonly [Name in SizeName]: number }

/** The limits in force: those given, the rest from the table. Throws config_invalid. */
export function sizesOf(given: Partial<Sizes> = {}): Sizes {
  for (const [name, most] of Object.entries(given)) {
    const wrong = (why: string): never => {
      throw new PawlError('config_invalid', `sizes.${name} ${why}.`)
    }
    if (!Object.hasOwn(sizeTable, name)) wrong(`does not exist; there are ${Object.keys(sizeTable).join(', ')}`)
    if (most !== undefined && !(Number.isSafeInteger(most) && most > 0))
      wrong(`is ${String(most)}; it must be a whole number above zero`)
  }
  const names = Object.keys(sizeTable) as SizeName[]
  return Object.fromEntries(names.map((name) => [name, given[name] ?? sizeTable[name].most])) as Sizes
}

/** Whether a text has at most this many bytes. Counts them only when its length alone does not tell. */
export const fits = (text: string, bytes: number): boolean =>
  text.length * 3 <= bytes || startWithin(text, bytes) === text.length

/** As much of the start of a text as fits into so many bytes, ending at the end of a character. */
export const startOf = (text: string, bytes: number): string =>
  fits(text, bytes) ? text : text.slice(0, startWithin(text, bytes))

/** Bytes as UTF-8. */
export const bytesIn = (text: string): number => {
  let bytes = 0
  for (let at = 0; at < text.length; at++) bytes += costOfUnit(text.charCodeAt(at))
  return bytes
}

/** Of a pair of surrogates, four bytes in all, the first half counts them: a cut never falls between. */
function costOfUnit(unit: number): number {
  if (unit < 0x80) return 1
  if (unit < 0x800) return 2
  if (unit < 0xd800 || unit > 0xdfff) return 3
  return unit < 0xdc00 ? 4 : 0
}

function startWithin(text: string, most: number): number {
  let bytes = 0
  for (let at = 0; at < text.length; at++) {
    bytes += costOfUnit(text.charCodeAt(at))
    if (bytes > most) return at
  }
  return text.length
}
