// The effect ledger: the effects that really happened, recorded outside the database. Each line is one write() to a
// file opened for appending, so it survives a kill of the writer and is never torn.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'

export interface LedgerLine {
  /** Name of the effect: `<call>/<step>`, or `<call>/body`. */
  readonly effect: string
  readonly phase: 'start' | 'end'
  /** Id of the process that ran the effect. */
  readonly pid: number
}

export const note = (file: string, effect: string, phase: LedgerLine['phase']): void =>
  appendFileSync(file, `${JSON.stringify({ effect, phase, pid: process.pid })}\n`)

export function readLedger(file: string): LedgerLine[] {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LedgerLine)
}

export function startsByEffect(lines: readonly LedgerLine[]): Map<string, number> {
  const starts = new Map<string, number>()
  for (const { effect, phase } of lines) if (phase === 'start') starts.set(effect, (starts.get(effect) ?? 0) + 1)
  return starts
}
