// The configuration file of docs/guide/server.md. test/project/guide.test.ts runs it.

// #region config
import { tool } from 'pawl'
import { defineConfig } from 'pawl/config'
import { scriptedModel } from 'pawl/testing'
import { z } from 'zod'

const lookUp = tool({
  name: 'look_up_order',
  description: 'Look up an order by its number',
  input: z.object({ order: z.string() }),
  hints: { readOnly: true },
  execute: ({ order }) => ({ order, cents: 4200 }),
})
const refund = tool({
  name: 'refund',
  description: 'Refund an order',
  input: z.object({ order: z.string(), cents: z.number().int().positive() }),
  hints: { destructive: true }, // asks a person first
  execute: ({ order, cents }) => `${cents} cents for order ${order} are on their way`,
})

export default defineConfig({
  store: 'sqlite:agent.db', // relative to this file
  runtime: {
    tools: [lookUp, refund],
    models: [scriptedModel([{ call: { name: 'look_up_order', input: { order: 'A1' } } }, 'Order A1 costs 42.00 €.'])],
  },
})
// #endregion
