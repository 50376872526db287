// Calls that are taken up again: what the queue, the policy, close and a store that stumbles once make of them (DUR-3, SCHED-3, CALL-2).

import { join } from 'node:path'
import { createRuntime, retry, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { mortal, storeOf } from '../../kit/stores/killable-store.ts'
import { after, faulty, type Faults, freshDir, quiet } from '../../kit/stores/fresh-store.ts'

const empty = z.object({})
const keys = { secret: 'x'.repeat(32) }

// Wrong because: these calls were admitted and had begun long ago; after a restart the queue takes them for newcomers and settles them as refused.
test('SCHED-3 DUR-3: a restart refuses no call that had begun as overloaded', async () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const nap = tool({
    name: 'nap',
    description: 'Sleeps, then works',
    input: empty,
    hints: { readOnly: true },
    onCrash: 'rerun',
    execute: async (_, ctx) => {
      await new Promise<void>((resolve) => void clock.timer(10, resolve))
      await ctx.sleep('30s')
      return 'ok'
    },
  })
  const limits = { perSession: 1, waiting: 1 }
  const first = mortal(store)
  const one = await createRuntime({ store: first.store, tools: [nap], clock, logger: quiet, keys, lease: '5s', limits })
  const s = one.session('s')
  for (let n = 0; n < 4; n++) {
    void s.run([{ id: String(n), name: 'nap' }])
    await clock.advance(100) // asleep: it holds nothing
  }
  first.die()
  await clock.advance('10s')
  const two = await createRuntime({ store, tools: [nap], clock, logger: quiet, keys, lease: '5s', limits })
  const ends = await after(
    Promise.all([0, 1, 2, 3].map(async (n) => (await two.session('s').run([{ id: String(n), name: 'nap' }]))[0])),
    clock,
  )
  await two.close({ grace: 0 })
  expect(ends).toMatchObject({ value: [0, 1, 2, 3].map(() => ({ status: 'success' })) })
})

// Wrong because: the second try of a call is no newcomer either: its retry is thrown away, and the model is told that it "was not started".
test('SCHED-3 TIME-4: a retry is not refused as overloaded', async () => {
  const clock = manualClock()
  const busy = tool({
    name: 'busy',
    description: 'Busy once',
    input: empty,
    hints: { readOnly: true },
    execute: (_, ctx) => {
      if (ctx.attempt === 1) throw retry({ after: '5s' })
      return 'ok'
    },
  })
  const work = tool({
    name: 'work',
    description: 'Works',
    input: empty,
    hints: { readOnly: true },
    execute: () => new Promise<void>((resolve) => void clock.timer(10_000, resolve)),
  })
  const runtime = await createRuntime({
    store: 'memory:',
    tools: [busy, work],
    clock,
    logger: quiet,
    limits: { perSession: 1, waiting: 1 },
  })
  const s = runtime.session('s')
  const a = s.call(busy, {})
  await clock.advance(100)
  const b = s.call(work, {})
  const c = s.call(work, {}) // waits
  const end = await after(Promise.all([a.outcome, b.outcome, c.outcome]), clock)
  await runtime.close({ grace: 0 })
  expect(end).toMatchObject({ value: [{ status: 'success', attempts: 2 }, { status: 'success' }, { status: 'success' }] })
})

// Wrong because: the body had begun and may have paid; a policy that came later makes of it "denied", which says that nothing happened.
test('DUR-3 POL-1: a body that was interrupted is unknown, also if policy has come to deny its tool', async () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const pay = tool({ name: 'pay', description: 'Pays', input: empty, execute: () => new Promise<void>(() => {}) })
  const first = mortal(store)
  const one = await createRuntime({ store: first.store, tools: [pay], clock, logger: quiet, keys, lease: '5s' })
  void one.session('s').run([{ id: 'a', name: 'pay' }])
  await clock.advance('1s')
  first.die()
  await clock.advance('10s')
  const policy = { decide: () => ({ effect: 'deny', reason: 'no more payments' }) as const }
  const two = await createRuntime({ store, tools: [pay], clock, logger: quiet, keys, lease: '5s', policy })
  const end = await after(two.session('s').run([{ id: 'a', name: 'pay' }]), clock)
  await two.close({ grace: 0 })
  expect(end).toMatchObject({ value: [{ status: 'unknown' }] })
})

