// Two small tools for tests of the console: one that runs at once, and one that needs an approval.

import { tool } from 'pawl'
import { z } from 'zod'

export const look = tool({
  name: 'look',
  description: 'Reads',
  input: z.object({ n: z.number() }),
  hints: { readOnly: true },
  execute: ({ n }) => n,
})

export const pay = tool({
  name: 'pay',
  title: 'Pay',
  description: 'Pays',
  input: z.object({ cents: z.number() }),
  hints: { destructive: true },
  execute: ({ cents }) => cents,
})
