// Results that arrive in the grace period of a cancel or deadline, and cancels around a crash.

import { createRuntime, type Runtime, type Tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { readOnlyTool, rerunTool, simpleTool } from '../../kit/simple-tools.ts'
import { twoWorkers, dieDuringCall } from '../../kit/interrupted-calls.ts'

const keys = { secret: 'x'.repeat(32) }

/** Waits on the manual clock; rejects when the signal aborts. */
const pass = (clock: ReturnType<typeof manualClock>, ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    clock.timer(ms, resolve)
    if (signal?.aborted) reject(signal.reason as Error)
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })

async function cancelAfterOneSecond(runtime: Runtime, clock: ManualClock, work: Tool): Promise<unknown> {
  const call = runtime.session('s').call(work, {})
  await clock.advance('1s')
  await call.cancel()
  const end = await after(call.outcome, clock)
  await runtime.close({ grace: 0 })
  return end
}

// Regression: the recorded cancel aborted reconcile before its first line and left it 50 ms, so that a lookup at a
// service could not finish.
test('TIME-3 DUR-3: a call cancelled before a crash ends with the result of a slow reconcile', async () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const pay = simpleTool(
    'pay',
    {
      async reconcile() {
        await pass(clock, 200) // asks the bank
        return { value: 'paid' }
      },
    },
    () => new Promise<string>(() => {}),
  )
  const first = mortal(store)
  const one = await createRuntime({ store: first.store, tools: [pay], clock, logger: quiet, keys, lease: '5s' })
  const call = one.session('s').call(pay, {}, { id: 'a' })
  await clock.advance('1s')
  await call.cancel('stop it')
  await clock.advance(10) // on record, inside the grace period
  first.die()
  await clock.advance('10s')
  const two = await createRuntime({ store, tools: [pay], clock, logger: quiet, keys, lease: '5s' })
  const end = await after(two.session('s').run([{ id: 'a', name: 'pay' }]), clock)
  await two.close({ grace: 0 })
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'paid' }] })
})

// Regression: the after hook was abandoned as soon as it returned a promise, so that the model read the secret that the
// hook removes.
test('CALL-8 TIME-3: a result that wins over a cancel passes an asynchronous after hook', async () => {
  const clock = manualClock()
  const work = readOnlyTool(
    'work',
    (_, ctx) => new Promise<string>((resolve) => ctx.signal.addEventListener('abort', () => resolve('secret'))),
  )
  const redact = { name: 'redact', after: async () => ({ replace: { status: 'success', value: 'redacted' } as const }) }
  const runtime = await createRuntime({ store: 'memory:', tools: [work], hooks: [redact], clock, logger: quiet })
  const end = await cancelAfterOneSecond(runtime, clock, work)
  expect(end).toMatchObject({ value: { status: 'success', value: 'redacted' } })
})

// The same with a total timeout instead of a cancel.
test('CALL-8 TIME-1: a result in the grace period of a deadline passes a slow after hook', async () => {
  const clock = manualClock()
  const work = readOnlyTool(
    'work',
    { timeout: { total: '1s' } },
    (_, ctx) => new Promise<string>((resolve) => ctx.signal.addEventListener('abort', () => resolve('secret'))),
  )
  const redact = {
    name: 'redact',
    after: async () => {
      await pass(clock, 5)
      return { replace: { status: 'success', value: 'redacted' } as const }
    },
  }
  const runtime = await createRuntime({ store: 'memory:', tools: [work], hooks: [redact], clock, logger: quiet })
  const end = await after(runtime.session('s').run([{ id: 'a', name: 'work' }]), clock)
  await runtime.close({ grace: 0 })
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'redacted' }] })
})

// Regression: an asynchronous output schema was abandoned, and the valid result became `invalid_output`.
test('TIME-3 TOOL-7: an asynchronous output schema validates a result in the grace period', async () => {
  const clock = manualClock()
  const work = readOnlyTool(
    'work',
    { output: z.string().refine(async () => true) },
    (_, ctx) => new Promise<string>((resolve) => ctx.signal.addEventListener('abort', () => resolve('done'))),
  )
  const runtime = await createRuntime({ store: 'memory:', tools: [work], clock, logger: quiet })
  const end = await cancelAfterOneSecond(runtime, clock, work)
  expect(end).toMatchObject({ value: { status: 'success', value: 'done' } })
})

// Regression: the body began inside session.run before session.cancel knew its call.
test('TIME-3: a body that cancels its session in its first line cancels its own batch', async () => {
  const clock = manualClock()
  const runtime = await createRuntime({ store: 'memory:', tools: [], clock, logger: quiet })
  const s = runtime.session('s')
  let told: Promise<number> | undefined
  const ran: string[] = []
  const stop = readOnlyTool('stop', () => {
    told = s.cancel('enough')
    return new Promise<void>(() => {})
  })
  const other = readOnlyTool('other', () => void ran.push('other'))
  runtime.tools.add([stop, other])
  const end = await after(
    s.run([
      { id: 'a', name: 'stop' },
      { id: 'b', name: 'other' },
    ]),
    clock,
  )
  const count = await told
  await runtime.close({ grace: 0 })
  expect(count).toBeGreaterThan(0)
  expect(end).toMatchObject({ value: [{ status: 'cancelled' }, {}] })
})

// Regression: a recovered parent that was cancelled before it reached its nested call again left that call parked.
test('TIME-3 SCHED-4: cancelling a recovered parent cancels the nested call it had made', async () => {
  const { clock, first, second } = twoWorkers('memory')
  const child = rerunTool('child', (_, ctx) => ctx.later({ deadline: '7d' }))
  let again = false
  const parent = rerunTool('parent', async (_, ctx) => {
    if (again) await pass(clock, 30_000, ctx.signal) // works before it reaches the nested call
    return (await ctx.call(child, {})).status
  })
  await dieDuringCall(await first([parent, child]), clock, { id: 'a', name: 'parent' }, '1s')
  again = true
  const two = await second([parent, child])
  const call = two.session('s').call(parent, {}, { id: 'a' })
  await clock.advance('1s')
  await call.cancel('no longer needed')
  expect(await after(call.outcome, clock)).toMatchObject({ value: { status: 'cancelled' } })
  await clock.advance('1m')
  const open = (await two.session('s').calls.list())
    .filter(({ state }) => state !== 'settled')
    .map(({ name, state }) => ({ name, state }))
  await two.close({ grace: 0 })
  expect(open).toEqual([])
})
