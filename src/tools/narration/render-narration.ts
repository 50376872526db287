// What people read of a call (SESS-9): its tool's own words, and where it has none, or none that can be used, a sentence made of its title. And the
// headline of several calls. Pure. A language is a row of words here: what is missing is said in English.

import { isThenable } from '../../core/maybe-promise.ts'
import { brief, inLanguage, type Narrate, type Narrating, oneLine, type Phase } from './tool-narration.ts'
import { hidden, holdsSecret, looksSecret, withoutSecrets } from './secret-fields.ts'

/** As much of a tool as its narration needs. */
export interface Narrated {
  readonly name: string
  readonly title?: string | undefined
  /** Of such a tool nothing is told but what it is called. */
  readonly sensitive?: boolean
  readonly narrate?: Narrate<never> | undefined
}

/** `cancelled` and `unknown` have no words of tools: "failed" would not be true. */
export type Told = Phase | 'cancelled' | 'unknown'

export interface TellOf extends Omit<Narrating, 'phase'> {
  readonly phase: Told
  /** Takes out what nobody is to read. */
  readonly clean?: <T>(value: T) => T
}

interface Words extends Readonly<Record<Told, string>> {
  times(count: number): string
  more(count: number): string
}

const words: { readonly en: Words; readonly [language: string]: Words } = {
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

const longestOwn = 200
const longestTitle = 80
const longestSubject = 40

/** One line about a call. `input` are the arguments that its tool took; undefined where there are none that could be shown. */
export function renderNarration(
  tool: Narrated,
  input: unknown,
  { phase, locale, value, clean = same }: TellOf,
): string {
  if (tool.sensitive) return clean(byDefault(tool, phase, locale, ''))
  const shown = clean(withoutSecrets(input))
  const own =
    phase === 'cancelled' || phase === 'unknown' || input === undefined
      ? ''
      : ownWords(tool, shown, {
          phase,
          locale,
          ...(value === undefined ? {} : { value: clean(withoutSecrets(value)) }),
        })
  return clean(own === '' ? byDefault(tool, phase, locale, subjectOf(shown)) : own)
}

const same = <T>(value: T): T => value

/** '' where it has none that can be used. */
function ownWords(tool: Narrated, input: unknown, about: Narrating): string {
  try {
    const said: unknown = tool.narrate?.(input as never, about)
    if (typeof said === 'string') {
      const line = oneLine(said)
      return line.length <= longestOwn ? line : ''
    }
    // A promise is no text, and what it rejects with is nobody's stray.
    if (isThenable(said)) Promise.resolve(said).catch(() => {})
    return ''
  } catch {
    return ''
  }
}

function byDefault({ name, title }: Narrated, phase: Told, locale: string, subject: string): string {
  const said = brief(title, longestTitle) || brief(spoken(name), longestTitle)
  return `${inLanguage(words, locale)[phase]}: ${said}${subject === '' ? '' : ` (${subject})`}`
}

/** 'look_up_order' → 'Look up order' */
function spoken(name: string): string {
  const line = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .trim()
  return line === '' ? name : line.charAt(0).toUpperCase() + line.slice(1)
}

/** What a call may be about; in this order. What is not here is not shown. */
const subjects = [
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
  const fields = Object.entries(input).filter(([name]) => !looksSecret(name))
  const named = subjects.map((subject) => fields.find(([name]) => name.toLowerCase() === subject))
  const ids = fields.filter(([name]) => /(?:_id|[a-z]Id)$/.test(name))
  for (const field of [...named, ...ids]) {
    const subject = field ? shortOf(field[1]) : ''
    if (subject !== '') return subject
  }
  return ''
}

function shortOf(value: unknown): string {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string' || value === hidden) return ''
  if (value.includes('://')) return addressOf(value)
  if (holdsSecret(value)) return ''
  const line = oneLine(value)
  return brief(
    /^\S*\/\S+$/.test(line) ? (line.split('/').findLast((part) => part !== '') ?? line) : line,
    longestSubject,
  )
}

/** Without what may be in the rest of it: names, queries, fragments. */
function addressOf(text: string): string {
  const url = URL.parse(text.trim())
  return url && url.host !== '' ? brief(`${url.host}${url.pathname === '/' ? '' : url.pathname}`, longestSubject) : ''
}

/** Several calls in one line: repeats are counted, the first two are named, the others are counted too. '' for none. */
export function headline(narrations: readonly string[], locale: string): string {
  const { times, more } = inLanguage(words, locale)
  const counts = new Map<string, number>()
  for (const each of narrations) counts.set(each, (counts.get(each) ?? 0) + 1)
  const first = [...counts].slice(0, 2)
  const named = first.map(([text, count]) => (count === 1 ? text : `${text}, ${times(count)}`)).join('; ')
  const rest = narrations.length - first.reduce((sum, [, count]) => sum + count, 0)
  return rest === 0 ? named : `${named} ${more(rest)}`
}
