// The code of docs/guide/retries.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { createRuntime, retry, tool } from 'pawl'
import { z } from 'zod'

const input = z.object({})

// #region declared
const busy = tool({
  name: 'busy',
  description: 'Says when it is safe to try again',
  input,
  execute(_, ctx) {
    if (ctx.attempt < 3) throw retry({ message: 'The service is busy', after: '20ms' })
    return `worked, attempt ${ctx.attempt}`
  },
})
// #endregion

// #region harmless
const flaky = tool({
  name: 'flaky',
  description: 'Reads over a bad line',
  input,
  hints: { readOnly: true }, // or idempotent
  retry: { attempts: 4, base: '5ms', cap: '1s' },
  execute(_, ctx) {
    if (ctx.attempt < 4) throw new Error('socket hang up')
    return 'got through'
  },
})
// #endregion

// #region exhausted
const down = tool({
  name: 'down',
  description: 'Never works',
  input,
  retry: { attempts: 2 },
  execute(): never {
    throw retry({ message: 'The archive is closed', code: 'closed', after: '5ms' })
  },
})
// #endregion

// #region once
const transfer = tool({
  name: 'transfer',
  description: 'Declares nothing, so it is not tried again',
  input,
  retry: { attempts: 5 },
  execute(): never {
    throw new Error('socket hang up') // did the money move? Nobody knows: trying again could move it twice
  },
})
// #endregion

// #region steps
const booked: string[] = []
const book = tool({
  name: 'book',
  description: 'Books, then confirms',
  input,
  onCrash: 'rerun',
  async execute(_, ctx) {
    await ctx.step('book', () => booked.push(ctx.key('book'))) // once: later attempts get the recorded value
    await ctx.step('confirm', () => {
      if (ctx.attempt < 3) throw retry({ after: '5ms' })
    })
    return ctx.idempotencyKey // the same in every attempt
  },
})
// #endregion

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const runtime = await createRuntime({ store: 'memory:', tools: [busy, flaky, down, transfer, book], logger: silent })

// #region outcomes
const calls = ['busy', 'flaky', 'down', 'transfer', 'book'].map((name) => ({ id: name, name }))
const [third, fourth, never, single, whole] = await runtime.session('chat-42').run(calls)
assert.partialDeepStrictEqual(third, { value: 'worked, attempt 3', attempts: 3 })
assert.partialDeepStrictEqual(fourth, { value: 'got through', attempts: 4 })
assert.partialDeepStrictEqual(never, {
  failure: { code: 'closed', retry: { when: 'exhausted', attempts: 2 } },
  attempts: 2,
})
assert.partialDeepStrictEqual(single, { failure: { code: 'internal_error', retry: { when: 'never' } }, attempts: 1 })
assert.equal(whole?.attempts, 3)
assert.equal(booked.length, 1)
// #endregion
await runtime.close()
