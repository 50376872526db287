import { expect, test } from 'vitest'
import { Redactor } from '../../src/security/redact.ts'

const eight = 'h8x!Qz2p'
const seven = eight.slice(0, 7)

test('DUR-12: a learned secret of 8 characters is redacted, one of 7 is not', () => {
  const redactor = new Redactor([])
  redactor.learn(seven)
  expect(redactor.text(`key ${seven}.`)).toBe(`key ${seven}.`)
  redactor.learn(eight)
  expect(redactor.text(`key ${eight}.`)).toBe('key [redacted].')
  expect(redactor.text(`key ${seven}.`)).toBe(`key ${seven}.`)
})

test('DUR-12: a configured secret of 8 characters is redacted, one of 7 is not', () => {
  const redactor = new Redactor([seven])
  expect(redactor.text(`key ${seven}.`)).toBe(`key ${seven}.`)
  expect(new Redactor([eight]).text(`key ${eight}.`)).toBe('key [redacted].')
})
