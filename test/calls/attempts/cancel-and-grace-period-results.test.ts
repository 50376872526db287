// Cancels that meet host code, sync bodies and crashes (TIME-3, CALL-8, DUR-3).

import { createRuntime, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'

const empty = z.object({})
const keys = { secret: 'x'.repeat(32) }

/** Waits on the manual clock, and stops when told to. */
const pass = (clock: ReturnType<typeof manualClock>, ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    clock.timer(ms, resolve)
    if (signal?.aborted) reject(signal.reason as Error)
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })

// Wrong because: docs/guide/timeouts.md says that such a call ends as "what `reconcile` finds, or `unknown`", but the cancel on record aborts
// reconcile before its first line has run and leaves it 50 ms: one that asks a service can never find anything.
test('TIME-3 DUR-3: a call cancelled before a crash ends as what reconcile finds, when reconcile takes a moment', async () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: empty,
    execute: () => new Promise<string>(() => {}),
    async reconcile() {
      await pass(clock, 200) // asks the bank
      return { value: 'paid' }
    },
  })
  const first = mortal(store)
  const one = await createRuntime({ store: first.store, tools: [pay], clock, logger: quiet, keys, lease: '5s' })
  const call = one.session('s').call(pay, {}, { id: 'a' })
  await clock.advance('1s')
  await call.cancel('stop it')
  await clock.advance(10) // on record, inside the grace
  first.die()
  await clock.advance('10s')
  const two = await createRuntime({ store, tools: [pay], clock, logger: quiet, keys, lease: '5s' })
  const end = await after(two.session('s').run([{ id: 'a', name: 'pay' }]), clock)
  await two.close({ grace: 0 })
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'paid' }] })
})

// Wrong because: the result wins over the cancel, but the hook that takes the secret out of it is given up in the very moment it is asked,
// so the model reads what the host's hook always removes.
test('CALL-8 TIME-3: a result that wins over a cancel still passes an after hook that answers with a promise', async () => {
  const clock = manualClock()
  const work = tool({
    name: 'work',
    description: 'Works',
    input: empty,
    hints: { readOnly: true },
    execute: (_, ctx) => new Promise<string>((resolve) => ctx.signal.addEventListener('abort', () => resolve('secret'))),
  })
  const redact = { name: 'redact', after: async () => ({ replace: { status: 'success', value: 'redacted' } as const }) }
  const runtime = await createRuntime({ store: 'memory:', tools: [work], hooks: [redact], clock, logger: quiet })
  const call = runtime.session('s').call(work, {})
  await clock.advance('1s')
  await call.cancel()
  const end = await after(call.outcome, clock)
  await runtime.close({ grace: 0 })
  expect(end).toMatchObject({ value: { status: 'success', value: 'redacted' } })
})

// Wrong because: the same without a cancel, where `total` ran out and the result came inside the grace.
test('CALL-8 TIME-1: a result inside the grace of a deadline still passes an after hook that takes a moment', async () => {
  const clock = manualClock()
  const work = tool({
    name: 'work',
    description: 'Works',
    input: empty,
    hints: { readOnly: true },
    timeout: { total: '1s' },
    execute: (_, ctx) => new Promise<string>((resolve) => ctx.signal.addEventListener('abort', () => resolve('secret'))),
  })
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

// Wrong because: "a result that arrives inside the grace wins", but an output schema that answers with a promise is given up as it is asked,
// and the good result becomes `invalid_output`.
test('TIME-3 TOOL-7: a result inside the grace wins, also when its output schema answers with a promise', async () => {
  const clock = manualClock()
  const work = tool({
    name: 'work',
    description: 'Works',
    input: empty,
    output: z.string().refine(async () => true),
    hints: { readOnly: true },
    execute: (_, ctx) => new Promise<string>((resolve) => ctx.signal.addEventListener('abort', () => resolve('done'))),
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [work], clock, logger: quiet })
  const call = runtime.session('s').call(work, {})
  await clock.advance('1s')
  await call.cancel()
  const end = await after(call.outcome, clock)
  await runtime.close({ grace: 0 })
  expect(end).toMatchObject({ value: { status: 'success', value: 'done' } })
})

// Wrong because: a body now begins inside session.run, before its call is known to session.cancel: a body that ends its session in its first
// line stops neither itself nor what was asked for with it.
test('TIME-3: a body that cancels its session in its first line stops its call and those asked for with it', async () => {
  const clock = manualClock()
  const runtime = await createRuntime({ store: 'memory:', tools: [], clock, logger: quiet })
  const s = runtime.session('s')
  let told: Promise<number> | undefined
  const ran: string[] = []
  const stop = tool({
    name: 'stop',
    description: 'Ends the session',
    input: empty,
    hints: { readOnly: true },
    execute: () => {
      told = s.cancel('enough')
      return new Promise<void>(() => {})
    },
  })
  const other = tool({
    name: 'other',
    description: 'Other',
    input: empty,
    hints: { readOnly: true },
    execute: () => void ran.push('other'),
  })
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

// Wrong because: "Nested calls are cancelled with their parent", but a parent that was taken up after a crash and is cancelled before its body
// has come to the call again leaves it parked, for days.
test('TIME-3 SCHED-4: a parent cancelled after a crash takes the call it had made with it', async () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const child = tool({
    name: 'child',
    description: 'Asks somebody',
    input: empty,
    onCrash: 'rerun',
    execute: (_, ctx) => ctx.later({ deadline: '7d' }),
  })
  let again = false
  const parent = tool({
    name: 'parent',
    description: 'Parent',
    input: empty,
    onCrash: 'rerun',
    async execute(_, ctx) {
      if (again) await pass(clock, 30_000, ctx.signal) // its own work takes a while
      return (await ctx.call(child, {})).status
    },
  })
  const first = mortal(store)
  const one = await createRuntime({ store: first.store, tools: [parent, child], clock, logger: quiet, keys, lease: '5s' })
  void one.session('s').run([{ id: 'a', name: 'parent' }])
  await clock.advance('1s')
  first.die()
  await clock.advance('10s')
  again = true
  const two = await createRuntime({ store, tools: [parent, child], clock, logger: quiet, keys, lease: '5s' })
  const call = two.session('s').call(parent, {}, { id: 'a' })
  await clock.advance('1s')
  await call.cancel('no longer needed')
  expect(await after(call.outcome, clock)).toMatchObject({ value: { status: 'cancelled' } })
  await clock.advance('1m')
  const open = (await two.session('s').calls.list()).filter(({ state }) => state !== 'settled').map(({ name, state }) => ({ name, state }))
  await two.close({ grace: 0 })
  expect(open).toEqual([])
})
