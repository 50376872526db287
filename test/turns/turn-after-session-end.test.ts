import { createRuntime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'
import { closedAfterEach } from '../kit/open-runtime.ts'
import { rerunTask, simpleTool } from '../kit/simple-tools.ts'
import { keepOpen } from '../kit/stores/killable-store.ts'

const runtimes = closedAfterEach()

// Race: the session ends on one worker after another has checked that it is open.
test('TASK-10 SESS-1: a turn requested while its session ends is cancelled and does not start', async () => {
  const { clock, store } = freshMemory()
  const shared = keepOpen(store)
  const looked = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  /** A store with latency, like one over a network. */
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
  await clock.advance('5s') // the end of the session is complete
  goOn.resolve()
  expect(await after(turn.outcome, clock, 60_000, 1_000)).toMatchObject({
    value: { status: 'cancelled', cancellation: { message: 'The session has ended' } },
  })
  expect(model.asked).toBe(0)
})

// session.end() ends turns, tasks, schedules and triggers. Direct calls still run, but cannot start new work.
test('FEED-1 TASK-10: a direct call runs in an ended session but cannot start a task there', async () => {
  const { clock, store } = freshMemory()
  const slow = rerunTask('slow', () => 'slow')
  const pay = simpleTool('pay', async (_, ctx) =>
    ctx.tasks.start({ tool: slow, input: {} }).then(
      ({ id }) => id,
      ({ code }: { code: string }) => code,
    ),
  )
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