// Wrong because: claimed, and one read fails: the call is on record as ours, nobody drives it and nobody lets go of it, as long as we live.
test('DUR-3 CALL-2: a call whose record could not be read when it was claimed is taken up later', async () => {
  const clock = manualClock()
  let fail = 0
  const faults: Faults = {
    on: {
      steps() {
        if (fail-- > 0) throw new Error('disk hiccup')
      },
    },
  }
  const store = faulty(memoryStore({ clock }), faults)
  let key = ''
  const sign = tool({
    name: 'sign',
    description: 'Signs',
    input: empty,
    onCrash: 'rerun',
    async execute(_, ctx) {
      const later = await ctx.later<string>({ deadline: '1d' })
      key = later.key
      return later
    },
  })
  const runtime = await createRuntime({ store, tools: [sign], clock, logger: quiet, keys, lease: '5s' })
  const run = runtime.session('s').run([{ id: 'a', name: 'sign' }])
  await clock.advance('1s')
  fail = 1
  expect(await runtime.resolve(key, { value: 'yes' })).toEqual({ answer: 'accepted' })
  const end = await after(run, clock)
  await runtime.close({ grace: 0 }).catch(() => {})
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'yes' }] })
})

// Wrong because: the answer is on record, but the read that follows its write failed, so the body that stands in the wait is never told, and
// nobody looks again.
test('WAIT-1 CALL-2: an answer that is on record reaches the body, whatever read fails after it', async () => {
  const clock = manualClock()
  let fail = 0
  const faults: Faults = {
    on: {
      wait() {
        if (fail-- > 0) throw new Error('disk hiccup')
      },
    },
  }
  const store = faulty(memoryStore({ clock }), faults)
  let key = ''
  const asks = tool({
    name: 'asks',
    description: 'Asks',
    input: empty,
    onCrash: 'rerun',
    async execute(_, ctx) {
      const later = await ctx.later<string>({ deadline: '1d' })
      key = later.key
      return later.value
    },
  })
  const runtime = await createRuntime({ store, tools: [asks], clock, logger: quiet, keys, lease: '5s' })
  const run = runtime.session('s').run([{ id: 'a', name: 'asks' }])
  await clock.advance('1s')
  fail = 1
  await runtime.resolve(key, { value: 'yes' }).catch(() => {})
  await clock.advance('1s')
  fail = 0
  expect(await runtime.resolve(key, { value: 'no' })).toMatchObject({ answer: 'already_resolved', terminal: { value: 'yes' } })
  const end = await after(run, clock)
  await runtime.close({ grace: 0 }).catch(() => {})
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'yes' }] })
})

describe.each(['memory', 'sqlite'] as const)('on %s', (kind) => {
  // Wrong because: close came while the start of the body was being written; the body surely never began, and still the call is handed back as
  // begun, so that the next start calls it unknown. A close that is in order must not make uncertainty.
  test('DUR-13 DUR-3: a call whose body had not begun when the runtime closed begins after the next start', async () => {
    const clock = manualClock()
    const store = storeOf(kind, join(freshDir(), 'a.db'), clock)
    let ran = 0
    const pay = tool({ name: 'pay', description: 'Pays', input: empty, execute: () => `paid ${++ran}` })
    const one = await createRuntime({ store, tools: [pay], clock, logger: quiet, keys })
    one
      .session('s')
      .run([{ id: 'a', name: 'pay' }])
      .catch(() => {})
    await one.close({ grace: 0 })
    const before = ran
    const two = await createRuntime({ store, tools: [pay], clock, logger: quiet, keys })
    const end = await after(two.session('s').run([{ id: 'a', name: 'pay' }]), clock)
    await two.close({ grace: 0 })
    expect(before).toBe(0)
    expect(end).toMatchObject({ value: [{ status: 'success', value: 'paid 1' }] })
  })

  // Wrong because: a body now begins before its call can be found by its place, so the same call asked for in its first line runs twice.
  test('CALL-6 DUR-1: a call asked for again in the first line of its own body is one call', async () => {
    const clock = manualClock()
    const store = storeOf(kind, join(freshDir(), 'a.db'), clock)
    const runtime = await createRuntime({ store, tools: [], clock, logger: quiet, keys })
    const s = runtime.session('s')
    let ran = 0
    const ask = () => s.run([{ id: 'a', name: 'once', idempotencyKey: 'k' }])
    let again: Promise<unknown> | undefined
    const once = tool({
      name: 'once',
      description: 'Once',
      input: empty,
      hints: { readOnly: true },
      execute: () => {
        if (++ran === 1) again = ask()
        return ran
      },
    })
    runtime.tools.add([once])
    const end = await after(ask(), clock)
    await after(again as Promise<unknown>, clock)
    await runtime.close({ grace: 0 })
    expect([ran, end]).toMatchObject([1, { value: [{ value: 1 }] }])
  })
})
