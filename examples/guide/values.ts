// The code of docs/guide/values.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { createRuntime, tool } from 'pawl'
import { z } from 'zod'

// #region tool
const visit = tool({
  name: 'visit',
  description: 'Count a visit',
  input: z.object({}),
  onCrash: 'rerun',
  async execute(_, ctx) {
    const before = await ctx.values.get('visits')
    const visits = Number(before?.value ?? 0) + 1
    await ctx.values.set('visits', visits, { ifRevision: before?.revision ?? null })
    return { visits }
  },
})
// #endregion

const sent: string[] = []
const send = (token: string): void => void sent.push(token)

// #region reference
const order = tool({
  name: 'order',
  description: 'Order at the shop',
  input: z.object({ item: z.string(), token: z.string().describe('The key of the shop, as secret:NAME') }),
  async execute({ item, token }, ctx) {
    send(await ctx.secrets.resolve(token)) // the value; anything but a reference to a secret fails the call
    return { ordered: item }
  },
})
// #endregion

// #region values
const runtime = await createRuntime({ store: 'memory:', tools: [visit, order] })
const session = runtime.session('chat-42')

const first = await session.values.set('customer/name', { given: 'Ada' })
assert.deepEqual((await session.values.get('customer/name'))?.value, { given: 'Ada' })

// Compare and set: who writes on an older version is refused, and nothing is lost.
await session.values.set('customer/name', { given: 'Grace' }, { ifRevision: first.revision })
await assert.rejects(session.values.set('customer/name', 'mine', { ifRevision: first.revision }), {
  code: 'value_changed',
})

const { entries } = await session.values.list({ prefix: 'customer/' })
assert.deepEqual(
  entries.map(({ key }) => key),
  ['customer/name'],
)
// #endregion
await session.run([{ id: 'v', name: 'visit', input: {} }])
assert.equal((await session.values.get('visits'))?.value, 1)

// #region secrets
await session.secrets.set('shop', 'sk-live-4f9a71c2', { tools: ['order'] }) // only this tool gets it
assert.deepEqual(
  (await session.secrets.list()).map(({ name }) => name),
  ['shop'],
)

const [outcome] = await session.run([{ id: 'a', name: 'order', input: { item: 'tea', token: 'secret:shop' } }])
assert.equal(outcome?.status, 'success')
// #endregion
assert.deepEqual(sent, ['sk-live-4f9a71c2'])
await runtime.close()
