// TASK-9: a session that is to be told something has a turn for it by itself, where the runtime is asked to.

import { createRuntime, type Runtime, type RuntimeOptions, tool } from 'pawl'
import { scriptedModel, type ScriptedModel } from 'pawl/testing'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Change, Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import { freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'

const input = { type: 'object' } as const
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

describe.each([
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const)('sessions are woken on %s', (_kind, fresh) => {
  const work = tool({ name: 'work', description: 'd', input, onCrash: 'rerun', background: true, execute: () => 'worked' })
  const spawns = { call: { name: 'spawn_background', input: { tool: 'work', args: {} } } }
  const world = (): { clock: ManualClock; store: Store; open: (options?: Partial<RuntimeOptions>, on?: Store) => Promise<Runtime> } => {
    const { clock, store } = fresh()
    const open = async (options: Partial<RuntimeOptions> = {}, on: Store = store): Promise<Runtime> => {
      const runtime = await createRuntime({ store: on, clock, logger: quiet, tools: [work], wake: true, ...options })
      if (on === store) runtimes.push(runtime)
      return runtime
    }
    return { clock, store, open }
  }
  const passes = async (clock: ManualClock, is: () => boolean | Promise<boolean>): Promise<void> => {
    await vi.waitUntil(
      async () => {
        await clock.advance(1_000)
        return is()
      },
      { interval: 1, timeout: 10_000 },
    )
  }
  /** Nothing more comes of it, whatever the time. */
  const rests = async (clock: ManualClock, model: ScriptedModel, asked: number): Promise<void> => {
    for (let n = 0; n < 40; n++) await clock.advance(5_000)
    expect(model.asked).toBe(asked)
  }
  const turnsOf = async (runtime: Runtime): Promise<string[]> =>
    (await runtime.session('s').messages.list()).filter(({ message }) => message.role === 'assistant').map(({ turn }) => turn ?? '')
  /** It hears of its task when the turn that started it is over. */
  const slow = (): { tool: ReturnType<typeof tool>; go: () => void } => {
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

  test('TASK-9: the end of a task wakes an idle session: one more turn, like the last one, on behalf of whoever asked', async () => {
    const { clock, open } = world()
    const { tool: slowly, go } = slow()
    const model = scriptedModel([spawns, 'Started', ({ last }) => `Heard ${/finished: \w+/.exec(last)?.[0]}`])
    const principals: (string | null)[] = []
    const hooks = [{ name: 'sees', before: ({ principal }: { principal: string | null }) => void principals.push(principal) }]
    const runtime = await open({ tools: [slowly], hooks })
    const session = runtime.session('s', { principal: 'user:ada' })
    const turn = session.turn({ model, message: 'Go', instructions: 'Be brief', limits: { steps: 5 } })
    await passes(clock, () => model.asked === 2)
    await turn.outcome
    await rests(clock, model, 2)
    go()
    await passes(clock, () => model.asked === 3)
    await rests(clock, model, 3)
    expect(model.requests[2]?.instructions).toBe('Be brief')
    const said = await session.messages.list()
    expect(said.at(-1)?.message).toMatchObject({ role: 'assistant', parts: [{ text: 'Heard finished: succeeded' }] })
    expect(said.filter(({ message }) => message.role === 'user')).toHaveLength(1)
    expect(new Set(await turnsOf(runtime)).size).toBe(2)
    expect(await session.notices.list()).toEqual([])
    expect(new Set(principals)).toEqual(new Set(['user:ada']))
  })

  test('TASK-9: it is not, unless the runtime is asked to', async () => {
    const { clock, open } = world()
    const { tool: slowly, go } = slow()
    const model = scriptedModel([spawns, 'Started', 'Heard'])
    const runtime = await open({ tools: [slowly], wake: false })
    const session = runtime.session('s')
    const turn = session.turn({ model, message: 'Go' })
    await passes(clock, () => model.asked === 2)
    await turn.outcome
    go()
    await rests(clock, model, 2)
    expect(await session.notices.list()).toHaveLength(1)
    await expect(open({ wake: { maxConsecutive: 0 } })).rejects.toMatchObject({ code: 'config_invalid' })
    await expect(open({ wake: { often: 1 } as never })).rejects.toMatchObject({ code: 'config_invalid' })
  })

  test('TASK-9: what a turn hears while it is open wakes nobody', async () => {
    const { clock, open } = world()
    const model = scriptedModel([spawns, { call: { name: 'wait_task', input: { task_id: 'x' } } }, 'Done', 'Again'])
    const runtime = await open()
    const turn = runtime.session('s').turn({ model, message: 'Go' })
    await passes(clock, () => model.asked >= 3)
    await turn.outcome
    const { asked } = model
    await rests(clock, model, asked)
    expect(new Set(await turnsOf(runtime)).size).toBe(1)
  })

  test('TASK-9 CRON-4: a message of a trigger, and a call that was moved, wake it too', async () => {
    const { clock, open } = world()
    const { tool: slowly, go } = slow()
    const model = scriptedModel([{ call: { name: 'work' } }, 'Goes on', 'Heard one', 'Heard two'])
    const runtime = await open({ tools: [slowly] })
    const session = runtime.session('s')
    await session.triggers.subscribe({ event: 'mail', message: 'There is mail' })
    const turn = session.turn({ model, message: 'Go', background: '5s' })
    await passes(clock, () => model.asked === 2)
    await turn.outcome
    await runtime.emit('mail', null, { key: 'k' })
    await passes(clock, () => model.asked === 3)
    await rests(clock, model, 3)
    go()
    await passes(clock, () => model.asked === 4)
    await rests(clock, model, 4)
    const said = JSON.stringify(await session.messages.list())
    expect(said).toContain('There is mail')
    expect(said).toContain('worked')
  })

  test('TASK-9: so many in a row, and no more until somebody says something', async () => {
    const { clock, open } = world()
    // Whatever it hears, it starts another.
    const many = scriptedModel([
      { when: /finished|^Go$/, ...spawns },
      { when: /./, say: 'Started' },
    ])
    const runtime = await open({ wake: { maxConsecutive: 3 } })
    const session = runtime.session('s')
    await expect(open({ wake: 'yes' as never })).rejects.toMatchObject({ code: 'config_invalid' })
    const turn = session.turn({ model: many, message: 'Go' })
    await passes(clock, async () => (await session.notices.list()).length === 1 && new Set(await turnsOf(runtime)).size === 4)
    await turn.outcome
    const { asked } = many
    await rests(clock, many, asked)
    expect(new Set(await turnsOf(runtime)).size).toBe(4)
    const next = session.turn({ model: many, message: 'Go' })
    await passes(clock, () => many.asked > asked)
    await next.outcome
  })

  test('TASK-9: a worker that dies right after the end of a task: another wakes the session, once', async () => {
    const { clock, store, open } = world()
    const lines = [spawns, 'Started', 'Heard']
    const mortals = mortal(store)
    const isEnd = ({ documents: documents = [] }: Change): boolean =>
      documents.some(({ of, value }) => of === 'due' && value?.includes('"wake"') === true)
    const { tool: slowly, go } = slow()
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
    await passes(clock, () => before.asked === 2)
    await turn.outcome
    armed = true
    go()
    await vi.waitUntil(() => dead, { interval: 1, timeout: 5_000 })
    const [one, two] = [scriptedModel(lines, { name: 'm' }), scriptedModel(lines, { name: 'm' })]
    const runtime = await open({ models: [one] })
    await open({ models: [two] })
    await passes(clock, () => before.asked + one.asked + two.asked === 3)
    for (let n = 0; n < 40; n++) await clock.advance(5_000)
    expect(before.asked + one.asked + two.asked).toBe(3)
    expect(await runtime.session('s').notices.list()).toEqual([])
  })
})
