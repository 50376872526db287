// Attempt timeouts, and the time that an outcome reports as queued.

import { createRuntime, retry } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { readOnlyTool, simpleTool } from '../../kit/simple-tools.ts'

// Regression: the shared timer removed the row that was created while it fired, so that the calls in it had no attempt
// timeout.
test('TIME-1: a call submitted while another one times out has its own attempt timeout', async () => {
  const clock = manualClock()
  const runtime = await createRuntime({ store: 'memory:', tools: [], clock, logger: quiet })
  let cleanup: Promise<unknown> | undefined
  const quick = readOnlyTool('quick', () => 'ok')
  const hangs = readOnlyTool('hangs', () => new Promise<void>(() => {}))
  const slow = readOnlyTool(
    'slow',
    { description: 'Cleans up when it is stopped' },
    (_, ctx) =>
      new Promise<void>((_resolve, reject) =>
        ctx.signal.addEventListener('abort', () => {
          cleanup = runtime.session('cleanup').run([
            { id: '1', name: 'quick' },
            { id: '2', name: 'hangs' },
          ])
          reject(new Error('stopped'))
        }),
      ),
  )
  runtime.tools.add([quick, hangs, slow])
  await after(runtime.session('s').run([{ id: 'a', name: 'slow' }]), clock)
  const end = cleanup && (await after(cleanup, clock))
  await runtime.close({ grace: 0 })
  expect(end).toMatchObject({ value: [{ status: 'success' }, { failure: { code: 'attempt_timeout' } }] })
})

// Regression: an attempt that failed in its first millisecond counted as running, and so did the delay after it.
test('VAL-1 TIME-4: a retry delay is queued time, even after an attempt that took no time', async () => {
  const clock = manualClock()
  const busy = simpleTool('busy', () => {
    throw retry({ after: '20s' })
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [busy], clock, logger: quiet })
  const call = runtime.session('s').call(busy, {})
  await clock.advance('10s')
  await call.cancel()
  const end = await after(call.outcome, clock)
  await runtime.close({ grace: 0 })
  expect(end).toMatchObject({ value: { status: 'cancelled', runningMs: 0, queuedMs: 10_000 } })
})
