// Generates ECMAScript patterns from a grammar, and texts on which regular expression engines tend to differ.

type Random = () => number

const chars: readonly string[] = [
  ...'a b k K s S i I z Z 0 9 _ - . / ] { }'.split(' '),
  ...'é É ß ẞ ſ \u212A İ ı σ ς Σ θ ϴ µ μ Å \u212B Ω \u2126 ǅ ǆ Ꭰ ꭰ ѐ 字 \u0301 😀 𐐀 𐐨 \u{10FFFF}'.split(' '),
  ...'\uD800 \uDC00 \uD83D \uDE00 \uFFFD \uFFFF \u180E \u200B \u0085 \u0000 \u0008'.split(' '),
  ...'\t|\n|\v|\f|\r| |\u00A0|\u1680|\u2028|\u2029|\u3000|\uFEFF'.split('|'),
]
const classes = ['\\d', '\\D', '\\s', '\\S', '\\w', '\\W']
const properties = (
  'L Lu Letter Lowercase_Letter gc=Ll General_Category=Uppercase_Letter Script=Greek sc=Grek scx=Latn Alphabetic ' +
  'Script_Extensions=Cherokee White_Space ASCII Any Assigned Cn Cs Emoji ID_Start Uppercase Nd Z Separator P ' +
  'Noncharacter_Code_Point'
).split(' ')

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
const chance = (random: Random, odds: number): boolean => random() < odds

export const generateText = (random: Random): string =>
  Array.from({ length: Math.floor(random() * 7) }, () => pick(random, chars)).join('')

const hex = (code: number, length: number): string => code.toString(16).padStart(length, '0')

/** One character, as itself or in one of its escaped forms. */
function character(random: Random, inClass: boolean): string {
  const text = pick(random, chars)
  const code = text.codePointAt(0) as number
  if (/^[.\-/\]{}]$/.test(text)) return text === '-' ? (inClass ? '\\-' : '-') : `\\${text}`
  // A lone surrogate in a pattern is not JSON.
  if (chance(random, 0.7) && text.isWellFormed()) return text
  const forms = [`\\u{${hex(code, chance(random, 0.3) ? 6 : 1)}}`]
  if (code < 0x20 && code > 0) forms.push(`\\c${String.fromCharCode(code + (chance(random, 0.5) ? 64 : 96))}`)
  if (code < 0x100) forms.push(`\\x${hex(code, 2)}`)
  forms.push([...Array(text.length).keys()].map((at) => `\\u${hex(text.charCodeAt(at), 4)}`).join(''))
  const named = { '\t': '\\t', '\n': '\\n', '\v': '\\v', '\f': '\\f', '\r': '\\r', '\0': '\\0' }[text]
  if (named) forms.push(named)
  if (inClass && code === 8) forms.push('\\b')
  return pick(random, forms)
}

function characterSet(random: Random): string {
  if (chance(random, 0.75)) return pick(random, classes)
  return `\\${chance(random, 0.7) ? 'p' : 'P'}{${pick(random, properties)}}`
}

function characterClass(random: Random): string {
  const members = Array.from({ length: Math.floor(random() * 4) }, () => {
    if (chance(random, 0.25)) return characterSet(random)
    const first = character(random, true)
    return chance(random, 0.35) ? `${first}-${character(random, true)}` : first
  })
  const dash = chance(random, 0.1) ? '-' : ''
  return `[${chance(random, 0.35) ? '^' : ''}${members.join('')}${dash}]`
}

function atom(random: Random, depth: number): string {
  const kind = random()
  if (kind < 0.4) return character(random, false)
  if (kind < 0.5) return '.'
  if (kind < 0.62) return characterSet(random)
  if (kind < 0.78 || depth === 0) return characterClass(random)
  const open = pick(random, ['(', '(?:', `(?<g${Math.floor(random() * 1e9)}>`])
  return `${open}${disjunction(random, depth - 1)})`
}

const quantifiers = ['*', '+', '?', '{2}', '{0,1}', '{1,}', '{0}', '{1,3}']

function term(random: Random, depth: number): string {
  if (chance(random, 0.15)) return pick(random, ['^', '$', '\\b', '\\B'])
  const quantifier = chance(random, 0.3) ? pick(random, quantifiers) + (chance(random, 0.2) ? '?' : '') : ''
  return atom(random, depth) + quantifier
}

function disjunction(random: Random, depth: number): string {
  const alternatives = chance(random, 0.2) ? 2 : 1
  return Array.from({ length: alternatives }, () =>
    Array.from({ length: Math.floor(random() * 4) }, () => term(random, depth)).join(''),
  ).join('|')
}

/** A pattern that is valid with the `u` flag. */
export function generatePattern(random: Random): string {
  for (;;) {
    const pattern = disjunction(random, 2)
    try {
      void new RegExp(pattern, 'u')
      return pattern
    } catch {
      // A range in reverse order.
    }
  }
}
