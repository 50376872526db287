// Waking: with `wake`, a session with pending notices gets a turn of its own.

import { type Runtime } from 'pawl'
import { scriptedModel, type ScriptedModel } from 'pawl/testing'
import { describe, expect, test, vi } from 'vitest'
import type { Change, Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { stores, workersOn } from '../../kit/open-runtime.ts'
import { gatedTask, rerunTask } from '../../kit/simple-tools.ts'
import { advanceUntil } from '../../kit/wait-until.ts'

describe.each(stores)('waking sessions on %s', (_kind, fresh) => {
  const work = rerunTask('work', () => 'worked')
  const spawns = { call: { name: 'spawn_background', input: { tool: 'work', args: {} } } }
  const world = workersOn(fresh, { tools: [work], wake: true })
  /** Asserts that the model is not asked again, however much time passes. */
  const rests = async (clock: ManualClock, model: ScriptedModel, asked: number): Promise<void> => {
    for (let n = 0; n < 40; n++) await clock.advance(5_000)
    expect(model.asked).toBe(asked)
  }
  const turnsOf = async (runtime: Runtime): Promise<string[]> =>
    (await runtime.session('s').messages.list())
      .filter(({ message }) => message.role === 'assistant')
      .map(({ turn }) => turn ?? '')

  test('TASK-9: the end of a task wakes an idle session with one turn like the last one', async () => {
    const { clock, open } = world()
    const { tool: slowly, go } = gatedTask()
    const model = scriptedModel([spawns, '{}', ({ last }) => `Heard ${/finished: \w+/.exec(last)?.[0]}`])
    const principals: (string | null)[] = []
    const hooks = [
      { name: 'sees', before: ({ principal }: { principal: string | null }) => void principals.push(principal) },
    ]
    const runtime = await open({ tools: [slowly], hooks })
    const session = runtime.session('s', { principal: 'user:ada' })
    const turn = session.turn({
      model,
      message: 'Go',
      instructions: 'Be brief',
      limits: { steps: 5, invalid: 1 },
      toolChoice: 'required',
      output: { type: 'object' },
    })
    await advanceUntil(clock, () => model.asked === 2)
    await turn.outcome
    await rests(clock, model, 2)
    go()
    await advanceUntil(clock, () => model.asked === 3)
    await rests(clock, model, 3)
    // Not the form and the required call, which belong to the message that was answered.
    expect(model.requests[2]).toMatchObject({ instructions: 'Be brief', toolChoice: 'auto', output: null })
    const said = await session.messages.list()
    expect(said.at(-1)?.message).toMatchObject({ role: 'assistant', parts: [{ text: 'Heard finished: succeeded' }] })
    expect(said.filter(({ message }) => message.role === 'user')).toHaveLength(1)
    expect(new Set(await turnsOf(runtime)).size).toBe(2)
    expect(await session.notices.list()).toEqual([])
    expect(new Set(principals)).toEqual(new Set(['user:ada']))
  })

  test('TASK-9: without `wake`, the session is not woken', async () => {
    const { clock, open } = world()
    const { tool: slowly, go } = gatedTask()
    const model = scriptedModel([spawns, 'Started', 'Heard'])
    const runtime = await open({ tools: [slowly], wake: false })
    const session = runtime.session('s')
    const turn = session.turn({ model, message: 'Go' })
    await advanceUntil(clock, () => model.asked === 2)
    await turn.outcome
    go()
    await rests(clock, model, 2)
    expect(await session.notices.list()).toHaveLength(1)
    await expect(open({ wake: { maxConsecutive: 0 } })).rejects.toMatchObject({ code: 'config_invalid' })
    await expect(open({ wake: { often: 1 } as never })).rejects.toMatchObject({ code: 'config_invalid' })
  })

  test('TASK-9: notices read by an open turn do not wake the session', async () => {
    const { clock, open } = world()
    const model = scriptedModel([spawns, { call: { name: 'wait_task', input: { task_id: 'x' } } }, 'Done', 'Again'])
    const runtime = await open()
    const turn = runtime.session('s').turn({ model, message: 'Go' })
    await advanceUntil(clock, () => model.asked >= 3)
    await turn.outcome
    const { asked } = model
    await rests(clock, model, asked)
    expect(new Set(await turnsOf(runtime)).size).toBe(1)
  })

  test('TASK-9, CRON-4: a trigger message and a moved call wake the session', async () => {
    const { clock, open } = world()
    const { tool: slowly, go } = gatedTask()
    const model = scriptedModel([{ call: { name: 'work' } }, 'Goes on', 'Heard one', 'Heard two'])
    const runtime = await open({ tools: [slowly] })
    const session = runtime.session('s')
    await session.triggers.subscribe({ event: 'mail', message: 'There is mail' })
    const turn = session.turn({ model, message: 'Go', background: '5s' })
    await advanceUntil(clock, () => model.asked === 2)
    await turn.outcome
    await runtime.emit('mail', null, { key: 'k' })
    await advanceUntil(clock, () => model.asked === 3)
    await rests(clock, model, 3)
    go()
    await advanceUntil(clock, () => model.asked === 4)
    await rests(clock, model, 4)
    const said = JSON.stringify(await session.messages.list())
    expect(said).toContain('There is mail')
    expect(said).toContain('worked')
  })

  test('TASK-9: consecutive wakes are limited until a turn is requested again', async () => {
    const { clock, open } = world()
    // Starts another task on every notice.
    const many = scriptedModel([
      { when: /finished|^Go$/, ...spawns },
      { when: /./, say: 'Started' },
    ])
    const runtime = await open({ wake: { maxConsecutive: 3 } })
    const session = runtime.session('s')
    await expect(open({ wake: 'yes' as never })).rejects.toMatchObject({ code: 'config_invalid' })
    const turn = session.turn({ model: many, message: 'Go' })
    await advanceUntil(
      clock,
      async () => (await session.notices.list()).length === 1 && new Set(await turnsOf(runtime)).size === 4,
    )
    await turn.outcome
    const { asked } = many
    await rests(clock, many, asked)
    expect(new Set(await turnsOf(runtime)).size).toBe(4)
    const next = session.turn({ model: many, message: 'Go' })
    await advanceUntil(clock, () => many.asked > asked)
    await next.outcome
  })

  test('TASK-9: after a worker death at the end of a task, another worker wakes the session once', async () => {
    const { clock, store, open } = world()
    const lines = [spawns, 'Started', 'Heard']
    const mortals = mortal(store)
    const isEnd = ({ documents = [] }: Change): boolean =>
      documents.some(({ of, value }) => of === 'due' && value?.includes('"wake"') === true)
    const { tool: slowly, go } = gatedTask()
    const before = scriptedModel(lines, { name: 'm' })
    let [armed, dead] = [false, false]
    const dies = (change: Change): void => {
      if (!armed || !isEnd(change)) return
      mortals.die()
      dead = true
    }
    const dying: Store = {
      ...mortals.store,
      commit: async (change) => {
        const done = await mortals.store.commit(change)
        dies(change)
        return done
      },
      write: (change, heard, how) =>
        mortals.store.write(
          change,
          (answer) => {
            dies(change)
            heard(answer)
          },
          how,
        ),
    }
    const first = await open({ tools: [slowly], models: [before] }, dying)
    const turn = first.session('s').turn({ model: before, message: 'Go' })
    await advanceUntil(clock, () => before.asked === 2)
    await turn.outcome
    armed = true
    go()
    await vi.waitUntil(() => dead, { interval: 1, timeout: 5_000 })
    const [one, two] = [scriptedModel(lines, { name: 'm' }), scriptedModel(lines, { name: 'm' })]
    const runtime = await open({ models: [one] })
    await open({ models: [two] })
    await advanceUntil(clock, () => before.asked + one.asked + two.asked === 3)
    for (let n = 0; n < 40; n++) await clock.advance(5_000)
    expect(before.asked + one.asked + two.asked).toBe(3)
    expect(await runtime.session('s').notices.list()).toEqual([])
  })
})
