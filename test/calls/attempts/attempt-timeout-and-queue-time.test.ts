// Clocks that get lost, and times that are not true (TIME-1, times.ts).

import { createRuntime, retry, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { after, quiet } from '../../kit/stores/fresh-store.ts'

const empty = z.object({})

// Wrong because: Alarms.#ring deletes whatever row has its length when it is through, also one that was made while it rang: the calls in that
// row have no attempt clock any more and hang for ever.
test('TIME-1: a call that is asked for while another times out has its own attempt clock', async () => {
  const clock = manualClock()
  const runtime = await createRuntime({ store: 'memory:', tools: [], clock, logger: quiet })
  let cleanup: Promise<unknown> | undefined
  const quick = tool({ name: 'quick', description: 'Quick', input: empty, hints: { readOnly: true }, execute: () => 'ok' })
  const hangs = tool({
    name: 'hangs',
    description: 'Hangs',
    input: empty,
    hints: { readOnly: true },
    execute: () => new Promise<void>(() => {}),
  })
  const slow = tool({
    name: 'slow',
    description: 'Cleans up when it is stopped',
    input: empty,
    hints: { readOnly: true },
    execute: (_, ctx) =>
      new Promise<void>((_resolve, reject) =>
        ctx.signal.addEventListener('abort', () => {
          cleanup = runtime.session('cleanup').run([
            { id: '1', name: 'quick' },
            { id: '2', name: 'hangs' },
          ])
          reject(new Error('stopped'))
        }),
      ),
  })
  runtime.tools.add([quick, hangs, slow])
  await after(runtime.session('s').run([{ id: 'a', name: 'slow' }]), clock)
  const end = cleanup && (await after(cleanup, clock))
  await runtime.close({ grace: 0 })
  expect(end).toMatchObject({ value: [{ status: 'success' }, { failure: { code: 'attempt_timeout' } }] })
})

// Wrong because: an attempt that failed within its first millisecond is taken for one that still runs, so the delay of a retry that is then
// called off is told as time in the body.
test('VAL-1 TIME-4: the delay of a retry is time in the queue, also after an attempt that took no time', async () => {
  const clock = manualClock()
  const busy = tool({
    name: 'busy',
    description: 'Busy',
    input: empty,
    execute: () => {
      throw retry({ after: '20s' })
    },
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [busy], clock, logger: quiet })
  const call = runtime.session('s').call(busy, {})
  await clock.advance('10s')
  await call.cancel()
  const end = await after(call.outcome, clock)
  await runtime.close({ grace: 0 })
  expect(end).toMatchObject({ value: { status: 'cancelled', runningMs: 0, queuedMs: 10_000 } })
})
