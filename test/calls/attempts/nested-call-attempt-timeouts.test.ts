// A body and the calls under it, over crashes, retries and mistakes (TIME-2, SCHED-2, TIME-4, DUR-13).

import { createRuntime, retry, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'

const empty = z.object({})
const keys = { secret: 'x'.repeat(32) }
const child = tool({
  name: 'child',
  description: 'Sleeps',
  input: empty,
  onCrash: 'rerun',
  execute: async (_, ctx) => {
    await ctx.sleep('1h')
    return 'slept'
  },
})

// Wrong because: the child is taken up and sleeps again before the parent's body has come back to it; that it is away is told to a family that
// is not there yet, so the parent's clock runs and kills both.
test('TIME-2 DUR-3: after a crash the attempt clock of a body stands still while the call under it sleeps', async () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const parent = tool({
    name: 'parent',
    description: 'Parent',
    input: empty,
    onCrash: 'rerun',
    async execute(_, ctx) {
      await new Promise<void>((resolve) => void clock.timer(10, resolve)) // something of its own first
      const end = await ctx.call(child, {})
      return end.status === 'success' ? end.value : end.status
    },
  })
  const first = mortal(store)
  const one = await createRuntime({ store: first.store, tools: [parent, child], clock, logger: quiet, keys, lease: '5s' })
  void one.session('s').run([{ id: 'a', name: 'parent' }])
  await clock.advance('1s')
  first.die()
  await clock.advance('10s')
  const two = await createRuntime({ store, tools: [parent, child], clock, logger: quiet, keys, lease: '5s' })
  const end = await after(two.session('s').run([{ id: 'a', name: 'parent' }]), clock, 7_200_000)
  await two.close({ grace: 0 })
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'slept' }] })
})

// Wrong because: the same without a crash: the second attempt joins a call that sleeps since the first, and does not know it.
test('TIME-2 TIME-4: a second attempt that joins a sleeping call of the first waits with it', async () => {
  const clock = manualClock()
  const parent = tool({
    name: 'parent',
    description: 'Parent',
    input: empty,
    onCrash: 'rerun',
    async execute(_, ctx) {
      const called = ctx.call(child, {})
      if (ctx.attempt === 1) {
        await new Promise<void>((resolve) => void clock.timer(10, resolve))
        throw retry({ after: '1s' })
      }
      const end = await called
      return end.status === 'success' ? end.value : end.status
    },
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [parent, child], clock, logger: quiet })
  const end = await after(runtime.session('s').run([{ id: 'a', name: 'parent' }]), clock, 7_200_000)
  await runtime.close({ grace: 0 })
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'slept' }] })
})

// Wrong because: calls that were refused as a whole are counted as open for ever, so the body is never again seen as waiting.
test('TIME-2 SCHED-2: a ctx.run that was refused does not keep the clock of its body running', async () => {
  const clock = manualClock()
  const parent = tool({
    name: 'parent',
    description: 'Parent',
    input: empty,
    onCrash: 'rerun',
    async execute(_, ctx) {
      const many = Array.from({ length: 5 }, (_each, n) => ({ id: String(n), name: 'child' }))
      const why = await ctx.run(many).then(
        () => 'ran',
        (error: { code: string }) => error.code,
      )
      const end = await ctx.call(child, {})
      return [why, end.status]
    },
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [parent, child], sizes: { batch: 4 }, clock, logger: quiet })
  const end = await after(runtime.session('s').run([{ id: 'a', name: 'parent' }]), clock, 7_200_000)
  await runtime.close({ grace: 0 })
  expect(end).toMatchObject({ value: [{ status: 'success', value: ['batch_too_long', 'success'] }] })
})

// Wrong because: stopping the children of a timed-out attempt settles them as cancelled for ever; the next attempt gets that outcome, so no retry
// of a body that calls tools can ever mend a timeout.
test('TIME-4 TIME-1: a retry after a timeout is not answered with the cancel of the attempt before', async () => {
  const clock = manualClock()
  let hang = true
  const child = tool({
    name: 'child',
    description: 'Reads',
    input: empty,
    hints: { readOnly: true },
    execute: (_, ctx) =>
      hang ? new Promise<string>((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('x')))) : 'read',
  })
  const parent = tool({
    name: 'parent',
    description: 'Parent',
    input: empty,
    hints: { readOnly: true },
    timeout: '1s',
    retry: { attempts: 3, base: '10s' },
    async execute(_, ctx) {
      if (ctx.attempt > 1) hang = false
      const end = await ctx.call(child, {})
      if (end.status !== 'success') throw new Error(`the child was ${end.status}`)
      return end.value
    },
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [parent, child], clock, logger: quiet })
  const end = await after(runtime.session('s').run([{ id: 'a', name: 'parent' }]), clock)
  await runtime.close({ grace: 0 })
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'read', attempts: 2 }] })
})
