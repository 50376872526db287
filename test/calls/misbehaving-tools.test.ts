// A misbehaving tool fails only its own call: 25 misbehaviours, each next to 63 calls that must succeed in the same
// process.

import { EventEmitter } from 'node:events'
import { type Tool, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { argumentTool, rerunTool } from '../kit/simple-tools.ts'

const empty = z.object({})
const good = argumentTool('good', z.object({ n: z.number() }), { hints: { readOnly: true } }, ({ n }) => n)

let deep: unknown = 1
for (let level = 0; level < 5_000; level++) deep = { deep }
const cyclic: Record<string, unknown> = {}
cyclic.self = cyclic
const fused = (): never => {
  throw new Error('touched')
}

/** Misbehaving bodies; `as` is the expected status of the call if it is not a failure. */
const misbehaviours: Readonly<Record<string, { body: () => unknown; as?: 'success' }>> = {
  'throws an error': { body: () => fused() },
  'throws null': {
    body: () => {
      throw null
    },
  },
  'throws undefined': {
    body: () => {
      throw undefined
    },
  },
  'throws a string': {
    body: () => {
      throw 'oops'
    },
  },
  'throws something that cannot be shown': {
    body: () => {
      throw Object.create(null, { message: { get: fused }, stack: { get: fused } })
    },
  },
  'throws a Proxy': {
    body: () => {
      throw new Proxy(new Error('x'), { get: fused, getPrototypeOf: () => Error.prototype })
    },
  },
  'throws an error whose cause is itself': {
    body: () => {
      const error = new Error('loop')
      error.cause = error
      throw error
    },
  },
  rejects: { body: () => Promise.reject(new Error('rejected')) },
  'rejects un-awaited and returns': {
    body: () => {
      void Promise.reject(new Error('astray'))
      return 1
    },
    as: 'success',
  },
  'throws in a timer after returning': {
    body: () => {
      setTimeout(fused, 1)
      return 1
    },
    as: 'success',
  },
  'throws in a microtask': {
    body: () => {
      queueMicrotask(fused)
      return 1
    },
    as: 'success',
  },
  'throws in nextTick': {
    body: () => {
      process.nextTick(fused)
      return 1
    },
    as: 'success',
  },
  'emits an error event without a listener': {
    body: () => {
      const emitter = new EventEmitter()
      setImmediate(() => emitter.emit('error', new Error('emitted')))
      return 1
    },
    as: 'success',
  },
  'rejects later, in an async function that is not awaited': {
    body: () => {
      void (async () => {
        await Promise.resolve()
        throw new Error('later')
      })()
      return 1
    },
    as: 'success',
  },
  'returns a cycle': { body: () => cyclic },
  'returns a BigInt': { body: () => ({ n: 1n }) },
  'returns NaN': { body: () => ({ n: Number.NaN }) },
  'returns a getter that throws': {
    body: () => ({
      get x() {
        return fused()
      },
    }),
  },
  'returns a toJSON that throws': { body: () => ({ toJSON: fused }) },
  'returns a Proxy that throws': { body: () => new Proxy({}, { ownKeys: fused }) },
  'returns 5,000 levels': { body: () => deep },
  'returns a lone surrogate': { body: () => '\ud800' },
  'returns __proto__': { body: () => JSON.parse('{"__proto__":{"polluted":true}}') as unknown, as: 'success' },
  'returns a thenable that throws': { body: () => ({ then: fused }) },
  'returns a revoked Proxy': {
    body: () => {
      const { proxy, revoke } = Proxy.revocable({}, {})
      revoke()
      return proxy
    },
  },
  'returns 50 MB': { body: () => 'x'.repeat(50_000_000) },
}

describe('misbehaving tools', () => {
  onEachStore('one misbehaving tool', (bench) => {
    test.for(Object.entries(misbehaviours))(
      'CALL-11: a body that %s affects only its own call',
      { timeout: 30_000 },
      async ([name, { body, as }]) => {
        const bad = tool({
          name: 'bad',
          description: name,
          input: empty,
          concurrency: 'parallel',
          execute: body as () => never,
        }) as Tool
        const runtime = await bench.open([good, bad])
        const calls = Array.from({ length: 64 }, (_, n) =>
          n === 31 ? { id: 'bad', name: 'bad' } : { id: `g${n}`, name: 'good', input: { n } },
        )
        const outcomes = await runtime.session('s').run(calls)
        await new Promise((resolve) => setTimeout(resolve, 5)) // stray errors arrive after the outcome, in real time
        expect(outcomes).toHaveLength(64)
        for (const [n, outcome] of outcomes.entries()) {
          if (n !== 31) expect(outcome).toMatchObject({ status: 'success', value: n })
        }
        expect(outcomes[31]?.status).toBe(as ?? 'failure')
        if (!as) expect(JSON.stringify(outcomes[31])).not.toMatch(/touched|oops|loop/)
        expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
      },
    )
  })
})

onEachStore('internal errors', (bench) => {
  test('VAL-4: a secret in an error message, cause, stack or field reaches only the log', async () => {
    const secret = 'sk-live-1234567890'
    const leaks = rerunTool('leaks', async (_, ctx) => {
      ctx.progress({ label: 'working' })
      const cause = Object.assign(new Error(`cause ${secret}`), { token: secret, cause: new Error(`deeper ${secret}`) })
      await ctx.step('inside', () => {
        throw Object.assign(new Error(`message ${secret}`, { cause }), { token: secret })
      })
    })
    const clock = manualClock()
    const runtime = await bench.open([leaks], { clock })
    const outcomes = await runtime.session('s').run([{ id: 'a', name: 'leaks' }])
    const feed: unknown[] = []
    for await (const event of runtime.session('s').events()) {
      feed.push(event)
      if (event.type === 'call.settled') break
    }
    expect(JSON.stringify([outcomes, feed])).not.toContain(secret)
    expect(JSON.stringify(outcomes)).toContain('An internal error occurred while executing the tool')
    expect(JSON.stringify(bench.logged)).toContain(secret)
  })
})
