import { createRuntime, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'

const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

// docs/guide/feed.md: "session.ended: no turn … begins in the session any more"; turns.md: "`turn.cancel` stops it …; so does `session.end()`".
test('TASK-10 SESS-1: a turn that is asked for while its session ends does not begin in a session that has ended', async () => {
  const { clock, store } = freshMemory()
  const shared: Store = { ...store, close: async () => {} }
  const looked = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  /** A store whose answer takes a moment, as one over a network does. */
  const slow: Store = {
    ...shared,
    async document(name) {
      const found = await shared.document(name)
      if (name.of === 'session-end') {
        looked.resolve()
        await goOn.promise
      }
      return found
    },
  }
  const model = scriptedModel(['I speak'], { name: 'm' })
  const options = { clock, logger: quiet, models: [model] }
  const one = await createRuntime({ ...options, store: slow })
  const other = await createRuntime({ ...options, store: shared })
  runtimes.push(one, other)
  const turn = one.session('s').turn({ model, message: 'Go' })
  turn.outcome.catch(() => {})
  await looked.promise
  expect(await other.session('s').end()).toBe(true)
  await clock.advance('5s') // all of it is over
  goOn.resolve()
  expect(await after(turn.outcome, clock, 60_000, 1_000)).toMatchObject({
    value: { status: 'cancelled', cancellation: { message: 'The session has ended' } },
  })
  expect(model.asked).toBe(0)
})

// docs/guide/feed.md: what ends with a session are its turns, tasks, schedules and triggers; "a call that a program makes itself still runs". What such a call starts does not.
test('FEED-1 TASK-10: a call of the program runs in a session that has ended, and starts no task there', async () => {
  const { clock, store } = freshMemory()
  const slow = tool({
    name: 'slow',
    description: 'd',
    input: { type: 'object' },
    background: true,
    onCrash: 'rerun',
    execute: () => 'slow',
  })
  const pay = tool({
    name: 'pay',
    description: 'd',
    input: { type: 'object' },
    execute: async (_, ctx) =>
      ctx.tasks.start({ tool: slow, input: {} }).then(
        ({ id }) => id,
        ({ code }: { code: string }) => code,
      ),
  })
  const runtime = await createRuntime({ store, clock, logger: quiet, tools: [pay, slow] })
  runtimes.push(runtime)
  const session = runtime.session('s')
  await session.end()
  await clock.advance('5s')
  expect(await after(session.run([{ id: 'a', name: 'pay' }]), clock, 10_000, 1_000)).toMatchObject({
    value: [{ status: 'success', value: 'session_ended' }],
  })
  expect(await session.tasks.list()).toEqual([])
})
