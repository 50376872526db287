// Attempt timeouts of a body with nested calls, over crashes, retries and rejected batches.

import { DatabaseSync } from 'node:sqlite'
import { createRuntime, retry, type Runtime } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { after, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'
import { readOnlyTool, rerunTool } from '../../kit/simple-tools.ts'
import { twoWorkers, dieDuringCall } from '../../kit/interrupted-calls.ts'

const child = rerunTool('child', async (_, ctx) => {
  await ctx.sleep('1h')
  return 'slept'
})

/** The outcome of a call of `parent` within two hours. */
async function runToEnd(runtime: Runtime, clock: ManualClock): Promise<unknown> {
  const end = await after(runtime.session('s').run([{ id: 'a', name: 'parent' }]), clock, 7_200_000)
  await runtime.close({ grace: 0 })
  return end
}

// Regression: the child was recovered and slept before the parent's body reached it, so that the parent's timeout kept
// running and ended both.
test('TIME-2 DUR-3: after a crash the attempt timeout pauses while a nested call sleeps', async () => {
  const { clock, first, second } = twoWorkers('memory')
  const parent = rerunTool('parent', async (_, ctx) => {
    await new Promise<void>((resolve) => void clock.timer(10, resolve)) // works before it reaches the nested call
    const end = await ctx.call(child, {})
    return end.status === 'success' ? end.value : end.status
  })
  await dieDuringCall(await first([parent, child]), clock, { id: 'a', name: 'parent' }, '1s')
  const end = await runToEnd(await second([parent, child]), clock)
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'slept' }] })
})

// Regression: the second attempt joined a call that already slept, and its timeout kept running.
test('TIME-2 TIME-4: the timeout pauses for a retry that joins a sleeping nested call', async () => {
  const clock = manualClock()
  const parent = rerunTool('parent', async (_, ctx) => {
    const called = ctx.call(child, {})
    if (ctx.attempt === 1) {
      await new Promise<void>((resolve) => void clock.timer(10, resolve))
      throw retry({ after: '1s' })
    }
    const end = await called
    return end.status === 'success' ? end.value : end.status
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [parent, child], clock, logger: quiet })
  const end = await runToEnd(runtime, clock)
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'slept' }] })
})

// Regression: a rejected batch counted as open calls forever, so that the body never counted as waiting.
test('TIME-2 SCHED-2: a rejected ctx.run does not keep the attempt timeout running', async () => {
  const clock = manualClock()
  const parent = rerunTool('parent', async (_, ctx) => {
    const many = Array.from({ length: 5 }, (_each, n) => ({ id: String(n), name: 'child' }))
    const why = await ctx.run(many).then(
      () => 'ran',
      (error: { code: string }) => error.code,
    )
    const end = await ctx.call(child, {})
    return [why, end.status]
  })
  const runtime = await createRuntime({
    store: 'memory:',
    tools: [parent, child],
    sizes: { batch: 4 },
    clock,
    logger: quiet,
  })
  const end = await runToEnd(runtime, clock)
  expect(end).toMatchObject({ value: [{ status: 'success', value: ['batch_too_long', 'success'] }] })
})

// Regression: the children of a timed-out attempt were settled as cancelled, and the next attempt got that outcome.
test('TIME-4 TIME-1: a retry after a timeout runs its nested calls again', async () => {
  const clock = manualClock()
  let hang = true
  const child = readOnlyTool('child', (_, ctx) =>
    hang
      ? new Promise<string>((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('x'))))
      : 'read',
  )
  const parent = readOnlyTool('parent', { timeout: '1s', retry: { attempts: 3, base: '10s' } }, async (_, ctx) => {
    if (ctx.attempt > 1) hang = false
    const end = await ctx.call(child, {})
    if (end.status !== 'success') throw new Error(`the child was ${end.status}`)
    return end.value
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [parent, child], clock, logger: quiet })
  const end = await runToEnd(runtime, clock)
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'read', attempts: 2 }] })
})

