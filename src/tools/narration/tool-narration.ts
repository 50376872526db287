// NARRATION: what a tool says of a call to people who watch, in their language (SESS-9): while it runs, while it waits, when it is done, when it failed.

import type { Json } from '../../core/value.ts'

export type Phase = 'started' | 'waiting' | 'completed' | 'failed'

export interface Narrating {
  readonly phase: Phase
  /** As the watcher prefers it: 'en', 'de', 'pt-BR'. */
  readonly locale: string
  /** What it gave, when it is completed. */
  readonly value?: Json
}

/** A sentence without a full stop; undefined where the tool has no words of its own. */
export type Narrate<Input> = (input: Input, about: Narrating) => string | undefined

/** `{}` stands for what the call is about. */
export interface Narration {
  readonly started: string
  readonly completed: string
  readonly failed: string
  readonly waiting?: string
}

/** Words by language, and what a call is about: a file's name, a host. English where a language is missing. */
export const narrate =
  <Input>(
    words: { readonly en: Narration; readonly [language: string]: Narration },
    about?: (input: Input) => unknown,
  ): Narrate<Input> =>
  (input, { phase, locale }) => {
    const { started, completed, failed, waiting = `${started}…` } = inLanguage(words, locale)
    const text = { started, completed, failed, waiting }[phase]
    const named = brief(about?.(input))
    return named === '' ? text.replace(/\s*\{\}/, '').trim() : text.replace('{}', () => named)
  }

/** What there is for a locale: 'de-AT' is read as 'de', and English stands in for what is missing. */
export function inLanguage<T>(words: { readonly en: T; readonly [language: string]: T }, locale: string): T {
  const [language = 'en'] = locale.toLowerCase().split(/[-_]/)
  return (Object.hasOwn(words, language) ? words[language] : undefined) ?? words.en
}

/** Without what breaks a line, or is not seen. */
export const oneLine = (text: string): string =>
  text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()

/** One line of it, short enough to stand in a sentence. */
export function brief(of: unknown, longest = 60): string {
  if (typeof of !== 'string' && typeof of !== 'number') return ''
  const line = oneLine(String(of))
  return line.length <= longest ? line : `${line.slice(0, longest - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
