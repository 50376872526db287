// Waking after a turn that was poisoned, cancelled, rejected or repeated.

import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { closedAfterEach, stores, workersOn } from '../../kit/open-runtime.ts'
import { gatedTask, rerunTask } from '../../kit/simple-tools.ts'
import { advanceUntil, ignoreOutcome, letTimePass } from '../../kit/wait-until.ts'

const runtimes = closedAfterEach()

const hang = (_: unknown, signal: AbortSignal): Promise<void> =>
  new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  )

describe.each(stores)('waking after unusual turns on %s', (_kind, fresh) => {
  const world = workersOn(fresh, { wake: true })

  test('TASK-9, DUR-8: a notice that arrived during a poisoned turn wakes the session', async () => {
    const { clock, store, open } = world()
    const { tool: work, go } = gatedTask()
    const dying = mortal(store)
    const stuck = scriptedModel(['Never'], { name: 'm', wait: hang })
    const first = await open({ tools: [work], models: [stuck] }, dying.store)
    const session = first.session('s')
    await session.tasks.start({ tool: 'work', id: 't' })
    ignoreOutcome(first.session('s').turn({ model: 'm', message: 'Go', id: 'a' }))
    await advanceUntil(clock, () => stuck.asked === 1)
    go()
    await letTimePass(clock)
    expect((await session.tasks.get('t'))?.state).toBe('succeeded')
    dying.die()
    const model = scriptedModel(['Heard', 'Heard more'], { name: 'm' })
    const second = await open({ tools: [work], models: [model], poisonAfter: 1 })
    await letTimePass(clock)
    expect(await second.session('s').turn({ model: 'm', message: 'Go', id: 'a' }).outcome).toMatchObject({
      failure: { code: 'poisoned' },
    })
    await letTimePass(clock)
    expect(model.asked).toBe(1)
    expect(await second.session('s').notices.list()).toEqual([])
  })

  test('TASK-9, SESS-4: a turn cancelled while queued leaves no notice unread', async () => {
    const { clock, store, open } = world()
    const { tool: work, go } = gatedTask()
    let holds = false
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    // Delays the read by which the second turn learns that it may begin.
    const slowly: Store = {
      ...store,
      document: (name) =>
        holds && name.of === 'conversation' ? held.then(() => store.document(name)) : store.document(name),
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
    await advanceUntil(clock, () => model.asked === 1)
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
    await letTimePass(clock)
    expect((await b.outcome).status).toBe('cancelled')
    expect(await session.notices.list()).toEqual([])
  })

  test('TASK-9: a rejected turn is not the template for a wake', async () => {
    const { clock, open } = world()
    const { tool: work, go } = gatedTask()
    const model = scriptedModel(['Said', 'Heard'], { name: 'm' })
    const other = scriptedModel(['Other'], { name: 'other' })
    const runtime = await open({ tools: [work], models: [model, other] })
    const session = runtime.session('s', { principal: 'user:ada' })
    await session.tasks.start({ tool: 'work', id: 't' })
    const turn = session.turn({ model: 'm', message: 'Go', id: 'a', instructions: 'Be kind' })
    await advanceUntil(clock, () => model.asked === 1)
    await turn.outcome
    const refused = runtime
      .session('s', { principal: 'user:eve' })
      .turn({ model: 'other', message: 'Mine', id: 'a', instructions: 'Be cruel' })
    await expect(refused.outcome).rejects.toMatchObject({ code: 'turn_conflict' })
    go()
    await letTimePass(clock)
    expect({ model: model.asked, other: other.asked }).toEqual({ model: 2, other: 0 })
    expect(model.requests[1]?.instructions).toBe('Be kind')
  })

  test('TASK-9, CALL-6: repeating an earlier turn does not make it the template for a wake', async () => {
    const { clock, open } = world()
    const { tool: work, go } = gatedTask()
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
    await letTimePass(clock)
    expect(model.asked).toBe(3)
    expect(model.requests[2]?.instructions).toBe('Second')
  })

  test('TASK-9: a call moved to the background before the first turn wakes its session at its end', async () => {
    const { clock, open } = world()
    const { tool: work, go } = gatedTask()
    const model = scriptedModel(['Said', 'Heard'], { name: 'm' })
    const runtime = await open({ tools: [work], models: [model] })
    const session = runtime.session('s')
    const run = session.run([{ id: 'c', name: 'work', input: {} }], { background: '5s' })
    await clock.advance(6_000)
    expect((await run)[0]).toMatchObject({ status: 'success', value: { status: 'running' } })
    await letTimePass(clock)
    const turn = session.turn({ model: 'm', message: 'Go' })
    await advanceUntil(clock, () => model.asked === 1)
    await turn.outcome
    await letTimePass(clock)
    go()
    await letTimePass(clock)
    expect(model.asked).toBe(2)
    expect(await session.notices.list()).toEqual([])
  })

  test('TASK-9: a worker without the model of a session does not block its turns', async () => {
    const { clock, store, open } = world()
    const { tool: work, go } = gatedTask()
    const dying = mortal(store)
    const gone = scriptedModel(['Said'], { name: 'gone' })
    const first = await open({ tools: [work] }, dying.store)
    const turn = first.session('s').turn({ model: gone, message: 'Go' })
    await advanceUntil(clock, () => gone.asked === 1)
    await turn.outcome
    await first.session('s').tasks.start({ tool: 'work', id: 't' })
    await clock.advance(1_000)
    dying.die()
    const model = scriptedModel(['Answered', 'More'], { name: 'm' })
    const second = await open({ tools: [work], models: [model] })
    go()
    await letTimePass(clock)
    const session = second.session('s')
    expect((await session.tasks.get('t'))?.state).toBe('succeeded')
    let ended: unknown = 'waits'
    session.turn({ model: 'm', message: 'Hello?' }).outcome.then(
      ({ status }) => (ended = status),
      (error: unknown) => (ended = error),
    )
    await letTimePass(clock)
    expect(ended).toBe('success')
  })

  test('TASK-9: repeating an ended turn does not reset the limit of consecutive wakes', async () => {
    const { clock, open } = world()
    const work = rerunTask('work', () => 'worked')
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
      new Set((await session.messages.list()).map(({ turn }) => turn ?? '').filter((turn) => turn.startsWith('woken_')))
        .size
    const first = ask()
    await advanceUntil(clock, async () => (await woken()) === 2)
    await first
    await letTimePass(clock)
    expect(await woken()).toBe(2)
    // A reconnecting client asks for the outcome of its turn again.
    await ask()
    await letTimePass(clock)
    await session.triggers.subscribe({ event: 'mail', message: 'There is mail' })
    await runtime.emit('mail', null, { key: 'k' })
    await letTimePass(clock)
    expect(await woken()).toBe(2)
  })
})
