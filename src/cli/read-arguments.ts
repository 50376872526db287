// Reads values from the command line: JSON, numbers and durations, and `-` for stdin. A wrong one is a usage error.

import { parseDuration, type Duration } from '../core/duration.ts'
import { similarNames } from '../core/similar-names.ts'
import type { Json } from '../core/tool-value.ts'
import { CliError, exitCodes } from './exit-codes.ts'

/** More is no argument of a tool. */
const maxStdinBytes = 64 * 1024 * 1024

export async function readStdin(): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of process.stdin as AsyncIterable<Uint8Array>) {
    size += part.length
    if (size > maxStdinBytes) throw new CliError(exitCodes.usage, 'stdin has more than 64 MiB.')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** The text, or all of stdin for `-`. */
export const textOrStdin = async (text: string): Promise<string> =>
  text === '-' ? (await readStdin()).replace(/\r?\n$/, '') : text

/** JSON from an argument or, for `-`, from stdin. */
export async function readJson(given: string, name: string): Promise<Json> {
  const text = await textOrStdin(given)
  try {
    return JSON.parse(text) as Json
  } catch (error) {
    throw new CliError(exitCodes.usage, `${name} is no JSON: ${(error as Error).message}`)
  }
}

/** JSON if it is some, else the text itself. */
function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}

/** The answer to a question is a text or a list of choices: '42' is a text too. */
export const answerOf = (text: string, { kind }: { readonly kind: string }): Json =>
  kind === 'question' && !/^\s*["[{]/.test(text) ? text : jsonOrText(text)

export function readDuration(text: string, flag: string): Duration {
  if (parseDuration(text) !== undefined && !/^\d+$/.test(text)) return text as Duration
  throw new CliError(exitCodes.usage, `${flag} is '${text}'; it must be a duration like 30s, 5m, 2h or 30d.`)
}

export function readCount(text: string | undefined, flag: string, fallback: number, max = 1_000): number {
  if (text === undefined) return fallback
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value
  throw new CliError(exitCodes.usage, `${flag} is '${text}'; it must be a whole number from 1 to ${max}.`)
}

/** Options without those that are undefined: an absent option must not be sent. */
export type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> }
export function given<T extends object>(options: T): Given<T> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<T>
}

/** There is none of this name; similar ones are suggested. */
export function notFound(what: string, name: string, known: readonly string[]): CliError {
  const similar = similarNames(name, known)
  const hint = similar.length > 0 ? ` Did you mean ${similar.map((each) => `'${each}'`).join(' or ')}?` : ''
  return new CliError(exitCodes.notFound, `There is no ${what} '${name}'.${hint}`)
}
