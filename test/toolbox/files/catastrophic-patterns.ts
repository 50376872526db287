// Regular expressions with catastrophic backtracking, each with a line that triggers it.

const a = 'a'.repeat(60)

/** Character classes, each with a matching and a non-matching character. */
const letters: readonly (readonly [of: string, letter: string, not: string])[] = [
  ['a', 'a', '!'],
  ['\\w', 'x', '!'],
  ['\\d', '7', 'x'],
  ['.', 'q', '\u2028'],
  ['[a-z]', 'm', '0'],
  ['\\s', ' ', 'x'],
  ['(?:a|b)', 'b', 'c'],
  ['[^x]', 'y', 'x'],
]
/** Ways to nest repetitions. */
const nests: readonly ((of: string) => string)[] = [
  (of) => `^(${of}+)+$`,
  (of) => `^(${of}*)*$`,
  (of) => `^(?:${of}+){2,}$`,
  (of) => `^(${of}|${of}${of})+$`,
  (of) => `^(${of}|${of}?)+$`,
  (of) => `^(?:${of}+${of}+)+$`,
]

const made = letters.flatMap(([of, letter, not]) =>
  nests.map((nest) => ({ pattern: nest(of), line: `${letter.repeat(60)}${not === letter ? '' : not}` })),
)

const known: readonly { readonly pattern: string; readonly line: string }[] = [
  { pattern: '(a+)+b', line: a },
  { pattern: '(x+x+)+y', line: 'x'.repeat(60) },
  { pattern: '([a-zA-Z]+)*!$', line: `${a}1` },
  { pattern: '(a|aa)+$', line: `${a}b` },
  { pattern: '(a|a?)+$', line: `${a}b` },
  { pattern: '(.*a){25}$', line: `${a}b` },
  { pattern: '^(([a-z])+.)+[A-Z]([a-z])+$', line: a },
  {
    pattern:
      '^([a-zA-Z0-9])(([\\-.]|[_]+)?([a-zA-Z0-9]+))*(@){1}[a-z0-9]+[.]{1}(([a-z]{2,3})|([a-z]{2,3}[.]{1}[a-z]{2,3}))$',
    line: `${a}!`,
  },
  { pattern: '^(\\w+\\s?)*$', line: `${'word'.repeat(15)}!` },
  { pattern: '^(?:(?:a+)+)+$', line: `${a}!` },
  { pattern: '(?=(a+)+$)', line: `${a}!` },
  { pattern: '(?:(a+)*)*\\1b', line: a },
  { pattern: '(a*)*\\1c', line: a },
  { pattern: '(?:a?){40}a{40}$', line: `${a}!` },
  { pattern: '\\s*(?:\\s*\\s*)*$x', line: ' '.repeat(60) },
  { pattern: '(?i)^(?:a|A|b|B|ab)+$', line: `${'aB'.repeat(40)}!` },
  // Not exponential, but far too slow on a very long line.
  { pattern: '.*.*.*=.*', line: 'x'.repeat(20_000) },
  { pattern: '\\s+\\s+\\s+$', line: `${' '.repeat(20_000)}x` },
]

export const catastrophic: readonly { readonly pattern: string; readonly line: string }[] = [...made, ...known]

/** Patterns that are large rather than slow: any answer is fine, as long as nothing hangs. */
export const heavy: readonly string[] = [
  '((((a{1,99}){1,99}){1,99}){1,99}){1,99}',
  '(a{1000}){1000}',
  `${'('.repeat(499)}${')'.repeat(499)}`,
  'a?'.repeat(499),
  `(?:${'a|'.repeat(490)}a)*$`,
  '\\p{L}'.repeat(190),
  '(?:a{0,65535}){0,65535}b',
  `[${'\\u{10000}-\\u{10ffff}'.repeat(45)}]+`,
  '(?=(?=(?=(?=(?=a*)*)*)*)*)*',
  '(?<=(a+)+)b',
  `${'(a*)*'.repeat(150)}b`,
]
