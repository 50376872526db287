// Builds HTML from data that may be hostile: every inserted text is escaped, and characters that are invisible or
// change the direction or the look of other text are shown as escapes.

/** HTML that needs no escaping. Only `markup` makes it. */
export class Html {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export type Insertable = string | number | Html | readonly Insertable[] | null | undefined | false

/** The fixed parts of templates without indentation, which would be most of a large page. */
const compactParts = new WeakMap<TemplateStringsArray, readonly string[]>()

function compact(fixed: TemplateStringsArray): readonly string[] {
  let parts = compactParts.get(fixed)
  if (!parts) {
    parts = fixed.map((part) => part.replace(/\n\s+/g, '\n'))
    compactParts.set(fixed, parts)
  }
  return parts
}

/** A template whose inserted values are escaped, for text and for quoted attributes. */
export function markup(fixed: TemplateStringsArray, ...values: readonly Insertable[]): Html {
  const parts = compact(fixed)
  let text = parts[0] ?? ''
  for (const [index, value] of values.entries()) text += inserted(value) + (parts[index + 1] ?? '')
  return new Html(text)
}

function inserted(value: Insertable): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Html) return value.text
  if (typeof value === 'object') return value.map(inserted).join('')
  return escapeText(String(value))
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
}

const escapeText = (text: string): string =>
  showHidden(text).replace(/[&<>"'`]/g, (character) => entities[character] as string)

/**
 * Controls except line feed and tab, characters without a width, direction marks and overrides, line separators, tags
 * and variation selectors that can carry hidden text, and lone surrogates.
 */
const hidden = new RegExp(
  [
    String.raw`[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f]`,
    String.raw`[\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e0fff}]`,
    String.raw`\p{Cs}`,
  ].join('|'),
  'gu',
)

/** Joiners between letters and inside emoji have a meaning, so they stay. */
const joiner = /[\u200c\u200d]/
// oxlint-disable-next-line no-misleading-character-class
const joined = /[\p{L}\p{M}\p{Extended_Pictographic}\ufe0f\u{1f3fb}-\u{1f3ff}]/u

/** Shows hidden characters as JavaScript escapes, such as \u202e. */
export const showHidden = (text: string): string =>
  text.replace(hidden, (character, at: number) => {
    if (joiner.test(character) && joined.test(before(text, at)) && joined.test(codePoint(text, at + 1)))
      return character
    const code = character.codePointAt(0) as number
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
  })

const codePoint = (text: string, at: number): string => {
  const code = text.codePointAt(at)
  return code === undefined ? '' : String.fromCodePoint(code)
}
const before = (text: string, at: number): string =>
  codePoint(text, at - 2).length === 2 ? codePoint(text, at - 2) : text.charAt(at - 1)

/** Longer values are shortened on the page. */
const maxShown = 20_000

/** A text block of bounded length. */
export function block(text: string, kind: 'code' | 'prose' = 'code'): Html {
  const rest = text.length - maxShown
  if (rest <= 0) return markup`<pre class="${kind}">${text}</pre>`
  return markup`<pre class="${kind}">${text.slice(0, maxShown)}</pre>
    <p class="note">${rest} more characters are not shown. The JSONL export has them.</p>`
}

/** Texts are shown as they are, other values as indented JSON. */
export const valueBlock = (value: unknown): Html =>
  block(typeof value === 'string' ? value : (JSON.stringify(value, null, 2) ?? ''))

const maxDate = 8_640_000_000_000_000

/** A time in UTC, to the second; with `exact`, to the millisecond. */
export function time(at: number, exact = false): Html {
  if (!(Math.abs(at) <= maxDate)) return markup`${String(at)}`
  const iso = new Date(at).toISOString()
  const [day, clock] = iso.split('T') as [string, string]
  return markup`<time datetime="${iso}">${day} ${clock.slice(0, exact ? 12 : 8)}</time>`
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A duration with at most two units: '340 ms', '2.5 s', '3 min 20 s', '2 d 4 h'. */
export function durationText(given: number): string {
  const ms = Math.max(0, given)
  if (ms < 1_000) return `${Math.floor(ms)} ms`
  if (ms < 60_000) return `${Math.floor(ms / 100) / 10} s`
  const index = units.findIndex(([, size]) => ms >= size)
  const [unit, size] = units[index] as (typeof units)[number]
  const whole = Math.floor(ms / size)
  const [nextUnit, nextSize] = units[index + 1] as (typeof units)[number]
  const rest = Math.floor((ms - whole * size) / nextSize)
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${nextUnit}`
}
