// `pawl demo` with kills at random moments, with an approval from the keyboard, and with an input that ends.

import { expect, test } from 'vitest'
import { answersTheKeyboard, desk, type Keyboard, times, timeout } from '../kit/run-desk.ts'

test.concurrent('SESS-1: pawl demo --chaos kills at random moments, and effects happen once', { timeout }, async () => {
  const { shown, code } = await desk({ args: ['--chaos', '4'] })
  expect(code, shown).toBe(0)
  expect(shown.match(/kill -9 \d+/g)?.length).toBeGreaterThanOrEqual(4)
  expect(shown).toMatch(/every effect exactly once, although \d+ processes were killed/)
  const customers = shown.match(/^ {2}ada /gm)?.length ?? 0
  expect(times(shown).slice(0, 2)).toEqual([`${customers}×`, `${customers}×`])
  expect((await desk({ args: ['--chaos', 'many'] })).shown).toContain("--chaos is 'many'")
})

test.concurrent.for<Keyboard>([
  { said: 'y\n', ends: 'Done: 42.00 €', books: ['1×', '1×', '2×', '8×'], kills: 2, nobody: false },
  { said: '', ends: 'The refund was not approved.', books: ['0×', '0×', '2×', '8×'], kills: 1, nobody: true },
])('SESS-1 POL-3: pawl demo with the keyboard input $said', { timeout }, answersTheKeyboard)
