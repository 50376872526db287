// How values look on a terminal: times, outcomes, arguments.

import { systemClock } from '../../core/clock.ts'
import { dim, green, magenta, type Piece, red, yellow } from './output.ts'

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** '3m', '2h', '5d'. */
export function span(ms: number): string {
  const size = Math.abs(ms)
  for (const [unit, length] of units) if (size >= length) return `${Math.floor(size / length)}${unit}`
  return `${Math.round(size)}ms`
}

/** '3m ago', or 'in 2h'. */
export function relativeTime(at: number, now: number = systemClock.now()): string {
  return at <= now ? (now - at < 1_000 ? 'now' : `${span(now - at)} ago`) : `in ${span(at - now)}`
}

/** The local time, with the day unless it is today. */
export function timeOf(at: number): string {
  const [day = '', time = ''] = localIso(at).split(' ')
  return localIso(systemClock.now()).startsWith(day) ? time : `${day} ${time}`
}

const two = (n: number): string => String(n).padStart(2, '0')
export function localIso(at: number): string {
  const date = new Date(at)
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** A time with its distance. */
export const timeWithDistance = (at: number): Piece => [localIso(at), '  ', dim(relativeTime(at))]

/** A state of a call, turn, task or schedule, in its colour. */
export function stateOf(state: string): Piece {
  switch (state) {
    case 'success':
    case 'succeeded':
    case 'active':
    case 'running':
      return green(state)
    case 'failure':
    case 'failed':
      return red(state)
    case 'unknown':
      return magenta(state)
    case 'waiting':
    case 'parked':
    case 'awaiting_input':
    case 'paused':
      return yellow(state)
    default:
      return dim(state)
  }
}

/** JSON in one line. */
export const inline = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === undefined || text === '{}' ? '' : text
}

/** JSON with line breaks; a text as it is. */
export const indented = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? '')

/** The message of an outcome that is no success. */
export function problemOf(outcome: {
  readonly status: string
  readonly failure?: { readonly code: string; readonly message: string }
  readonly cancellation?: { readonly message: string }
  readonly unknown?: { readonly message: string }
}): string {
  const { failure, cancellation, unknown } = outcome
  if (failure) return `${failure.code}: ${failure.message}`
  return cancellation?.message ?? unknown?.message ?? outcome.status
}

export const count = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`
