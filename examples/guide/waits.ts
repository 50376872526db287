// The code of docs/guide/waits.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { createRuntime, tool, type WaitAnnouncement } from 'pawl'
import { z } from 'zod'

/** Somewhere else: a print shop that calls back. */
const shop = { jobs: new Map<string, string>(), stopped: [] as string[] }

// #region park
const print = tool({
  name: 'print',
  description: 'Has a poster printed; takes days',
  input: z.object({ text: z.string() }),
  output: z.object({ tracking: z.string() }),
  onCrash: 'rerun',
  async execute({ text }, ctx) {
    const later = await ctx.later<{ tracking: string }>({ deadline: '14d' })
    await ctx.step('order', () => void shop.jobs.set(text, later.key)) // the shop gets the key, and answers with it
    return later // the call is parked: no process, no timer, one row
  },
  cancel: ({ key }) => void shop.stopped.push(key), // the call was cancelled: so is the job
})
// #endregion

// #region inside
const publish = tool({
  name: 'publish',
  description: 'Publishes after somebody has said yes',
  input: z.object({ page: z.string() }),
  onCrash: 'rerun', // a body that waits inside runs again after a crash, and finds its steps and answers on record
  async execute({ page }, ctx) {
    const later = await ctx.later<'yes' | 'no'>({
      name: 'review', // several waits in one call need names
      announce: { type: 'review', payload: { page } },
      onTimeout: 'fail', // without an answer nothing else of this turn makes sense
    })
    const said = await later.value // throws WaitError when the outside fails, cancels or stays silent
    return said === 'yes' ? `published ${page}` : 'kept back'
  },
})
// #endregion

const inbox: WaitAnnouncement[] = []

// #region announce
const runtime = await createRuntime({
  store: 'memory:',
  tools: [print, publish],
  async announce(announcement) {
    if (announcement.about === 'wait') inbox.push(announcement) // in a mail or a chat message: its key answers the wait
  },
})
// #endregion

const session = runtime.session('s')
const poster = { id: 'a', name: 'print', input: { text: 'Hello' } }

// #region resolve
const [waiting] = await session.run([poster], { until: 'waiting' })
assert.equal(waiting?.status, 'waiting')

const key = shop.jobs.get('Hello') as string
const bad = await runtime.resolve(key, { value: { tracking: 7 } }) // does not fit the output schema: the wait stays open
assert.equal(bad.answer, 'invalid')
assert.deepEqual(await runtime.resolve(key, { value: { tracking: 'T1' } }), { answer: 'accepted' })
assert.equal((await runtime.resolve(key, { cancelled: 'Out of paper' })).answer, 'already_resolved') // the first answer wins

const [printed] = await session.run([poster])
assert.deepEqual(printed?.status === 'success' && printed.value, { tracking: 'T1' })
// #endregion

const published = session.run([{ id: 'b', name: 'publish', input: { page: 'home' } }])
while (inbox.length === 0) await new Promise((resolve) => setImmediate(resolve))
const [review] = inbox as [WaitAnnouncement]
assert.deepEqual(review.payload, { page: 'home' })
await runtime.resolve(review.key, { value: 'yes' })
const [done] = await published
assert.equal(done?.status === 'success' && done.value, 'published home')

const doomed = session.run([{ id: 'c', name: 'print', input: { text: 'Bye' } }])
while (!shop.jobs.has('Bye')) await new Promise((resolve) => setImmediate(resolve))
await session.cancel('Changed our mind')
assert.equal((await doomed)[0]?.status, 'cancelled')
assert.deepEqual(shop.stopped, [shop.jobs.get('Bye')])

await runtime.close()
