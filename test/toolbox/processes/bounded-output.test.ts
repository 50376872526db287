import { expect, test } from 'vitest'
import { BoundedOutput } from '../../../src/toolbox/processes/bounded-output.ts'

/** The output with a limit of ten code units: five of the beginning and five of the end. */
const kept = (text: string): string => {
  const output = new BoundedOutput(10)
  output.append(Buffer.from(text))
  output.end()
  return output.text
}

test('VAL-7: a tail that begins inside a surrogate pair drops the half character', () => {
  // The last five code units are the second half of the first cat and four letters.
  expect(kept(`12345left out🐱abcd`)).toBe('12345\n[… 10 characters left out …]\nabcd')
})

test('VAL-7: a head that ends inside a surrogate pair drops the half character', () => {
  expect(kept(`1234🐱left outabcde`)).toBe('1234\n[… 10 characters left out …]\nabcde')
})

test('VAL-7: a whole surrogate pair in the head or in the tail is preserved', () => {
  expect(kept(`123🐱left out🐱abc`)).toBe('123🐱\n[… 8 characters left out …]\n🐱abc')
})

test('VAL-7: at any cut the text is well formed and the omitted characters are counted', () => {
  for (let shift = 0; shift < 4; shift++) {
    const text = `${'x'.repeat(shift)}${'🐱'.repeat(20)}${'y'.repeat(shift % 2)}`
    const shown = kept(text)
    expect(shown.isWellFormed(), shown).toBe(true)
    const [head = '', left = '', tail = ''] = shown.split(/\n\[… (\d+) characters left out …\]\n/)
    expect(head.length + Number(left) + tail.length).toBe(text.length)
    expect(text.startsWith(head) && text.endsWith(tail)).toBe(true)
  }
})
