// The tool of the crash test in docs/guide/testing.md, in a module of its own. Its bank is a file, as a real one is a server: it outlives the
// process.

import { appendFileSync, existsSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tool } from 'pawl'
import { z } from 'zod'

process.env.BANK ??= join(tmpdir(), `bank-${process.pid}.ledger`) // those that are started from here share it
const file = process.env.BANK

export const bank = {
  transfers: (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []),
  async refund(order: string, cents: number, key: string) {
    if (!this.transfers().some((line) => line.endsWith(key))) appendFileSync(file, `${cents} for ${order}, ${key}\n`)
    return `refunded ${order}`
  },
  forget: (): void => rmSync(file, { force: true }),
}

// #region crash-tool
export const refund = tool({
  name: 'refund',
  description: 'Refund an order',
  input: z.object({ order: z.string(), cents: z.number() }),
  onCrash: 'rerun',
  execute: ({ order, cents }, ctx) => ctx.step('refund', () => bank.refund(order, cents, ctx.key('refund'))),
})
// #endregion
