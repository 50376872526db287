// Recovered calls and the queue, the policy, close() and a single store failure.

import { join } from 'node:path'
import { createRuntime, retry, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { mortal, storeOf } from '../../kit/stores/killable-store.ts'
import { after, faulty, freshDir, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { hang, readOnlyTool, rerunTool, simpleTool } from '../../kit/simple-tools.ts'
import { dieDuringCall, ignoreResult, twoWorkers } from '../../kit/interrupted-calls.ts'

const empty = z.object({})
const keys = { secret: 'x'.repeat(32) }

// Regression: after a restart the queue treated recovered calls as new ones and rejected them.
test('SCHED-3 DUR-3: a restart does not reject started calls as overloaded', async () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const nap = rerunTool('nap', { hints: { readOnly: true } }, async (_, ctx) => {
    await new Promise<void>((resolve) => void clock.timer(10, resolve))
    await ctx.sleep('30s')
    return 'ok'
  })
  const limits = { perSession: 1, waiting: 1 }
  const first = mortal(store)
  const one = await createRuntime({ store: first.store, tools: [nap], clock, logger: quiet, keys, lease: '5s', limits })
  const s = one.session('s')
  for (let n = 0; n < 4; n++) {
    void s.run([{ id: String(n), name: 'nap' }])
    await clock.advance(100) // asleep, so it holds no slot
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

// Regression: the queue treated a retry as a new call, and the model read that it "was not started".
test('SCHED-3 TIME-4: a retry is not rejected as overloaded', async () => {
  const clock = manualClock()
  const busy = readOnlyTool('busy', (_, ctx) => {
    if (ctx.attempt === 1) throw retry({ after: '5s' })
    return 'ok'
  })
  const work = readOnlyTool('work', () => new Promise<void>((resolve) => void clock.timer(10_000, resolve)))
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
  const c = s.call(work, {}) // queued
  const end = await after(Promise.all([a.outcome, b.outcome, c.outcome]), clock)
  await runtime.close({ grace: 0 })
  expect(end).toMatchObject({
    value: [{ status: 'success', attempts: 2 }, { status: 'success' }, { status: 'success' }],
  })
})

// Regression: a body that may have paid was settled as denied, which says that nothing happened.
test('DUR-3 POL-1: an interrupted body is unknown although the policy now denies its tool', async () => {
  const { clock, first, second } = twoWorkers('memory')
  const pay = simpleTool('pay', hang)
  await dieDuringCall(await first([pay]), clock, { id: 'a', name: 'pay' }, '1s')
  const policy = { decide: () => ({ effect: 'deny', reason: 'no more payments' }) as const }
  const two = await second([pay], { policy })
  const end = await after(two.session('s').run([{ id: 'a', name: 'pay' }]), clock)
  await two.close({ grace: 0 })
  expect(end).toMatchObject({ value: [{ status: 'unknown' }] })
})

/** A store in which one operation fails as many times as the test sets. */
function storeThatFails(operation: 'steps' | 'wait') {
  const { clock, store } = freshMemory()
  let fail = 0
  const hiccup = (): void => {
    if (fail-- > 0) throw new Error('disk hiccup')
  }
  return {
    clock,
    store: faulty(store, { on: { [operation]: hiccup } }),
    setFailures: (times: number) => void (fail = times),
  }
}

// Regression: after a failed read the claimed call stayed owned by this worker, but was never driven.
test('DUR-3 CALL-2: a claimed call whose record could not be read runs later', async () => {
  const { clock, store, setFailures } = storeThatFails('steps')
  let key = ''
  const sign = rerunTool('sign', async (_, ctx) => {
    const later = await ctx.later<string>({ deadline: '1d' })
    key = later.key
    return later
  })
  const runtime = await createRuntime({ store, tools: [sign], clock, logger: quiet, keys, lease: '5s' })
  const run = runtime.session('s').run([{ id: 'a', name: 'sign' }])
  await clock.advance('1s')
  setFailures(1)
  expect(await runtime.resolve(key, { value: 'yes' })).toEqual({ answer: 'accepted' })
  const end = await after(run, clock)
  await runtime.close({ grace: 0 }).catch(() => {})
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'yes' }] })
})

// Regression: the read after the write of an answer failed, and the waiting body never received it.
test('WAIT-1 CALL-2: a recorded answer reaches the body although a later read fails', async () => {
  const { clock, store, setFailures } = storeThatFails('wait')
  let key = ''
  const asks = rerunTool('asks', async (_, ctx) => {
    const later = await ctx.later<string>({ deadline: '1d' })
    key = later.key
    return later.value
  })
  const runtime = await createRuntime({ store, tools: [asks], clock, logger: quiet, keys, lease: '5s' })
  const run = runtime.session('s').run([{ id: 'a', name: 'asks' }])
  await clock.advance('1s')
  setFailures(1)
  await runtime.resolve(key, { value: 'yes' }).catch(() => {})
  await clock.advance('1s')
  setFailures(0)
  expect(await runtime.resolve(key, { value: 'no' })).toMatchObject({
    answer: 'already_resolved',
    terminal: { value: 'yes' },
  })
  const end = await after(run, clock)
  await runtime.close({ grace: 0 }).catch(() => {})
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'yes' }] })
})

describe.each(['memory', 'sqlite'] as const)('close and resubmission on %s', (kind) => {
  // Regression: close() during the write of the start handed the call back as started, so that the next start settled
  // it as unknown although the body never began.
  test('DUR-13 DUR-3: if close() comes before the body starts, the call runs after the next start', async () => {
    const clock = manualClock()
    const store = storeOf(kind, join(freshDir(), 'a.db'), clock)
    let ran = 0
    const pay = tool({ name: 'pay', description: 'Pays', input: empty, execute: () => `paid ${++ran}` })
    const one = await createRuntime({ store, tools: [pay], clock, logger: quiet, keys })
    ignoreResult(one.session('s').run([{ id: 'a', name: 'pay' }]))
    await one.close({ grace: 0 })
    const before = ran
    const two = await createRuntime({ store, tools: [pay], clock, logger: quiet, keys })
    const end = await after(two.session('s').run([{ id: 'a', name: 'pay' }]), clock)
    await two.close({ grace: 0 })
    expect(before).toBe(0)
    expect(end).toMatchObject({ value: [{ status: 'success', value: 'paid 1' }] })
  })

  // Regression: the body began before its call was registered, so that submitting the call again ran it twice.
  test('CALL-6 DUR-1: a call submitted again in the first line of its own body is one call', async () => {
    const clock = manualClock()
    const store = storeOf(kind, join(freshDir(), 'a.db'), clock)
    const runtime = await createRuntime({ store, tools: [], clock, logger: quiet, keys })
    const s = runtime.session('s')
    let ran = 0
    const ask = () => s.run([{ id: 'a', name: 'once', idempotencyKey: 'k' }])
    let again: Promise<unknown> | undefined
    const once = readOnlyTool('once', () => {
      if (++ran === 1) again = ask()
      return ran
    })
    runtime.tools.add([once])
    const end = await after(ask(), clock)
    await after(again as Promise<unknown>, clock)
    await runtime.close({ grace: 0 })
    expect([ran, end]).toMatchObject([1, { value: [{ value: 1 }] }])
  })
})
