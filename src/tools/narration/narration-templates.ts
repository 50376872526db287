// The narration of a tool: a line about a call for people who follow the session, in their language, for each phase.

import type { Json } from '../../core/tool-value.ts'

/** Where a call is, for the text about it. */
export type Phase = 'started' | 'waiting' | 'completed' | 'failed'

/** What a narration function may use: the phase and, at the end, the outcome. */
export interface Narrating {
  /** Where the call is. */
  readonly phase: Phase
  /** The reader's locale: 'en', 'de', 'pt-BR'. */
  readonly locale: string
  /** The result, when the call is completed. */
  readonly value?: Json
}

/** Returns a sentence without a full stop; undefined to use the default. */
export type Narrate<Input> = (input: Input, about: Narrating) => string | undefined

/** `{}` is replaced by the subject of the call. */
export interface Narration {
  /** Text while the call runs. */
  readonly started: string
  /** Text after a success. */
  readonly completed: string
  /** Text after a failure. */
  readonly failed: string
  /** Text while it waits for a person or an external result. Default: that of `started` with an ellipsis. */
  readonly waiting?: string
}

/**
 * Builds a `narrate` function from phrases by language and the subject of a call, such as a file name. English is the
 * fallback.
 */
export const narrate =
  <Input>(
    phrases: { readonly en: Narration; readonly [language: string]: Narration },
    about?: (input: Input) => unknown,
  ): Narrate<Input> =>
  (input, { phase, locale }) => {
    const { started, completed, failed, waiting = `${started}…` } = forLocale(phrases, locale)
    const text = { started, completed, failed, waiting }[phase]
    const subject = shortLine(about?.(input))
    return subject === '' ? text.replace(/\s*\{\}/, '').trim() : text.replace('{}', () => subject)
  }

/** The entry for a locale: 'de-AT' uses 'de', and English is the fallback. */
export function forLocale<T>(phrases: { readonly en: T; readonly [language: string]: T }, locale: string): T {
  const [language = 'en'] = locale.toLowerCase().split(/[-_]/)
  return (Object.hasOwn(phrases, language) ? phrases[language] : undefined) ?? phrases.en
}

/** Replaces line breaks, control and invisible characters by spaces. */
export const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()

/** One line, short enough to be part of a sentence. */
export function shortLine(value: unknown, maxLength = 60): string {
  if (typeof value !== 'string' && typeof value !== 'number') return ''
  const line = oneLine(String(value))
  return line.length <= maxLength ? line : `${line.slice(0, maxLength - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
