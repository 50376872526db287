// TASK-9: turns that begin by themselves, where the last turn did not end as turns usually do, or was not the last.

import { createRuntime, type Runtime, type RuntimeOptions, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import { freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'

const input = { type: 'object' } as const
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

/** A tool that ends when the test says so. */
function slow(): { tool: ReturnType<typeof tool>; go: () => void } {
  let go = (): void => {}
  const ended = new Promise<void>((resolve) => (go = resolve))
  return {
    tool: tool({
      name: 'work',
      description: 'd',
      input,
      onCrash: 'rerun',
      timeout: '1d',
      background: true,
      execute: () => ended.then(() => 'worked'),
    }),
    go: () => go(),
  }
}
const hang = (_: unknown, signal: AbortSignal): Promise<void> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }))
const passes = async (clock: ManualClock, is: () => boolean | Promise<boolean>): Promise<void> => {
  await vi.waitUntil(
    async () => {
      await clock.advance(1_000)
      return is()
    },
    { interval: 1, timeout: 5_000 },
  )
}
const rests = async (clock: ManualClock): Promise<void> => {
  for (let n = 0; n < 40; n++) await clock.advance(5_000)
}

describe.each([
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const)('late: sessions are woken on %s', (_kind, fresh) => {
  const world = (): { clock: ManualClock; store: Store; open: (options?: Partial<RuntimeOptions>, on?: Store) => Promise<Runtime> } => {
    const { clock, store } = fresh()
    const open = async (options: Partial<RuntimeOptions> = {}, on: Store = store): Promise<Runtime> => {
      const runtime = await createRuntime({ store: on, clock, logger: quiet, wake: true, ...options })
      if (on === store) runtimes.push(runtime)
      return runtime
    }
    return { clock, store, open }
  }

  test('TASK-9 DUR-8: what came while a turn was open that ends as poisoned wakes the session', async () => {
    const { clock, store, open } = world()
    const { tool: work, go } = slow()
    const dying = mortal(store)
    const stuck = scriptedModel(['Never'], { name: 'm', wait: hang })
    const first = await open({ tools: [work], models: [stuck] }, dying.store)
    const session = first.session('s')
    await session.tasks.start({ tool: 'work', id: 't' })
    first
      .session('s')
      .turn({ model: 'm', message: 'Go', id: 'a' })
      .outcome.catch(() => {})
    await passes(clock, () => stuck.asked === 1)
    go()
    await rests(clock)
    expect((await session.tasks.get('t'))?.state).toBe('succeeded')
    dying.die()
    const model = scriptedModel(['Heard', 'Heard more'], { name: 'm' })
    const second = await open({ tools: [work], models: [model], poisonAfter: 1 })
    await rests(clock)
    expect(await second.session('s').turn({ model: 'm', message: 'Go', id: 'a' }).outcome).toMatchObject({ failure: { code: 'poisoned' } })
    await rests(clock)
    expect(model.asked).toBe(1)
    expect(await second.session('s').notices.list()).toEqual([])
  })

  test('TASK-9 SESS-4: a turn that is cancelled before it could begin, while the one before has ended, leaves nothing unheard', async () => {
    const { clock, store, open } = world()
    const { tool: work, go } = slow()
    let holds = false
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    // The second turn takes its time to see that it may begin.
    const slowly: Store = {
      ...store,
      document: (name) => (holds && name.of === 'conversation' ? held.then(() => store.document(name)) : store.document(name)),
    }
    let stuck = true
    const model = scriptedModel([{ when: /finished/, say: 'Heard' }, 'Said'], {
      name: 'm',
      wait: (seen, signal) => (stuck ? hang(seen, signal) : Promise.resolve()),
    })
    const runtime = await open({ tools: [work], models: [model] }, slowly)
    runtimes.push(runtime)
    const session = runtime.session('s')
    await session.tasks.start({ tool: 'work', id: 't' })
    const a = session.turn({ model: 'm', message: 'First' })
    await passes(clock, () => model.asked === 1)
    const b = session.turn({ model: 'm', message: 'Second' })
    await clock.advance(1_000)
    go()
    await clock.advance(5_000)
    expect((await session.tasks.get('t'))?.state).toBe('succeeded')
    stuck = false
    holds = true
    await a.cancel('no')
    await clock.advance(5_000)
    expect((await a.outcome).status).toBe('cancelled')
    await b.cancel('no')
    await clock.advance(1_000)
    holds = false
    release()
    await rests(clock)
    expect((await b.outcome).status).toBe('cancelled')
    expect(await session.notices.list()).toEqual([])
  })

  test('TASK-9: a turn that was refused is not the last one that somebody asked for', async () => {
    const { clock, open } = world()
    const { tool: work, go } = slow()
    const model = scriptedModel(['Said', 'Heard'], { name: 'm' })
    const other = scriptedModel(['Other'], { name: 'other' })
    const runtime = await open({ tools: [work], models: [model, other] })
    const session = runtime.session('s', { principal: 'user:ada' })
    await session.tasks.start({ tool: 'work', id: 't' })
    const turn = session.turn({ model: 'm', message: 'Go', id: 'a', instructions: 'Be kind' })
    await passes(clock, () => model.asked === 1)
    await turn.outcome
    const refused = runtime
      .session('s', { principal: 'user:eve' })
      .turn({ model: 'other', message: 'Mine', id: 'a', instructions: 'Be cruel' })
    await expect(refused.outcome).rejects.toMatchObject({ code: 'turn_conflict' })
    go()
    await rests(clock)
    expect({ model: model.asked, other: other.asked }).toEqual({ model: 2, other: 0 })
    expect(model.requests[1]?.instructions).toBe('Be kind')
  })

  test('TASK-9 CALL-6: an earlier turn that is asked for again, to hear its outcome, is not the last one', async () => {
    const { clock, open } = world()
    const { tool: work, go } = slow()
    const model = scriptedModel(['One', 'Two', 'Heard'], { name: 'm' })
    const runtime = await open({ tools: [work], models: [model] })
    const session = runtime.session('s')
    await session.tasks.start({ tool: 'work', id: 't' })
    await session.turn({ model: 'm', message: 'Go', id: 'a', instructions: 'First' }).outcome
    await session.turn({ model: 'm', message: 'On', id: 'b', instructions: 'Second' }).outcome
    expect(await session.turn({ model: 'm', message: 'Go', id: 'a', instructions: 'First' }).outcome).toMatchObject({
      value: { text: 'One' },
    })
    go()
    await rests(clock)
    expect(model.asked).toBe(3)
    expect(model.requests[2]?.instructions).toBe('Second')
  })

  test('TASK-9: a call that was moved before the first turn of its session wakes it when it ends after that', async () => {
    const { clock, open } = world()
    const { tool: work, go } = slow()
    const model = scriptedModel(['Said', 'Heard'], { name: 'm' })
    const runtime = await open({ tools: [work], models: [model] })
    const session = runtime.session('s')
    const run = session.run([{ id: 'c', name: 'work', input: {} }], { background: '5s' })
    await clock.advance(6_000)
    expect((await run)[0]).toMatchObject({ status: 'success', value: { status: 'running' } })
    await rests(clock)
    const turn = session.turn({ model: 'm', message: 'Go' })
    await passes(clock, () => model.asked === 1)
    await turn.outcome
    await rests(clock)
    go()
    await rests(clock)
    expect(model.asked).toBe(2)
    expect(await session.notices.list()).toEqual([])
  })

  test('TASK-9: a worker that does not know the model of a session does not put a turn in its way', async () => {
    const { clock, store, open } = world()
    const { tool: work, go } = slow()
    const dying = mortal(store)
    const gone = scriptedModel(['Said'], { name: 'gone' })
    const first = await open({ tools: [work] }, dying.store)
    const turn = first.session('s').turn({ model: gone, message: 'Go' })
    await passes(clock, () => gone.asked === 1)
    await turn.outcome
    await first.session('s').tasks.start({ tool: 'work', id: 't' })
    await clock.advance(1_000)
    dying.die()
    const model = scriptedModel(['Answered', 'More'], { name: 'm' })
    const second = await open({ tools: [work], models: [model] })
    go()
    await rests(clock)
    const session = second.session('s')
    expect((await session.tasks.get('t'))?.state).toBe('succeeded')
    let ended: unknown = 'waits'
    session.turn({ model: 'm', message: 'Hello?' }).outcome.then(
      ({ status }) => (ended = status),
      (error: unknown) => (ended = error),
    )
    await rests(clock)
    expect(ended).toBe('success')
  })

  test('TASK-9: as many in a row as there may be, also if somebody asks again for a turn that is over', async () => {
    const { clock, open } = world()
    const work = tool({ name: 'work', description: 'd', input, onCrash: 'rerun', background: true, execute: () => 'worked' })
    const spawns = { call: { name: 'spawn_background', input: { tool: 'work', args: {} } } }
    const model = scriptedModel(
      [
        { when: /finished|^Go$/, ...spawns },
        { when: /./, say: 'Started' },
      ],
      { name: 'm' },
    )
    const runtime = await open({ tools: [work], models: [model], wake: { maxConsecutive: 2 } })
    const session = runtime.session('s')
    const ask = () => session.turn({ model: 'm', message: 'Go', id: 'a' }).outcome
    const woken = async (): Promise<number> =>
      new Set((await session.messages.list()).map(({ turn }) => turn ?? '').filter((turn) => turn.startsWith('woken_'))).size
    const first = ask()
    await passes(clock, async () => (await woken()) === 2)
    await first
    await rests(clock)
    expect(await woken()).toBe(2)
    // A client that reconnects asks for the outcome of its turn, as it may.
    await ask()
    await rests(clock)
    await session.triggers.subscribe({ event: 'mail', message: 'There is mail' })
    await runtime.emit('mail', null, { key: 'k' })
    await rests(clock)
    expect(await woken()).toBe(2)
  })
})
