// Runs `pawl demo` as a child process. The demo mostly waits, so its tests run at the same time.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'vitest'

const root = join(import.meta.dirname, '../..')

export interface Desk {
  /** The keyboard input; null if there is no stdin. */
  readonly said?: string | null
  readonly args?: readonly string[]
  readonly env?: Record<string, string>
}

export function desk({ said = null, args = [], env = {} }: Desk): Promise<{ shown: string; code: number | null }> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      ['--conditions=@pawl/source', join(root, 'src/cli/main.ts'), 'demo', ...args],
      {
        cwd: root,
        timeout: 170_000,
        stdio: [said === null ? 'ignore' : 'pipe', 'pipe', 'pipe'],
        env: { ...process.env, OPENAI_API_KEY: '', NO_COLOR: '1', ...env },
      },
    )
    let shown = ''
    for (const out of [child.stdout, child.stderr])
      out?.setEncoding('utf8').on('data', (text: string) => void (shown += text))
    child.once('error', reject)
    child.once('close', (code) => resolve({ shown, code }))
    child.stdin?.end(said)
  })
}

export const overExport =
  /kill -9 \d+: a page is fetched and paid for[^\n]*\n[^\n]*another process opens the same store/
export const overRefund = /kill -9 \d+: the money has moved[^\n]*\n[^\n]*another process opens the same store/
export const times = (shown: string): string[] =>
  shown.slice(shown.indexOf('in the ledger')).match(/\d+×(?= |$)/gm) ?? []

/** Every run must end by then: a safety net. */
export const timeout = 180_000

export interface Keyboard {
  readonly said: string | null
  /** What the customer hears last. */
  readonly ends: string
  /** The entries of the ledger. */
  readonly books: readonly string[]
  readonly kills: number
  /** Nobody answered, so the request is denied. */
  readonly nobody: boolean
}

export async function answersTheKeyboard({ said, ends, books, kills, nobody }: Keyboard): Promise<void> {
  const { shown, code } = await desk({ said })
  expect(shown).toMatch(overExport)
  expect(shown).toContain(ends)
  expect(times(shown)).toEqual(books)
  expect(shown.match(/kill -9 \d+/g)).toHaveLength(kills)
  const denied = books[0] === '0×'
  expect(shown.includes('every effect exactly once')).toBe(!denied)
  expect(/✓ no refund without approval\n *✓ everything else exactly once/.test(shown)).toBe(denied)
  expect(shown.includes('no answer from the keyboard: the request is denied')).toBe(nobody)
  expect(code).toBe(0)
}
