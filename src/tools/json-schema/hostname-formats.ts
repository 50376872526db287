// The formats `hostname` (RFC 1123, with A-labels that decode to valid U-labels) and `idn-hostname` (IDNA2008: RFC 5891
// and 5892). The Bidi rule (RFC 5893) is not checked: the platform has no bidirectional classes.

import { decodePunycode, encodePunycode } from './punycode.ts'

const maxLabel = 63
const maxName = 253
const ldhLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const aLabel = /^xn--/i
/** RFC 3490 names these beside the full stop. */
const separators = /[.\u3002\uff0e\uff61]/

export const isHostname = (text: string): boolean => text.length <= maxName && text.split('.').every(isAsciiLabel)

export function isIdnHostname(text: string): boolean {
  // A label has at most as many characters as its A-label.
  if (text.length > 2 * maxName || !text.isWellFormed()) return false
  let length = -1
  for (const label of text.split(separators)) {
    if (label.length > 2 * maxLabel) return false
    const ascii = isAscii(label) ? label : `xn--${encodePunycode(label)}`
    length += ascii.length + 1
    if (ascii.length > maxLabel || length > maxName) return false
    // Hyphens in the third and fourth place are reserved for A-labels.
    if (ascii === label ? !isAsciiLabel(label) || /^(?!xn)..--/i.test(label) : !isULabel(label)) return false
  }
  return true
}

// oxlint-disable-next-line no-control-regex
const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text)

function isAsciiLabel(label: string): boolean {
  if (!ldhLabel.test(label)) return false
  if (!aLabel.test(label)) return true
  const encoded = label.slice(4).toLowerCase()
  const decoded = decodePunycode(encoded)
  return decoded !== undefined && !isAscii(decoded) && isULabel(decoded) && encodePunycode(decoded) === encoded
}

/** RFC 5891, section 4.2. */
function isULabel(label: string): boolean {
  if (label.startsWith('-') || label.endsWith('-') || label.startsWith('--', 2)) return false
  if (label.normalize('NFC') !== label || /^\p{M}/u.test(label)) return false
  for (const character of label) if (!isAllowed(character) && !contextRules.has(character)) return false
  for (const [character, isInContext] of contextRules)
    for (let at = label.indexOf(character); at !== -1; at = label.indexOf(character, at + 1))
      if (!isInContext(label, at)) return false
  return true
}

/** RFC 5892, section 2.6. */
const validExceptions = /[\u00df\u03c2\u06fd\u06fe\u0f0b\u3007]/
const disallowedExceptions = /[\u0640\u07fa\u302e\u302f\u3031-\u3035\u303b]/
const letterOrDigit = /[\p{Lu}\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}]/u
const ignorable = /[\p{Default_Ignorable_Code_Point}\p{White_Space}\p{Noncharacter_Code_Point}]/u
/** Combining marks for symbols, and musical notation. */
const ignorableBlock = /[\u20d0-\u20ff\u{1d100}-\u{1d24f}]/u
const oldHangulJamo = /[\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]/

/** PVALID of RFC 5892, section 3. */
function isAllowed(character: string): boolean {
  if (/[a-z0-9-]/.test(character) || validExceptions.test(character)) return true
  if (disallowedExceptions.test(character) || !letterOrDigit.test(character)) return false
  if (ignorable.test(character) || ignorableBlock.test(character) || oldHangulJamo.test(character)) return false
  return fold(character) === character
}

/** NFKC of the case folding. The platform has no folding: it is lower case of upper case, with two exceptions. */
function fold(character: string): string {
  const plain = character.normalize('NFKC')
  if (plain === '\u0131') return plain // the dotless i folds to itself
  if (/\p{Script=Cherokee}/u.test(plain)) return plain.toUpperCase() // Cherokee folds to upper case
  return plain.toUpperCase().toLowerCase().normalize('NFKC')
}

/** Canonical combining class 9. */
const virama =
  /[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a\u1714\u1715\u1734\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua82c\ua8c4\ua953\ua9c0\uaaf6\uabed\u{10a3f}\u{11046}\u{11070}\u{1107f}\u{110b9}\u{11133}\u{11134}\u{111c0}\u{11235}\u{112ea}\u{1134d}\u{11442}\u{114c2}\u{115bf}\u{1163f}\u{116b6}\u{1172b}\u{11839}\u{1193d}\u{1193e}\u{119e0}\u{11a34}\u{11a47}\u{11a99}\u{11c3f}\u{11d44}\u{11d45}\u{11d97}]$/u

// The platform has no joining types: every letter of a cursive script counts as joining on both sides, except the
// Arabic and Syriac letters that join only to the right, which cannot come before the character.
const cursive = '\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Nko}\\p{Script=Adlam}'
const rightJoining =
  '\\u0621-\\u0625\\u0627\\u0629\\u062f-\\u0632\\u0648\\u0671-\\u0677\\u0688-\\u0699\\u06c0\\u06c3-\\u06cb\\u06cd\\u06cf\\u06d2\\u06d3\\u06d5\\u06ee\\u06ef\\u0710\\u0715-\\u0719\\u071e\\u0728\\u072a\\u072c'
const joinsBefore = new RegExp(`(?![${rightJoining}])(?=\\p{L})[${cursive}]\\p{Mn}*$`, 'u')
const joinsAfter = new RegExp(`^\\p{Mn}*(?=\\p{L})[${cursive}]`, 'u')

type ContextRule = (label: string, at: number) => boolean
const before = (label: string, at: number): string => label.slice(0, at)
const after = (label: string, at: number): string => label.slice(at + 1)
const preceded =
  (pattern: RegExp): ContextRule =>
  (label, at) =>
    pattern.test(before(label, at))
const digits = (first: number): string[] =>
  Array.from({ length: 10 }, (_, index) => String.fromCodePoint(first + index))

/** CONTEXTJ and CONTEXTO of RFC 5892, appendix A. */
const contextRules: ReadonlyMap<string, ContextRule> = new Map<string, ContextRule>([
  // Zero width non-joiner and joiner
  [
    '\u200c',
    (label, at) =>
      virama.test(before(label, at)) || (joinsBefore.test(before(label, at)) && joinsAfter.test(after(label, at))),
  ],
  ['\u200d', preceded(virama)],
  // Middle dot, Greek keraia, Hebrew geresh and gershayim, Katakana middle dot
  ['\u00b7', (label, at) => label[at - 1] === 'l' && label[at + 1] === 'l'],
  ['\u0375', (label, at) => /^\p{Script=Greek}/u.test(after(label, at))],
  ['\u05f3', preceded(/\p{Script=Hebrew}$/u)],
  ['\u05f4', preceded(/\p{Script=Hebrew}$/u)],
  ['\u30fb', (label) => /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u.test(label)],
  // Arabic-Indic digits must not be mixed with the extended ones.
  ...digits(0x660).map((digit): [string, ContextRule] => [digit, (label) => !/[\u06f0-\u06f9]/.test(label)]),
  ...digits(0x6f0).map((digit): [string, ContextRule] => [digit, (label) => !/[\u0660-\u0669]/.test(label)]),
])
