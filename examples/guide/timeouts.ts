// The code of docs/guide/timeouts.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { setTimeout as passes } from 'node:timers/promises'
import { createRuntime, tool } from 'pawl'
import { z } from 'zod'

// #region listens
const fetches = tool({
  name: 'fetches',
  description: 'Listens to its signal',
  input: z.object({}),
  hints: { readOnly: true },
  timeout: '50ms', // the same as { attempt: '50ms' }
  execute: (_, ctx) => passes(10_000, 'the page', { signal: ctx.signal }), // hand the signal on: fetch, timers, child processes
})
// #endregion

/** Answers when it is told to. */
const archive = Promise.withResolvers<string>()

// #region deaf
const deaf = tool({
  name: 'deaf',
  description: 'Does not listen',
  input: z.object({}),
  hints: { readOnly: true },
  timeout: '50ms',
  execute: () => archive.promise, // may take for ever, and cannot be told to stop
})
// #endregion

// #region idle
const imports = tool({
  name: 'imports',
  description: 'Imports rows, and says how far it is',
  input: z.object({ stuckAt: z.number() }),
  hints: { readOnly: true },
  timeout: { attempt: '10m', idle: '400ms', total: '1h', queue: '5m' },
  async execute({ stuckAt }, ctx) {
    for (let current = 1; current <= 5; current++) {
      await passes(current === stuckAt ? 10_000 : 20, null, { signal: ctx.signal })
      ctx.progress({ current, total: 5, unit: 'rows' }) // the idle clock starts over
    }
    return 'imported'
  },
})
// #endregion

const runtime = await createRuntime({ store: 'memory:', tools: [fetches, deaf, imports] })
const session = runtime.session('chat-42')

// #region outcomes
const [polite, rude, moving, stuck] = await session.run([
  { id: '1', name: 'fetches' },
  { id: '2', name: 'deaf' },
  { id: '3', name: 'imports', input: { stuckAt: 0 } },
  { id: '4', name: 'imports', input: { stuckAt: 3 } },
])
assert.partialDeepStrictEqual(polite, { failure: { class: 'timeout', code: 'attempt_timeout' } })
assert.equal(polite?.status === 'failure' && polite.failure.mayStillRun, undefined) // it stopped
assert.partialDeepStrictEqual(rude, { failure: { code: 'attempt_timeout', mayStillRun: true } })
assert.equal(moving?.status, 'success')
assert.partialDeepStrictEqual(stuck, { failure: { code: 'idle_timeout' } })
// #endregion

// #region late
archive.resolve('too late')
for await (const event of session.events()) {
  if (event.type !== 'call.late') continue
  assert.deepEqual(event.body, { attempt: 1, status: 'success' }) // what `deaf` returned in the end
  break
}
// #endregion

// #region ask
const [own, late] = await session.run([
  { id: '5', name: 'deaf', timeout: '1s' }, // this call's own clock, before the tool's
  { id: '6', name: 'imports', input: { stuckAt: 1 }, deadline: Date.now() + 30 },
])
assert.equal(own?.status, 'success')
assert.partialDeepStrictEqual(late, { failure: { code: 'deadline_exceeded' } })
// #endregion

// #region cancel
const call = session.call(fetches, {}, { timeout: '1h' })
assert.equal(await call.cancel('No longer needed', 'user:ada'), true)
assert.partialDeepStrictEqual(await call.outcome, {
  status: 'cancelled',
  cancellation: { message: 'No longer needed', source: 'cancellation' },
})
assert.equal(await call.cancel(), false) // settled already

const stop = new AbortController()
const batch = session.run([{ id: '7', name: 'fetches', timeout: '1h' }], { signal: stop.signal })
stop.abort()
assert.equal((await batch)[0]?.status, 'cancelled')
// #endregion

// #region cancelOne
const two = session.run(
  [
    { id: '8', name: 'fetches', timeout: '1h' },
    { id: '9', name: 'fetches', timeout: '1h' },
  ],
  { batch: 'msg_3' },
)
const asked = { batch: 'msg_3', reason: 'Found elsewhere', by: 'user:ada' }
assert.deepEqual(await session.calls.cancel('8', asked), { answer: 'cancelled' })
assert.deepEqual(await session.calls.cancel('none'), { answer: 'unknown' })
await session.cancel('The user left') // all open calls of the session
assert.ok((await two).every(({ status }) => status === 'cancelled'))
assert.deepEqual(await session.calls.cancel('8', asked), { answer: 'already_settled' })
// #endregion
await runtime.close()
