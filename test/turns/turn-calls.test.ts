// Properties of calls that hold inside turns: aborting hooks, sequential execution, mutex keys across turns and tasks,
// counted worker deaths, and approval requests of agents.

import { agent, createRuntime, type Hook, type Runtime, type RuntimeOptions, type Tool, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { mortal } from '../kit/stores/killable-store.ts'
import { problemsIn } from '../kit/models/conversation-rules.ts'
import { closedAfterEach, stores } from '../kit/open-runtime.ts'
import { argumentTool } from '../kit/simple-tools.ts'

const input = { type: 'object', properties: { as: { type: 'string' } } } as const
const runtimes = closedAfterEach()

for (const [kind, fresh] of stores) {
  describe(`calls of turns on ${kind}`, () => {
    const opened = async (options: Partial<RuntimeOptions>): Promise<{ runtime: Runtime; clock: ManualClock }> => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, logger: quiet, ...options })
      runtimes.push(runtime)
      return { runtime, clock }
    }

    test.each(['before', 'after'] as const)(
      'CALL-8 VAL-6: a hook that aborts %s a call ends the turn; the next turn is complete',
      async (when) => {
        const ran: string[] = []
        const pays = (name: string): Tool =>
          tool({ name, description: 'Pays', input, execute: () => void ran.push(name) })
        const verdict = { abort: 'Nobody pays today' } as const
        const hook: Hook = {
          name: 'closes',
          [when]: ({ tool: name }: { tool: string }) => (name === 'first' ? verdict : undefined),
        }
        const model = scriptedModel([{ call: [{ name: 'first' }, { name: 'second' }] }, { say: 'Well' }])
        const { runtime, clock } = await opened({ tools: [pays('first'), pays('second')], hooks: [hook] })
        const session = runtime.session('s')
        const outcome = await after(session.turn({ model, message: 'Pay' }).outcome, clock)
        expect(outcome).toMatchObject({
          value: {
            status: 'failure',
            failure: { message: expect.stringContaining('Nobody pays today') as string, source: 'hook' },
          },
        })
        expect(ran).toEqual(when === 'before' ? [] : ['first'])
        expect(model.asked).toBe(1)
        const next = await after(session.turn({ model, message: 'And now?' }).outcome, clock)
        expect(next).toMatchObject({ value: { status: 'success', value: { text: 'Well' } } })
        expect(model.requests.flatMap(({ messages }) => problemsIn(messages))).toEqual([])
      },
    )

    test('SESS-1: the calls of one answer run in sequence if parallel is false, else together', async () => {
      let running = 0
      let most = 0
      const reads = argumentTool('reads', input, { hints: { readOnly: true }, onCrash: 'rerun' }, async (_, ctx) => {
        most = Math.max(most, ++running)
        await ctx.step('look', async () => {
          for (let n = 0; n < 5; n++) await Promise.resolve()
        })
        running--
      })
      const script = [{ call: ['a', 'b', 'c'].map((as) => ({ name: 'reads', input: { as } })) }, { say: 'Read' }]
      for (const parallel of [false, true]) {
        most = 0
        const { runtime, clock } = await opened({ tools: [reads] })
        const ended = await after(
          runtime.session('s').turn({ model: scriptedModel(script), message: 'Read', parallel }).outcome,
          clock,
        )
        expect(ended).toMatchObject({ value: { value: { text: 'Read', steps: 2 } } })
        expect(most).toBe(parallel ? 3 : 1)
      }
    })

    test('TASK-8 CALL-6: adopt() and answer() find a call of a turn by its id alone', async () => {
      const slow = argumentTool('slow', input, { background: true, onCrash: 'rerun' }, (_, ctx) => ctx.sleep('1h'))
      const locate = tool({ name: 'locate', description: 'Where they are', input, client: true })
      const model = scriptedModel([
        {
          call: [
            { id: 'c1', name: 'slow' },
            { id: 'c2', name: 'locate' },
          ],
        },
        { say: 'Well' },
      ])
      const { runtime, clock } = await opened({ tools: [slow, locate] })
      const session = runtime.session('s')
      const turn = session.turn({ model, message: 'Go', id: 'a:1' })
      await clock.advance(1_000)
      expect(await session.tasks.adopt('c1')).toMatchObject({ tool: 'slow' })
      expect(await session.answer('c2', { value: 'Here' })).toMatchObject({ answer: 'accepted' })
      expect(await after(turn.outcome, clock)).toMatchObject({ value: { status: 'success', value: { text: 'Well' } } })
    })

    test('SCHED-2: equal keys exclude each other across turns, tasks and direct calls', async () => {
      let running = 0
      let most = 0
      const locks = argumentTool(
        'locks',
        input,
        { concurrency: { key: () => 'one' }, onCrash: 'rerun', background: true },
        async (_, ctx) => {
          most = Math.max(most, ++running)
          await ctx.step('work', async () => {
            for (let n = 0; n < 20; n++) await Promise.resolve()
          })
          running--
        },
      )
      const { runtime, clock } = await opened({ tools: [locks] })
      const script = [
        {
          call: [
            { name: 'locks', input: { as: 'a' } },
            { name: 'locks', input: { as: 'b' } },
          ],
        },
        { say: 'Done' },
      ]
      const turns = ['s', 't'].map(
        (id) => runtime.session(id).turn({ model: scriptedModel(script), message: 'Go' }).outcome,
      )
      const task = await runtime.session('u').tasks.start({ tool: 'locks', input: { as: 'task' } })
      const call = runtime.session('v').call(locks, { as: 'call' }).outcome
      const ended = await after(Promise.all([...turns, runtime.session('u').tasks.wait(task.id), call]), clock)
      expect(ended).toMatchObject({
        value: [{ status: 'success' }, { status: 'success' }, { state: 'succeeded' }, { status: 'success' }],
      })
      expect(most).toBe(1)
    })

    test('DUR-8 TASK-6: a task that killed three workers is poisoned', async () => {
      const { clock, store } = fresh()
      let runs = 0
      const kills = (die: () => void): Tool =>
        tool({
          name: 'kills',
          description: 'Kills',
          input,
          onCrash: 'rerun',
          background: true,
          execute() {
            runs++
            die()
            return new Promise<never>(() => {})
          },
        })
      const door = await createRuntime({ store, clock, logger: quiet, tools: [kills(() => {})], worker: false })
      runtimes.push(door)
      const { tasks } = door.session('s')
      const { id } = await tasks.start({ tool: 'kills' })
      for (let death = 0; death < 5; death++) {
        const process = mortal(store)
        const before = runs
        await createRuntime({ store: process.store, clock, logger: quiet, tools: [kills(() => process.die())] })
        for (let n = 0; n < 40 && runs === before && (await tasks.get(id))?.state !== 'failed'; n++)
          await clock.advance('5s')
      }
      const survivor = await createRuntime({ store, clock, logger: quiet, tools: [kills(() => {})] })
      runtimes.push(survivor)
      const ended = await after(tasks.wait(id), clock)
      expect(ended).toMatchObject({
        value: { state: 'abandoned', outcome: { failure: { code: 'poisoned', raw: { deaths: 3 } } } },
      })
      expect(runs).toBe(3)
    })

    test('POL-4 SESS-6: an agent’s approval request outlives its worker; any process can decide it', async () => {
      const { clock, store } = fresh()
      const paid: string[] = []
      const tools = (): Tool[] => [
        tool({
          name: 'pay',
          description: 'Pay',
          input,
          approval: 'always',
          onCrash: 'rerun',
          execute: () => void paid.push('paid'),
        }),
        agent({ name: 'clerk', description: 'Pays', model: 'clerk' }),
      ]
      const models = () => [
        scriptedModel([{ call: { name: 'clerk', input: { task: 'Pay' } } }, { say: 'All done' }], { name: 'chief' }),
        scriptedModel([{ call: { name: 'pay' } }, { say: 'Paid' }], { name: 'clerk' }),
      ]
      const process = mortal(store)
      const first = await createRuntime({
        store: process.store,
        clock,
        logger: quiet,
        tools: tools(),
        models: models(),
      })
      const turn = first.session('s').turn({ id: 't', model: 'chief', message: 'Pay it' })
      turn.outcome.catch(() => {})
      for (
        let n = 0;
        n < 200 && (await store.unsettled({ after: '', limit: 9 })).every(({ state }) => state !== 'parked');
        n++
      )
        await clock.advance(100)
      process.die()
      const door = await createRuntime({ store, clock, logger: quiet, tools: tools(), models: models(), worker: false })
      runtimes.push(door)
      const [item] = await door.inbox()
      expect(item).toMatchObject({ kind: 'approval', tool: 'pay' })
      await door.decide(item?.id ?? '', { approve: true, by: 'user:ada' })
      const second = await createRuntime({ store, clock, logger: quiet, tools: tools(), models: models() })
      runtimes.push(second)
      const ended = await after(second.session('s').turn({ id: 't', model: 'chief', message: 'Pay it' }).outcome, clock)
      expect(ended).toMatchObject({ value: { status: 'success', value: { text: 'All done' } } })
      expect(paid).toEqual(['paid'])
    })

    test('POL-7 SESS-6: while an agent awaits approval a placeholder answers, then a notice', async () => {
      const pay = tool({ name: 'pay', description: 'Pay', input, approval: 'always', execute: () => 'paid' })
      const clerk = scriptedModel([{ call: { name: 'pay' } }, { say: 'The clerk has paid' }], { name: 'clerk' })
      const asks = agent({ name: 'clerk', description: 'Pays', model: clerk, tools: ['pay'] })
      const through = argumentTool('through', input, { onCrash: 'rerun' }, (_, ctx) => ctx.call(asks, { task: 'Pay' }))
      for (const name of ['clerk', 'through']) {
        const model = scriptedModel([
          { call: { name, input: name === 'clerk' ? { task: 'Pay' } : {} } },
          'I wait for a person.',
          ({ last }) => last,
        ])
        const { runtime, clock } = await opened({ tools: [pay, asks, through], models: [clerk] })
        const session = runtime.session('s')
        const turn = session.turn({ model, message: 'Pay' })
        await clock.advance(500)
        await session.messages.send('How is it going?')
        expect(await after(turn.outcome, clock, 5_000, 100)).toMatchObject({
          value: { value: { text: 'I wait for a person.' } },
        })
        expect(model.requests[1]?.messages.at(-2)).toMatchObject({ role: 'tool', results: [{ status: 'waiting' }] })
        const [item] = await runtime.inbox({ tenant: 'default', session: 's' })
        expect(await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })).toMatchObject({
          answer: 'accepted',
        })
        await clock.advance('5s')
        const next = await after(session.turn({ model }).outcome, clock)
        expect(next).toMatchObject({
          value: { value: { text: expect.stringMatching(/Runtime notice[^]*The clerk has paid/) as string } },
        })
        expect(model.requests.flatMap(({ messages }) => problemsIn(messages))).toEqual([])
      }
    })
  })
}