test('TIME-4 WAIT-4: a retry after a timeout opens the wait of a parked nested call again', async () => {
  const clock = manualClock()
  const keys: string[] = []
  let hang = true
  const busy = readOnlyTool('busy', { timeout: '1h' }, () => (hang ? new Promise<string>(() => {}) : 'read'))
  const parked = readOnlyTool('parked', { concurrency: 'parallel' }, async (_, ctx) => {
    const later = await ctx.later<string>({ name: 'signature' })
    keys.push(later.key)
    return later
  })
  const parent = readOnlyTool('parent', { timeout: '10m', retry: { attempts: 2, base: '1s' } }, async (_, ctx) => {
    if (ctx.attempt > 1) hang = false
    const ends = await ctx.run([
      { id: '1', name: 'busy' },
      { id: '2', name: 'parked' },
    ])
    return ends.map((end) => {
      if (end.status !== 'success') throw new Error(`${end.name} was ${end.status}`)
      return end.value
    })
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [parent, parked, busy], clock, logger: quiet })
  const run = runtime.session('s').run([{ id: 'a', name: 'parent' }])
  for (let minute = 0; minute < 20 && keys.length < 2; minute++) await clock.advance(60_000)
  expect(await runtime.resolve(keys[0] as string, { value: 'late' })).toMatchObject({ answer: 'already_resolved' })
  expect(await runtime.resolve(keys[1] as string, { value: 'signed' })).toMatchObject({ answer: 'accepted' })
  const [end] = await run
  expect(end).toMatchObject({ status: 'success', value: ['read', 'signed'], attempts: 2 })
  await runtime.close({ grace: 0 })
})

test('TIME-4: a retry does not run a nested call again because of the text of its cancellation', async () => {
  const clock = manualClock()
  let runs = 0
  const child = readOnlyTool('child', () => {
    runs++
    return 'read'
  })
  const parent = readOnlyTool('parent', async (_, ctx) => {
    const end = await ctx.call(child, {})
    if (ctx.attempt === 1) throw retry({ after: '1s' })
    return end.status
  })
  const message = 'The attempt of the parent call was abandoned'
  const replace = { status: 'cancelled' as const, cancellation: { message, source: 'hook' as const } }
  const runtime = await createRuntime({
    store: 'memory:',
    tools: [parent, child],
    hooks: [{ name: 'cancel', after: ({ tool }) => (tool === 'child' ? { replace } : undefined) }],
    clock,
    logger: quiet,
  })
  const end = await runToEnd(runtime, clock)
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'cancelled', attempts: 2 }] })
  expect(runs).toBe(1)
})

test('TIME-4 DUR-9: a retry runs nested calls again that an older version cancelled with their parent', async () => {
  const { clock, store, file } = freshSqlite()
  let hang = true
  const slow = readOnlyTool('slow', () => (hang ? new Promise<string>(() => {}) : 'read'))
  const parent = readOnlyTool(
    'parent',
    { timeout: '1s', retry: { attempts: 2, base: '1h', cap: '1h' } },
    async (_, ctx) => {
      const end = await ctx.call(slow, {})
      if (end.status !== 'success') throw new Error(`the child was ${end.status}`)
      return end.value
    },
  )
  const runtime = await createRuntime({ store, tools: [parent, slow], clock, logger: quiet })
  const run = runtime.session('s').run([{ id: 'a', name: 'parent' }])
  await clock.advance('2s')
  await clock.advance('2s')
  const older = new DatabaseSync(file)
  const { changes } = older
    .prepare(`UPDATE calls SET outcome = ? WHERE tool = 'slow' AND outcome LIKE '%"withParent":true%'`)
    .run('{"status":"cancelled","cancellation":{"message":"The call above it was stopped","source":"cancellation"}}')
  older.close()
  expect(changes).toBe(1)
  hang = false
  const end = await after(run, clock, 7_200_000)
  expect(end).toMatchObject({ value: [{ status: 'success', value: 'read', attempts: 2 }] })
  await runtime.close({ grace: 0 })
})
