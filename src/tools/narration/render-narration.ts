// Renders the line that people read about a call: the tool's own narration, or a sentence built from its title if there
// is none or it is unusable. Also the headline for several calls. Pure. A language is one row of phrases; English is
// the fallback.

import { isThenable } from '../../core/maybe-promise.ts'
import { shortLine, forLocale, type Narrate, type Narrating, oneLine, type Phase } from './narration-templates.ts'
import { hiddenValue, containsSecret, isSecretName, withoutSecrets } from './secret-fields.ts'

/** The part of a tool that its narration needs. */
export interface NarratedTool {
  readonly name: string
  readonly title?: string | undefined
  /** For a sensitive tool only its title or name is shown. */
  readonly sensitive?: boolean
  readonly narrate?: Narrate<never> | undefined
}

/** Tools have no narration for `cancelled` and `unknown`, and "failed" would be wrong. */
export type NarrationPhase = Phase | 'cancelled' | 'unknown'

export interface NarrationOptions extends Omit<Narrating, 'phase'> {
  readonly phase: NarrationPhase
  /** Redacts secrets. */
  readonly clean?: <T>(value: T) => T
}

interface Phrases extends Readonly<Record<NarrationPhase, string>> {
  times(count: number): string
  more(count: number): string
}

const phrases: { readonly en: Phrases; readonly [language: string]: Phrases } = {
  en: {
    started: 'Running',
    waiting: 'Waiting',
    completed: 'Done',
    failed: 'Failed',
    cancelled: 'Cancelled',
    unknown: 'Outcome unknown',
    times: (count) => (count === 2 ? 'twice' : `${count} times`),
    more: (count) => `and ${count} more`,
  },
  de: {
    started: 'Läuft',
    waiting: 'Wartet',
    completed: 'Fertig',
    failed: 'Fehlgeschlagen',
    cancelled: 'Abgebrochen',
    unknown: 'Ausgang unbekannt',
    times: (count) => (count === 2 ? 'zweimal' : `${count}-mal`),
    more: (count) => `und ${count} weitere`,
  },
}

const maxNarrationLength = 200
const maxTitleLength = 80
const maxSubjectLength = 40

/** One line about a call. `input` is the validated input; undefined if there is none to show. */
export function renderNarration(
  tool: NarratedTool,
  input: unknown,
  { phase, locale, value, clean = identity }: NarrationOptions,
): string {
  if (tool.sensitive) return clean(defaultNarration(tool, phase, locale, ''))
  const shown = clean(withoutSecrets(input))
  const own =
    phase === 'cancelled' || phase === 'unknown' || input === undefined
      ? ''
      : toolNarration(tool, shown, {
          phase,
          locale,
          ...(value === undefined ? {} : { value: clean(withoutSecrets(value)) }),
        })
  return clean(own === '' ? defaultNarration(tool, phase, locale, subjectOf(shown)) : own)
}

const identity = <T>(value: T): T => value

/** '' if the tool has no usable narration. */
function toolNarration(tool: NarratedTool, input: unknown, about: Narrating): string {
  try {
    const narration: unknown = tool.narrate?.(input as never, about)
    if (typeof narration === 'string') {
      const line = oneLine(narration)
      return line.length <= maxNarrationLength ? line : ''
    }
    // A promise is not a narration. Its rejection is swallowed, so that it does not surface as an unhandled one.
    if (isThenable(narration)) Promise.resolve(narration).catch(() => {})
    return ''
  } catch {
    return ''
  }
}

function defaultNarration(
  { name, title }: NarratedTool,
  phase: NarrationPhase,
  locale: string,
  subject: string,
): string {
  const label = shortLine(title, maxTitleLength) || shortLine(readableName(name), maxTitleLength)
  return `${forLocale(phrases, locale)[phase]}: ${label}${subject === '' ? '' : ` (${subject})`}`
}

/** 'look_up_order' → 'Look up order' */
function readableName(name: string): string {
  const line = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .trim()
  return line === '' ? name : line.charAt(0).toUpperCase() + line.slice(1)
}

/** Fields that may be shown as the subject of a call, by priority. Other fields are not shown. */
const subjectFields = [
  'path',
  'file',
  'filename',
  'folder',
  'directory',
  'url',
  'query',
  'pattern',
  'title',
  'name',
  'subject',
  'city',
  'location',
  'order',
  'id',
]

function subjectOf(input: unknown): string {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return ''
  const fields = Object.entries(input).filter(([name]) => !isSecretName(name))
  const named = subjectFields.map((subject) => fields.find(([name]) => name.toLowerCase() === subject))
  const ids = fields.filter(([name]) => /(?:_id|[a-z]Id)$/.test(name))
  for (const field of [...named, ...ids]) {
    const subject = field ? shortValue(field[1]) : ''
    if (subject !== '') return subject
  }
  return ''
}

function shortValue(value: unknown): string {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string' || value === hiddenValue) return ''
  if (value.includes('://')) return hostAndPath(value)
  if (containsSecret(value)) return ''
  const line = oneLine(value)
  return shortLine(
    /^\S*\/\S+$/.test(line) ? (line.split('/').findLast((part) => part !== '') ?? line) : line,
    maxSubjectLength,
  )
}

/** Host and path only: user names, queries and fragments may contain secrets. */
function hostAndPath(text: string): string {
  const url = URL.parse(text.trim())
  return url && url.host !== ''
    ? shortLine(`${url.host}${url.pathname === '/' ? '' : url.pathname}`, maxSubjectLength)
    : ''
}

/** Several calls in one line: repeats are counted, the first two are named, the rest is a number. '' for none. */
export function headline(narrations: readonly string[], locale: string): string {
  const { times, more } = forLocale(phrases, locale)
  const counts = new Map<string, number>()
  for (const each of narrations) counts.set(each, (counts.get(each) ?? 0) + 1)
  const first = [...counts].slice(0, 2)
  const named = first.map(([text, count]) => (count === 1 ? text : `${text}, ${times(count)}`)).join('; ')
  const rest = narrations.length - first.reduce((sum, [, count]) => sum + count, 0)
  return rest === 0 ? named : `${named} ${more(rest)}`
}
