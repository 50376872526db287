import { expect, test } from 'vitest'
import { MatchStream } from '../../src/security/match-stream.ts'
import { SecretMatcher } from '../../src/security/secret-matcher.ts'
import { Redactor } from '../../src/security/redact.ts'

/** Seeded: every run draws the same numbers. */
let seed = 7
function below(most: number): number {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff
  return (seed >>> 8) % most
}
const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T
const some = (length: number): string => Array.from({ length }, () => pick(['a', 'b'])).join('')
/** Merges adjacent redactions: their number depends on the chunks. */
const merged = (text: string): string => text.replace(/(?:\[redacted\])+/g, '[redacted]')

function simply(text: string, secrets: readonly string[]): string {
  const marks = new Uint8Array(text.length)
  for (const secret of secrets)
    for (let at = text.indexOf(secret); at !== -1; at = text.indexOf(secret, at + 1))
      marks.fill(1, at, at + secret.length)
  return merged(
    text
      .split('')
      .map((unit, at) => (marks[at] ? '[redacted]' : unit))
      .join(''),
  )
}

function inPieces(text: string, { push, end }: { push(piece: string): string; end(): string }): string {
  let out = ''
  for (let at = 0; at < text.length;) {
    const length = 1 + below(pick([2, 40]))
    out += push(text.slice(at, at + length))
    at += length
  }
  return merged(out + end())
}

test('DUR-12: overlapping secrets in chunks are redacted as by a naive search', () => {
  for (let round = 0; round < 1_500; round++) {
    const base = some(20 + below(60))
    const secrets = Array.from({ length: 1 + below(5) }, () => {
      const from = pick([base, 'ab'.repeat(40), 'a'.repeat(80)])
      const start = below(from.length - 8)
      return from.slice(start, start + 8 + below(60))
    })
    const text = Array.from({ length: 6 }, () =>
      pick([
        some(below(20)),
        pick(secrets),
        pick(secrets).slice(0, below(60)),
        pick(secrets).slice(below(40)),
        base.slice(below(30)),
      ]),
    ).join('')
    const half = below(secrets.length + 1)
    const matchers = [secrets.slice(0, half), secrets.slice(half)].map((each) => new SecretMatcher(each))
    const expected = simply(text, secrets)
    expect(merged(new MatchStream(...matchers).whole(text)), JSON.stringify({ secrets, text })).toBe(expected)
    const stream = new MatchStream(...matchers)
    const pieces = inPieces(text, { push: (piece) => stream.push(piece), end: () => stream.end() })
    expect(pieces, JSON.stringify({ secrets, text })).toBe(expected)
  }
})

test('DUR-12: with 1,000 known secrets, a newly learned one is redacted at once', () => {
  const redactor = new Redactor(['named-by-the-host'])
  const secretOf = (number: number): string =>
    `token-${number}-${Buffer.from(String(Math.sin(number + 1))).toString('hex')}`
  for (let number = 0; number < 1_000; number++) redactor.learn(secretOf(number))
  for (let number = 1_000; number < 1_060; number++) {
    redactor.learn(secretOf(number))
    expect(redactor.text(`a ${secretOf(number)} b ${secretOf(number - 500)} c named-by-the-host`)).toBe(
      'a [redacted] b [redacted] c [redacted]',
    )
  }
})
