import { agent, createRuntime, type Runtime, type RuntimeOptions, tool } from 'pawl'
import { replay, scriptedModel } from 'pawl/testing'
import { afterEach, describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { after, freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

for (const [kind, fresh] of [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const) {
  describe(`what turns keep, on ${kind}`, () => {
    const open = async (options: Partial<RuntimeOptions> = {}): Promise<{ runtime: Runtime; clock: ManualClock; store: Store }> => {
      const { clock, store } = fresh()
      const runtime = await createRuntime({ store, clock, logger: quiet, ...options })
      runtimes.push(runtime)
      return { runtime, clock, store }
    }
    const keys = { secret: Buffer.alloc(32, 7) }
    const rowsOf = async (store: Store, of: string): Promise<string> =>
      JSON.stringify(await store.documentsOf({ of, tenant: 'default', session: 's', after: '', limit: 100 }))

    test('DUR-12: what a sensitive tool gave is sealed in the conversation, also where it is told in a notice', async () => {
      const pay = tool({
        name: 'pay',
        description: 'd',
        input,
        sensitive: true,
        hints: { destructive: true },
        execute: () => 'diagnosis: measles',
      })
      const model = scriptedModel([{ call: { name: 'pay' } }, 'ok', 'ok'], { name: 'm' })
      const { runtime, clock, store } = await open({ tools: [pay], models: [model], keys })
      const session = runtime.session('s')
      const turn = session.turn({ model, message: 'Go' })
      await clock.advance(1_000)
      await session.messages.send('What now?')
      await after(turn.outcome, clock)
      const [item] = await runtime.inbox()
      await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
      await clock.advance(1_000)
      await after(session.turn({ model, message: 'And?' }).outcome, clock)
      expect(JSON.stringify(await session.messages.list())).toContain('measles')
      expect((await rowsOf(store, 'message')).includes('measles')).toBe(false)
    })

    test('DUR-12: a summary of what a sensitive tool gave is sealed', async () => {
      const look = tool({
        name: 'look',
        description: 'd',
        input,
        sensitive: true,
        hints: { readOnly: true },
        execute: () => `diagnosis: measles ${'x'.repeat(3_000)}`,
      })
      const model = scriptedModel(
        [
          { when: 'Assistant:', say: 'It was measles' },
          { when: 'Go', call: { name: 'look' } },
          { when: /./, say: 'ok' },
        ],
        { name: 'm' },
      )
      const { runtime, clock, store } = await open({ tools: [look], models: [model], keys })
      const session = runtime.session('s')
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      await after(session.turn({ model, message: 'And?', limits: { historyTokens: 500 } }).outcome, clock)
      expect(JSON.stringify(await session.messages.list())).toContain('"role":"summary"')
      expect((await rowsOf(store, 'message')).includes('measles')).toBe(false)
    })

    test('DUR-12: what a model says is shown without secrets in the list of messages', async () => {
      const secret = 'hunter2-hunter2'
      const model = scriptedModel([`It is ${secret}`], { name: 'm' })
      const { runtime, clock } = await open({ models: [model], secrets: [secret] })
      const session = runtime.session('s')
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      expect(JSON.stringify(await session.messages.list())).not.toContain(secret)
    })

    test('SESS-1: a model cannot start in the background what it does not have, also when another worker takes the call up', async () => {
      const { clock, store } = fresh()
      const shared: Store = { ...store, close: async () => {} }
      const dying = mortal(shared)
      let ran = 0
      const own = tool({ name: 'own', description: 'd', input, background: true, execute: () => 'x' })
      const other = tool({ name: 'other', description: 'd', input, background: true, execute: () => void ran++ })
      const model = scriptedModel([{ call: { name: 'spawn_background', input: { tool: 'other', args: {} } } }, ({ last }) => last], {
        name: 'm',
      })
      // It dies when the call is on record.
      const first: Store = {
        ...dying.store,
        write: (change, heard, how) => {
          dying.store.write(change, heard, how)
          if (change.insertCall?.tool === 'spawn_background') dying.die()
        },
        commit: async (change) => {
          const done = dying.store.commit(change)
          if (change.insertCall?.tool === 'spawn_background') dying.die()
          return done
        },
      }
      const options = { clock, logger: quiet, tools: [own, other], models: [model] }
      const ask = { model, message: 'Go', id: 't', tools: ['own', 'spawn_background'] }
      ;(await createRuntime({ ...options, store: first }))
        .session('s')
        .turn(ask)
        .outcome.catch(() => {})
      await clock.advance('40s')
      const second = await createRuntime({ ...options, store: shared })
      runtimes.push(second)
      const ended = await after(second.session('s').turn(ask).outcome, clock)
      expect([ended, ran]).toMatchObject([{ value: { value: { text: expect.stringContaining('Unknown tool: other') } } }, 0])
    })

    test('DUR-10: what the inbox of a session costs does not grow with the agents that have ended', async () => {
      const cost = async (agents: number): Promise<number> => {
        const { clock, store } = fresh()
        let asked = 0
        const counting: Store = { ...store, documentsOf: (query) => (asked++, store.documentsOf(query)) }
        const expert = scriptedModel(['Found'], { name: 'expert' })
        const ask = agent({ name: 'ask', description: 'd', model: expert })
        const model = scriptedModel([{ call: Array.from({ length: agents }, () => ({ name: 'ask', input: { task: 'x' } })) }, 'ok'], {
          name: 'm',
        })
        const runtime = await createRuntime({ store: counting, clock, logger: quiet, tools: [ask], models: [model] })
        runtimes.push(runtime)
        expect(await after(runtime.session('s').turn({ model, message: 'Go' }).outcome, clock)).toMatchObject({
          value: { status: 'success' },
        })
        asked = 0
        await runtime.inbox({ tenant: 'default', session: 's' })
        return asked
      }
      expect(await cost(10)).toBe(await cost(1))
    })

    test('SESS-1: a turn that waits for a person costs nothing when somebody else writes', async () => {
      const { clock, store } = fresh()
      let asked = 0
      const counting: Store = { ...store, documentsOf: (query) => (query.of === 'message-sent' && asked++, store.documentsOf(query)) }
      const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
      const look = tool({ name: 'look', description: 'd', input, hints: { readOnly: true }, execute: () => 'seen' })
      const model = scriptedModel([{ call: { name: 'pay' } }, 'ok'], { name: 'm' })
      const runtime = await createRuntime({ store: counting, clock, logger: quiet, tools: [pay, look], models: [model] })
      runtimes.push(runtime)
      for (let n = 0; n < 50; n++)
        runtime
          .session(`s${n}`)
          .turn({ model, message: 'Go' })
          .outcome.catch(() => {})
      await clock.advance(1_000)
      expect(await runtime.inbox()).toHaveLength(50)
      asked = 0
      await after(runtime.session('other').run([{ id: 'a', name: 'look' }]), clock, 1_000, 10)
      expect(asked).toBeLessThan(10)
    })

    test('DUR-10: erasing a session erases what its agents said', async () => {
      const expert = scriptedModel(['The patient has measles'], { name: 'expert' })
      const ask = agent({ name: 'ask', description: 'd', model: expert })
      const model = scriptedModel([{ call: { name: 'ask', input: { task: 'Patient A' } } }, 'ok'], { name: 'm' })
      const { runtime, clock, store } = await open({ tools: [ask], models: [model] })
      await after(runtime.session('s').turn({ model, message: 'Go' }).outcome, clock)
      await after(runtime.erase({ session: 's' }), clock)
      const left = await store.documentsOf({ of: 'message', tenant: 'default', after: '', limit: 100 })
      expect(JSON.stringify(left)).not.toContain('measles')
    })

    test('KIT-3: a replay asks no model: an agent is not let work again', async () => {
      const expert = scriptedModel(['Found'], { name: 'expert' })
      const ask = agent({ name: 'ask', description: 'd', model: expert })
      const model = scriptedModel([{ call: { name: 'ask', input: { task: 'x' } } }, 'ok'], { name: 'm' })
      const { runtime, clock } = await open({ tools: [ask], models: [model] })
      const session = runtime.session('s')
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      expect(expert.asked).toBe(1)
      await replay(session, { tools: [ask] })
      expect(expert.asked).toBe(1)
    })

    test('POL-7 SESS-3: a notice of what came of a call names the call as the model knows it', async () => {
      const look = tool({ name: 'look', description: 'd', input, hints: { readOnly: true }, execute: () => 'seen' })
      const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
      // As models do that number the calls of each answer from 0.
      const model = scriptedModel([{ call: { id: 'call_0', name: 'look' } }, { call: { id: 'call_0', name: 'pay' } }, 'ok', 'ok'], {
        name: 'm',
      })
      const { runtime, clock } = await open({ tools: [look, pay], models: [model] })
      const session = runtime.session('s')
      const turn = session.turn({ model, message: 'Go' })
      await clock.advance(1_000)
      await session.messages.send('What now?')
      await after(turn.outcome, clock)
      const [item] = await runtime.inbox()
      await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
      await clock.advance(1_000)
      await after(session.turn({ model, message: 'And?' }).outcome, clock)
      const request = JSON.stringify(model.requests.at(-1)?.messages)
      const named = model.requests
        .at(-1)
        ?.messages.flatMap((message) => (message.role === 'assistant' ? message.parts : []))
        .find((part) => part.type === 'call' && part.name === 'pay')
      expect(named).toMatchObject({ id: 'call_0-2' })
      expect(
        model.requests
          .at(-1)
          ?.messages.filter(({ role }) => role === 'user')
          .map((message) => JSON.stringify(message))
          .join(' '),
      ).toContain('call_0-2')
      expect(request).toContain('paid')
    })
  })
}
