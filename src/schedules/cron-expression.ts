// The text of a cron expression, read strictly: five fields, each refused by name with the reason.
//
// What croner is given is written anew from what was read here, so nothing that it reads in its own way gets through:
// '?', '+1', '1L5' or 'monday' mean nothing to us, and a model is told so.

import { PawlError } from '../core/errors.ts'

export interface Expression {
  /** The five fields as they were given, with single spaces; an alias is spelled out. */
  readonly text: string
  /** The same in numbers only, for croner. */
  readonly plain: string
  /** Neither minute nor hour begins with '*': meant for certain times of the clock on the wall, once each (the rule of ISC cron). */
  readonly fixed: boolean
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly months: readonly number[]
  /** Whether the calendar has such a day at all: 30 February does not exist. */
  readonly matchesSomeDay: boolean
}

/** Every list of every field fits; beyond it somebody wants to keep us busy. */
const longest = 512

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
  /** What a single value may be besides a number. */
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

const show = (text: string): string => JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

function refuse(field: Field, part: string, why: string): never {
  throw new PawlError('schedule_invalid', `The ${field.name} field of the cron expression has ${show(part)}: ${why}.`, {
    details: { field: field.name, part: part.slice(0, 60) },
  })
}

/** One value of a field. A Sunday that ends a range is 7, so that SAT-SUN is a range; all others are 0. */
function valueOf(field: Field, text: string, part: string, endsRange = false): number {
  const named = field.names?.indexOf(text) ?? -1
  if (named >= 0) return field.name === 'month' ? named + 1 : named === 0 && endsRange ? 7 : named
  if (!/^\d{1,2}$/.test(text))
    refuse(
      field,
      part,
      `${show(text)} is not a number${field.names ? ` or a name like ${field.names[1]?.toUpperCase()}` : ''}`,
    )
  const value = Number(text)
  if (value < field.least || value > field.most)
    refuse(field, part, `a ${field.name} is from ${field.least} to ${field.most}`)
  return value
}

interface Read {
  readonly star: boolean
  readonly startsWithStar: boolean
  readonly values: readonly number[]
  /** 'L', and for weekdays '1#2' and '5L', in numbers. */
  readonly special: readonly string[]
}

function readField(field: Field, text: string): Read {
  const values = new Set<number>()
  const special = new Set<string>()
  const days = field.name === 'day of week'
  const add = (value: number): void => void values.add(days && value === 7 ? 0 : value)
  for (const part of text.toLowerCase().split(',')) {
    if (part === '') refuse(field, text, 'something is missing beside a comma')
    const marked = field.special?.exec(part)
    if (marked) {
      // In the day of month the mark stands alone; for a weekday it follows one.
      special.add(days ? `${valueOf(field, marked[1] as string, part) % 7}${(marked[2] as string).toUpperCase()}` : 'L')
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
    const from = range === '*' ? field.least : valueOf(field, first, part)
    const to =
      range === '*' ? field.most - (days ? 1 : 0) : last === undefined ? from : valueOf(field, last, part, true)
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

/** The most days each month can have. */
const longestMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

export function readExpression(given: string): Expression {
  if (typeof given !== 'string') throw new PawlError('schedule_invalid', 'The cron expression is not a text.')
  if (given.length > longest) {
    throw new PawlError(
      'schedule_invalid',
      `The cron expression has ${given.length} characters; ${longest} are enough for any.`,
    )
  }
  const trimmed = given.trim()
  const parts = (aliases.get(trimmed.toLowerCase()) ?? trimmed).split(/\s+/)
  if (trimmed.startsWith('@') && parts.length === 1) {
    throw new PawlError(
      'schedule_invalid',
      `There is no alias ${show(trimmed)}; there are ${[...aliases.keys()].join(', ')}.`,
    )
  }
  if (parts.length !== 5 || trimmed === '') {
    const count = trimmed === '' ? 0 : parts.length
    throw new PawlError(
      'schedule_invalid',
      `The cron expression ${show(trimmed)} has ${count} field${count === 1 ? '' : 's'}; it needs exactly 5: minute, hour, day of month, month, day of week.`,
    )
  }
  const [minute, hour, day, month, weekday] = fields.map((field, at) => readField(field, parts[at] as string)) as [
    Read,
    Read,
    Read,
    Read,
    Read,
  ]
  const plain = (field: Read): string => (field.star ? '*' : [...field.values, ...field.special].join(','))
  return {
    text: parts.join(' '),
    plain: [minute, hour, day, month, weekday].map(plain).join(' '),
    fixed: !minute.startsWithStar && !hour.startsWithStar,
    minutes: minute.values,
    hours: hour.values,
    months: month.values,
    // A weekday that is given makes days of its own: day and weekday are joined by "or".
    matchesSomeDay:
      day.star ||
      !weekday.star ||
      day.special.length > 0 ||
      month.values.some((at) => day.values.some((value) => value <= (longestMonth[at - 1] as number))),
  }
}
