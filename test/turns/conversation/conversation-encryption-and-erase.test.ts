import { agent, createRuntime, tool } from 'pawl'
import { replay, scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { dieAfter, keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { opening, closedAfterEach, stores } from '../../kit/open-runtime.ts'
import { readOnlyTool, simpleTool } from '../../kit/simple-tools.ts'
import { ignoreOutcome } from '../../kit/wait-until.ts'
import { approveAfterTurn } from '../approve-after-turn.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()

for (const [kind, fresh] of stores) {
  describe(`encryption, erasure and cost of conversations on ${kind}`, () => {
    const open = opening(fresh)
    const keys = { secret: Buffer.alloc(32, 7) }
    const rowsOf = async (store: Store, of: string): Promise<string> =>
      JSON.stringify(await store.documentsOf({ of, tenant: 'default', session: 's', after: '', limit: 100 }))

    test('DUR-12: results of a sensitive tool are sealed in the conversation and in notices', async () => {
      const pay = simpleTool('pay', { sensitive: true, hints: { destructive: true } }, () => 'diagnosis: measles')
      const model = scriptedModel([{ call: { name: 'pay' } }, 'ok', 'ok'], { name: 'm' })
      const { runtime, clock, store } = await open({ tools: [pay], models: [model], keys })
      const session = await approveAfterTurn(runtime, clock, model)
      expect(JSON.stringify(await session.messages.list())).toContain('measles')
      expect((await rowsOf(store, 'message')).includes('measles')).toBe(false)
    })

    test('DUR-12: a summary of the results of a sensitive tool is sealed', async () => {
      const look = readOnlyTool('look', { sensitive: true }, () => `diagnosis: measles ${'x'.repeat(3_000)}`)
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

    test('DUR-12: secrets are redacted from model answers in the list of messages', async () => {
      const secret = 'hunter2-hunter2'
      const model = scriptedModel([`It is ${secret}`], { name: 'm' })
      const { runtime, clock } = await open({ models: [model], secrets: [secret] })
      const session = runtime.session('s')
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      expect(JSON.stringify(await session.messages.list())).not.toContain(secret)
    })

    test('SESS-1: a model cannot start unavailable tools in the background, even after a takeover', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const dying = mortal(shared)
      let ran = 0
      const own = tool({ name: 'own', description: 'd', input, background: true, execute: () => 'x' })
      const other = tool({ name: 'other', description: 'd', input, background: true, execute: () => void ran++ })
      const model = scriptedModel(
        [{ call: { name: 'spawn_background', input: { tool: 'other', args: {} } } }, ({ last }) => last],
        {
          name: 'm',
        },
      )
      // The worker dies when the call is recorded.
      const first = dieAfter(dying, (change) => change.insertCall?.tool === 'spawn_background')
      const options = { clock, logger: quiet, tools: [own, other], models: [model] }
      const ask = { model, message: 'Go', id: 't', tools: ['own', 'spawn_background'] }
      ignoreOutcome((await createRuntime({ ...options, store: first })).session('s').turn(ask))
      await clock.advance('40s')
      const second = await createRuntime({ ...options, store: shared })
      runtimes.push(second)
      const ended = await after(second.session('s').turn(ask).outcome, clock)
      expect([ended, ran]).toMatchObject([
        { value: { value: { text: expect.stringContaining('Unknown tool: other') } } },
        0,
      ])
    })

    test('DUR-10: the cost of reading an inbox does not grow with the number of ended agents', async () => {
      const cost = async (agents: number): Promise<number> => {
        const { clock, store } = fresh()
        let asked = 0
        const counting: Store = { ...store, documentsOf: (query) => (asked++, store.documentsOf(query)) }
        const expert = scriptedModel(['Found'], { name: 'expert' })
        const ask = agent({ name: 'ask', description: 'd', model: expert })
        const model = scriptedModel(
          [{ call: Array.from({ length: agents }, () => ({ name: 'ask', input: { task: 'x' } })) }, 'ok'],
          {
            name: 'm',
          },
        )
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

    test('SESS-1: turns waiting for approval do not query when another session writes', async () => {
      const { clock, store } = fresh()
      let asked = 0
      const counting: Store = {
        ...store,
        documentsOf: (query) => (query.of === 'message-sent' && asked++, store.documentsOf(query)),
      }
      const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
      const look = tool({ name: 'look', description: 'd', input, hints: { readOnly: true }, execute: () => 'seen' })
      const model = scriptedModel([{ call: { name: 'pay' } }, 'ok'], { name: 'm' })
      const runtime = await createRuntime({
        store: counting,
        clock,
        logger: quiet,
        tools: [pay, look],
        models: [model],
      })
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

    test('DUR-10: erasing a session erases the conversations of its agents', async () => {
      const expert = scriptedModel(['The patient has measles'], { name: 'expert' })
      const ask = agent({ name: 'ask', description: 'd', model: expert })
      const model = scriptedModel([{ call: { name: 'ask', input: { task: 'Patient A' } } }, 'ok'], { name: 'm' })
      const { runtime, clock, store } = await open({ tools: [ask], models: [model] })
      await after(runtime.session('s').turn({ model, message: 'Go' }).outcome, clock)
      await after(runtime.erase({ session: 's' }), clock)
      const left = await store.documentsOf({ of: 'message', tenant: 'default', after: '', limit: 100 })
      expect(JSON.stringify(left)).not.toContain('measles')
    })

    test('KIT-3: a replay calls no model and does not run agents again', async () => {
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

    test('POL-7 SESS-3: a notice refers to a call by the id that the model sees', async () => {
      const look = tool({ name: 'look', description: 'd', input, hints: { readOnly: true }, execute: () => 'seen' })
      const pay = tool({ name: 'pay', description: 'd', input, hints: { destructive: true }, execute: () => 'paid' })
      // Some models number the calls of each answer from 0.
      const model = scriptedModel(
        [{ call: { id: 'call_0', name: 'look' } }, { call: { id: 'call_0', name: 'pay' } }, 'ok', 'ok'],
        {
          name: 'm',
        },
      )
      const { runtime, clock } = await open({ tools: [look, pay], models: [model] })
      await approveAfterTurn(runtime, clock, model)
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
