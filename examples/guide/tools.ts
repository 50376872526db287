// The code of docs/guide/tools.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { createRuntime, type Provider, result, tool } from 'pawl'
import { z } from 'zod'

const shelf = new Map([['A1', 5]])

// #region define
const stock = tool({
  name: 'stock',
  description: 'How many of an item are in stock',
  input: z.object({ item: z.string() }),
  hints: { readOnly: true },
  execute: ({ item }) => ({ item, count: shelf.get(item) ?? 0 }),
})
// #endregion

// #region run
const runtime = await createRuntime({ store: 'memory:', tools: [stock] })
const session = runtime.session('chat-42')
const [outcome] = await session.run([{ id: 'call_1', name: 'stock', input: '{"item":"A1"}' }], { batch: 'msg_7' })
assert.equal(outcome?.status, 'success')
assert.deepEqual(outcome.parts, [{ type: 'text', text: '{"item":"A1","count":5}' }])
// #endregion

// #region typed
const one = await session.call(stock, { item: 'A1' }).outcome
if (one.status === 'success') assert.equal(one.value.count, 5) // a number, for the compiler too
// #endregion

// #region bad
const [bad] = await session.run([{ id: 'call_2', name: 'stock', input: { item: 7 } }])
assert.equal(bad?.attempts, 0) // the body never saw it
assert.deepEqual(bad.parts, [
  {
    type: 'text',
    text: `[Tool execution failed]
The arguments are not valid:
- item: Invalid input: expected string, received number
Fix the arguments and call again.`,
  },
])
// #endregion
await runtime.close()

// #region policy
const wipe = tool({
  name: 'wipe',
  description: 'Delete an item for good',
  input: z.object({ item: z.string() }),
  hints: { destructive: true },
  execute: ({ item }) => shelf.delete(item),
})
const call = { id: 'call_1', name: 'wipe', input: { item: 'A1' } }

const careful = await createRuntime({ store: 'memory:', tools: [wipe] })
const [waiting] = await careful.session('s').run([call], { until: 'waiting' })
assert.equal(waiting?.status === 'waiting' && waiting.for, 'approval')

const rules = [{ tool: 'wipe', principal: 'user:ada', then: 'allow' }] as const
const ruled = await createRuntime({ store: 'memory:', tools: [wipe], policy: { rules } })
const [allowed] = await ruled.session('s', { principal: 'user:ada' }).run([call])
assert.equal(allowed?.status, 'success')
// #endregion
await careful.close()
await ruled.close()

// #region budgets
const translate = tool({
  name: 'translate',
  description: 'Translate a text',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => result(text.toUpperCase(), { cost: text.length }),
})
const budgets = {
  turn: { calls: 20, repeats: 3, invalid: 3 },
  session: { calls: 200, time: '10m' },
  tenant: { cost: 5, per: '1d' },
} as const
const frugal = await createRuntime({ store: 'memory:', tools: [translate], budgets })
const chat = frugal.session('chat-44', { tenant: 'acme' })
const [paid] = await chat.run([{ id: 'call_1', name: 'translate', input: { text: 'hello' } }], { turn: 'turn_1' })
assert.equal(paid?.cost, 5)
const [over] = await chat.run([{ id: 'call_2', name: 'translate', input: { text: 'world' } }], { turn: 'turn_1' })
assert.equal(over?.status === 'failure' && over.failure.code, 'over_budget')
// #endregion
await frugal.close()

// #region result
const report = tool({
  name: 'report',
  description: 'Sum up the stock',
  input: z.object({}),
  output: z.object({ items: z.number() }),
  hints: { readOnly: true },
  execute: () => result({ items: shelf.size }, { raw: { shelf: [...shelf] }, summary: 'Counted the shelf' }),
})
// #endregion

// #region nested
const restock = tool({
  name: 'restock',
  description: 'Order what is missing',
  input: z.object({ item: z.string(), wanted: z.number().int().positive() }),
  onCrash: 'rerun',
  async execute({ item, wanted }, ctx) {
    const there = await ctx.call(stock, { item })
    if (there.status !== 'success') return { ordered: 0 }
    const ordered = Math.max(0, wanted - there.value.count)
    await ctx.step('order', () => shelf.set(item, there.value.count + ordered).size)
    return { ordered }
  },
})
// #endregion

const more = await createRuntime({ store: 'memory:', tools: [stock, report, restock] })
const restocked = await more.session('s').call(restock, { item: 'B2', wanted: 3 }).outcome
assert.equal(restocked.status === 'success' && restocked.value.ordered, 3)
const reported = await more.session('s').call(report, {}).outcome
assert.deepEqual(reported.parts, [{ type: 'text', text: '{"items":1}' }])
assert.deepEqual(reported.status === 'success' && reported.raw, { shelf: [['B2', 3]] })
await more.close()

// #region app
interface Shop {
  readonly currency: string
}
declare module 'pawl' {
  interface Register {
    app: Shop
  }
}

const price = tool({
  name: 'price',
  description: 'What an item costs',
  input: z.object({ item: z.string() }),
  hints: { readOnly: true },
  execute: ({ item }, ctx) => `${item} costs 5 ${ctx.app.currency}`,
})
const abroad = await createRuntime({
  store: 'memory:',
  tools: [price],
  app: ({ tenant }) => ({ currency: tenant === 'acme-uk' ? 'GBP' : 'EUR' }),
})
const priced = await abroad.session('s', { tenant: 'acme-uk' }).call(price, { item: 'A1' }).outcome
assert.equal(priced.status === 'success' && priced.value, 'A1 costs 5 GBP')
// #endregion
await abroad.close()

// #region come
const shop = await createRuntime({ store: 'memory:', tools: [stock] })
shop.tools.add(report)
assert.deepEqual(
  shop.tools.list().map(({ name }) => name),
  ['report', 'stock'],
)
shop.tools.remove('report')
// #endregion

// #region session
const cart: string[] = []
const addToCart = tool({
  name: 'add_to_cart',
  description: 'Put an item into the cart of this customer',
  input: z.object({ item: z.string() }),
  execute: ({ item }) => cart.push(item),
})
const customer = shop.session('chat-43', { tools: [addToCart] })
assert.deepEqual(
  customer.tools.map(({ name }) => name),
  ['add_to_cart', 'stock'],
)
// #endregion

// #region provider
const warehouse: Provider = {
  name: 'warehouse',
  trusted: true,
  list: () => [{ name: 'shelf_of', description: 'On which shelf an item lies' }],
  resolve: (name) =>
    tool({
      name,
      description: 'On which shelf an item lies',
      input: z.object({ item: z.string() }),
      hints: { readOnly: true },
      execute: ({ item }) => `${item} lies on shelf 7`,
    }),
}
await shop.tools.provide(warehouse)
const [found] = await customer.run([{ id: 'call_1', name: 'shelf_of', input: { item: 'A1' } }], { batch: 'msg_1' })
assert.deepEqual(found?.parts, [{ type: 'text', text: 'A1 lies on shelf 7' }])
// #endregion
await shop.close()
