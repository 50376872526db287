// A strict parser for cron expressions: five fields, and an error names the field and the reason.
//
// croner gets an expression generated from the parsed fields, never the input, so its extensions ('?', '+1', '1L5',
// 'monday') are rejected here with an error that a model can act on.

import { PawlError } from '../core/errors.ts'

export interface Expression {
  /** The five fields as given, separated by single spaces; aliases are expanded. */
  readonly text: string
  /** The same in numbers only, for croner. */
  readonly plain: string
  /** Neither minute nor hour begins with '*': fixed wall clock times that run once each (the rule of ISC cron). */
  readonly fixed: boolean
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly months: readonly number[]
  /** Whether any day can match at all: 30 February cannot. */
  readonly matchesSomeDay: boolean
}

/** Long enough for every meaningful expression; bounds the work of parsing. */
const maxLength = 512

const aliases = new Map(
  Object.entries({
    '@hourly': '0 * * * *',
    '@daily': '0 0 * * *',
    '@midnight': '0 0 * * *',
    '@weekly': '0 0 * * 0',
    '@monthly': '0 0 1 * *',
    '@yearly': '0 0 1 1 *',
    '@annually': '0 0 1 1 *',
  }),
)

interface Field {
  readonly name: string
  readonly least: number
  readonly most: number
  readonly names?: readonly string[]
  /** Non-numeric values that the field accepts. */
  readonly special?: RegExp
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const fields = [
  { name: 'minute', least: 0, most: 59 },
  { name: 'hour', least: 0, most: 23 },
  { name: 'day of month', least: 1, most: 31, special: /^l$/ },
  { name: 'month', least: 1, most: 12, names: months },
  { name: 'day of week', least: 0, most: 7, names: weekdays, special: /^(.+)(#[1-5]|l)$/ },
] as const satisfies readonly Field[]

const quote = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

function refuse(field: Field, part: string, why: string): never {
  throw new PawlError(
    'schedule_invalid',
    `The ${field.name} field of the cron expression has ${quote(part)}: ${why}.`,
    {
      details: { field: field.name, part: part.slice(0, 60) },
    },
  )
}

/** One value of a field. SUN is 7 at the end of a range, so that SAT-SUN is ascending, and 0 elsewhere. */
function parseValue(field: Field, text: string, part: string, endsRange = false): number {
  const named = field.names?.indexOf(text) ?? -1
  if (named >= 0) return field.name === 'month' ? named + 1 : named === 0 && endsRange ? 7 : named
  if (!/^\d{1,2}$/.test(text))
    refuse(
      field,
      part,
      `${quote(text)} is not a number${field.names ? ` or a name like ${field.names[1]?.toUpperCase()}` : ''}`,
    )
  const value = Number(text)
  if (value < field.least || value > field.most) refuse(field, part, `it must be from ${field.least} to ${field.most}`)
  return value
}

interface ParsedField {
  readonly star: boolean
  readonly startsWithStar: boolean
  readonly values: readonly number[]
  /** 'L', and for weekdays '1#2' and '5L', in numbers. */
  readonly special: readonly string[]
}

function parseField(field: Field, text: string): ParsedField {
  const values = new Set<number>()
  const special = new Set<string>()
  const days = field.name === 'day of week'
  const add = (value: number): void => void values.add(days && value === 7 ? 0 : value)
  for (const part of text.toLowerCase().split(',')) {
    if (part === '') refuse(field, text, 'a value is missing next to a comma')
    const marked = field.special?.exec(part)
    if (marked) {
      // For the day of month the mark 'L' stands alone; for a weekday '#n' or 'L' follows it.
      special.add(
        days ? `${parseValue(field, marked[1] as string, part) % 7}${(marked[2] as string).toUpperCase()}` : 'L',
      )
      continue
    }
    const [range, step, ...more] = part.split('/')
    if (range === undefined || more.length > 0) refuse(field, part, "there is more than one '/'")
    const [first, last, ...others] = range.split('-')
    if (first === undefined || others.length > 0) refuse(field, part, "a range has one '-', like 1-5")
    const size = field.most - field.least + (days ? 0 : 1)
    let by = 1
    if (step !== undefined) {
      if (range !== '*' && last === undefined)
        refuse(field, part, `a step needs a range before it: */${step} or ${range}-${field.most}/${step}`)
      if (!/^\d{1,2}$/.test(step) || Number(step) === 0 || Number(step) > size)
        refuse(field, part, `a step is a number from 1 to ${size}`)
      by = Number(step)
    }
    const from = range === '*' ? field.least : parseValue(field, first, part)
    const to =
      range === '*' ? field.most - (days ? 1 : 0) : last === undefined ? from : parseValue(field, last, part, true)
    if (from > to) refuse(field, part, 'the range ends before it begins; write it as two, with a comma')
    for (let value = from; value <= to; value += by) add(value)
  }
  return {
    star: text === '*',
    startsWithStar: text.startsWith('*'),
    values: [...values].toSorted((a, b) => a - b),
    special: [...special],
  }
}

/** The maximum number of days of each month. */
const longestMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

export function parseExpression(input: string): Expression {
  if (typeof input !== 'string') throw new PawlError('schedule_invalid', 'The cron expression must be a string.')
  if (input.length > maxLength) {
    throw new PawlError(
      'schedule_invalid',
      `The cron expression has ${input.length} characters; at most ${maxLength} are accepted.`,
    )
  }
  const trimmed = input.trim()
  const parts = (aliases.get(trimmed.toLowerCase()) ?? trimmed).split(/\s+/)
  if (trimmed.startsWith('@') && parts.length === 1) {
    throw new PawlError(
      'schedule_invalid',
      `There is no alias ${quote(trimmed)}; the aliases are ${[...aliases.keys()].join(', ')}.`,
    )
  }
  if (parts.length !== 5 || trimmed === '') {
    const count = trimmed === '' ? 0 : parts.length
    throw new PawlError(
      'schedule_invalid',
      `The cron expression ${quote(trimmed)} has ${count} field${count === 1 ? '' : 's'}; it needs exactly 5: minute, hour, day of month, month, day of week.`,
    )
  }
  const [minute, hour, day, month, weekday] = fields.map((field, at) => parseField(field, parts[at] as string)) as [
    ParsedField,
    ParsedField,
    ParsedField,
    ParsedField,
    ParsedField,
  ]
  const plain = (field: ParsedField): string => (field.star ? '*' : [...field.values, ...field.special].join(','))
  return {
    text: parts.join(' '),
    plain: [minute, hour, day, month, weekday].map(plain).join(' '),
    fixed: !minute.startsWithStar && !hour.startsWithStar,
    minutes: minute.values,
    hours: hour.values,
    months: month.values,
    // Day of month and day of week are combined with "or", so any given weekday can match.
    matchesSomeDay:
      day.star ||
      !weekday.star ||
      day.special.length > 0 ||
      month.values.some((at) => day.values.some((value) => value <= (longestMonth[at - 1] as number))),
  }
}
