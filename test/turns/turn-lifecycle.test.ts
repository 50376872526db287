import { createRuntime, fail, type LiveEvent, result, tool } from 'pawl'
import { type Line, scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { keepOpen, mortal } from '../kit/stores/killable-store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { problemsIn } from '../kit/models/conversation-rules.ts'
import { opening, closedAfterEach, stores } from '../kit/open-runtime.ts'
import { hang, readOnlyTool, simpleTool } from '../kit/simple-tools.ts'

const input = { type: 'object' } as const
const runtimes = closedAfterEach()
const call = (name: string, more: object = {}): Line => ({ call: { name, ...more } })

for (const [kind, fresh] of stores) {
  describe(`lifecycle of turns on ${kind}`, () => {
    const open = opening(fresh)

    test('SESS-2: a failing provider is retried, and its partial answer is retracted', async () => {
      const model = scriptedModel([{ say: 'Hello there', fails: { times: 2, afterMs: 5_000 } }])
      const { runtime, clock } = await open()
      const session = runtime.session('s')
      const told: string[] = []
      const stop = new AbortController()
      const reading = (async () => {
        for await (const event of session.events({ live: true, signal: stop.signal })) {
          if (!event.live) continue
          const { type, body } = event as LiveEvent & { body: { delta?: string } }
          told.push(type === 'turn.delta' ? (body.delta ?? '') : type)
        }
      })().catch(() => {})
      await clock.advance(10)
      const turn = session.turn({ model, message: 'Hi' })
      expect(await after(turn.outcome, clock)).toMatchObject({
        value: { status: 'success', value: { text: 'Hello there', steps: 1 } },
      })
      expect(model.asked).toBe(3)
      await clock.advance(100)
      stop.abort()
      await reading
      expect(told.join(' ').replace(/ +/g, ' ')).toBe('Hello turn.retracted Hello turn.retracted Hello there')
    })

    test('DUR-12: secrets are redacted from deltas, even across chunks, and from user messages', async () => {
      const secret = 'hunter2-hunter2'
      const model = {
        name: 'leaks',
        async generate({ request, told }: Parameters<ReturnType<typeof scriptedModel>['generate']>[0]) {
          seen.push(JSON.stringify(request))
          for (const delta of ['It is hunter2', '-hunter2, ', 'you know']) told({ type: 'text' as const, delta })
          const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }
          return { parts: [{ type: 'text' as const, text: 'ok' }], finish: 'stop' as const, usage }
        },
      }
      const seen: string[] = []
      const { runtime, clock } = await open({ secrets: [secret] })
      const session = runtime.session('s')
      const told: string[] = []
      const stop = new AbortController()
      const reading = (async () => {
        for await (const event of session.events({ live: true, signal: stop.signal }))
          if (event.live) told.push((event.body as { delta?: string }).delta ?? '')
      })().catch(() => {})
      await clock.advance(10)
      await after(session.turn({ model, message: `My password is ${secret}` }).outcome, clock)
      await session.messages.send(`Again: ${secret}`)
      await after(session.turn({ model }).outcome, clock)
      await clock.advance(100)
      stop.abort()
      await reading
      expect(told.join('')).toMatch(/^It is .*, you know/)
      expect(`${told.join('')} ${seen.join('')} ${JSON.stringify(await session.messages.list())}`).not.toContain(secret)
    })

    test('SESS-2: a provider that keeps failing ends the turn as model_failed', async () => {
      const model = scriptedModel([{ say: 'x', fails: { times: 99, what: 'HTTP 529' } }])
      const { runtime, clock } = await open()
      const session = runtime.session('s')
      expect(await after(session.turn({ model, message: 'Hi' }).outcome, clock)).toMatchObject({
        value: {
          status: 'failure',
          failure: {
            class: 'external',
            code: 'model_failed',
            message: "The model 'scripted' could not answer: HTTP 529.",
          },
        },
      })
      // The user message stays, and the next turn continues from it.
      const next = scriptedModel(['Hello'], { name: 'better' })
      expect(await after(session.turn({ model: next }).outcome, clock)).toMatchObject({
        value: { value: { text: 'Hello' } },
      })
      expect(next.requests[0]?.messages).toMatchObject([{ role: 'user', parts: [{ text: 'Hi' }] }])
    })

    test('TIME-3 SESS-3: cancelling a turn cancels its calls and leaves a complete conversation', async () => {
      const slow = simpleTool(
        'slow',
        (_, ctx) =>
          new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('told')))),
      )
      const { runtime, clock } = await open({ tools: [slow] })
      const session = runtime.session('s')
      const turn = session.turn({ model: scriptedModel([call('slow')]), message: 'Go' })
      await clock.advance(100)
      expect(await turn.cancel('Changed my mind', 'user:ada')).toBe(true)
      expect(await after(turn.outcome, clock, 2_000, 50)).toMatchObject({
        value: { status: 'cancelled', cancellation: { message: 'Changed my mind' } },
      })
      expect(await turn.cancel()).toBe(false)
      const next = scriptedModel(['Fine'], { name: 'next' })
      await after(session.turn({ model: next, message: 'And now?' }).outcome, clock)
      expect(problemsIn(next.requests[0]?.messages ?? [])).toEqual([])
      expect(next.requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
    })

    test('TIME-3: a turn cancelled while its model answers does not call the model again', async () => {
      const model = scriptedModel(['x'], {
        wait: (_, signal) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
      })
      const { runtime, clock } = await open()
      const turn = runtime.session('s').turn({ model, message: 'Go' })
      await clock.advance(100)
      await turn.cancel()
      expect(await after(turn.outcome, clock, 2_000, 50)).toMatchObject({ value: { status: 'cancelled' } })
      expect(model.asked).toBe(1)
    })

    test('SESS-1: a turn ends at its step limit, its time limit, or after repeated invalid calls', async () => {
      const t = tool({
        name: 't',
        description: 'd',
        input: { type: 'object', required: ['n'], properties: { n: { type: 'number' } } },
        execute: () => 'x',
      })
      const { runtime, clock } = await open({ tools: [t] })
      const session = runtime.session('s')
      const endless = (name: string, one: object): ReturnType<typeof scriptedModel> =>
        scriptedModel([{ when: /./, call: { name: 't', input: one } }, call('t', { input: one })], { name })
      const limit = session.turn({ model: endless('a', { n: 1 }), message: 'Go', limits: { steps: 4 } })
      expect(await after(limit.outcome, clock)).toMatchObject({
        value: { status: 'failure', failure: { class: 'resource_limit', code: 'turn_limit' } },
      })
      const nonsense = session.turn({ model: endless('b', { n: 'one' }), message: 'Go' })
      expect(await after(nonsense.outcome, clock)).toMatchObject({
        value: { status: 'failure', failure: { code: 'turn_invalid_calls' } },
      })
      const silent = scriptedModel(['x'], {
        name: 'c',
        wait: (_, signal) =>
          new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
      })
      const late = session.turn({ model: silent, message: 'Go', limits: { time: '5s' } })
      expect(await after(late.outcome, clock)).toMatchObject({
        value: { status: 'failure', failure: { class: 'timeout', code: 'turn_timeout' } },
      })
    })

    test('VAL-6: a tool can finish the turn or switch its frame; the first in batch order wins', async () => {
      const finish = simpleTool('finish', () => result('ok', { control: { finish: { order: 'A1' } } }))
      const give = simpleTool('give', () =>
        result('ok', { control: { switchFrame: { frame: 'expert', initial: 'What is known: A1', task: 'Solve it' } } }),
      )
      const expert = scriptedModel(['Solved'], { name: 'expert-model' })
      const { runtime, clock } = await open({
        tools: [finish, give],
        frames: [{ name: 'expert', instructions: 'You are an expert.', model: expert, tools: [] }],
      })
      const session = runtime.session('s')
      const model = scriptedModel([
        { call: [{ name: 'finish' }, { name: 'give' }] },
        { call: [{ name: 'give' }, { name: 'finish' }] },
      ])
      expect(await after(session.turn({ model, message: 'Go' }).outcome, clock)).toMatchObject({
        value: { status: 'success', value: { end: 'finish', value: { order: 'A1' }, steps: 1 } },
      })
      expect(await after(session.turn({ model, message: 'Again' }).outcome, clock)).toMatchObject({
        value: { value: { end: 'answer', text: 'Solved', steps: 2 } },
      })
      expect(expert.requests).toMatchObject([
        {
          instructions: 'You are an expert.',
          tools: [],
          messages: [{ role: 'user', parts: [{ text: 'What is known: A1\n\nSolve it' }] }],
        },
      ])
    })

    test('SESS-4: a user message is read at the next answer, or after the turn if so requested', async () => {
      const gate = Promise.withResolvers<void>()
      const t = tool({ name: 't', description: 'd', input, execute: () => gate.promise.then(() => 'x') })
      const { runtime, clock } = await open({ tools: [t] })
      const session = runtime.session('s')
      const model = scriptedModel([call('t'), ({ last }) => `Heard: ${last}`, ({ last }) => `Then: ${last}`])
      const turn = session.turn({ model, message: 'Go' })
      await clock.advance(100)
      await session.messages.send('also B', { id: 'm1' })
      await session.messages.send('also B', { id: 'm1' })
      const other = session.messages.send('not B', { id: 'm1' })
      await expect(other).rejects.toMatchObject({ code: 'message_conflict' })
      await session.messages.send('later C', { when: 'after' })
      gate.resolve()
      expect(await after(turn.outcome, clock)).toMatchObject({ value: { value: { text: 'Heard: also B' } } })
      expect(await session.messages.waiting()).toMatchObject([{ text: 'later C', when: 'after' }])
      expect(await after(session.turn({ model }).outcome, clock)).toMatchObject({
        value: { value: { text: 'Then: later C' } },
      })
      expect(await session.messages.waiting()).toEqual([])
    })

    test('POL-7: while a call awaits approval a placeholder answers, then a notice has the result', async () => {
      const refund = simpleTool('refund', { hints: { destructive: true } }, () => 'refunded')
      const { runtime, clock } = await open({ tools: [refund] })
      const session = runtime.session('s')
      const model = scriptedModel([call('refund'), 'I wait for a person.', ({ last }) => last])
      const turn = session.turn({ model, message: 'Refund A1' })
      await clock.advance(100)
      await session.messages.send('How is it going?')
      expect(await after(turn.outcome, clock, 5_000, 100)).toMatchObject({
        value: { value: { text: 'I wait for a person.' } },
      })
      expect(model.requests[1]?.messages.at(-2)).toMatchObject({ role: 'tool', results: [{ status: 'waiting' }] })
      const [item] = await runtime.inbox()
      await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
      await clock.advance(1_000)
      const next = await after(session.turn({ model }).outcome, clock)
      expect(next).toMatchObject({
        value: { value: { text: expect.stringMatching(/Runtime notice.*refund.*has ended[^]*refunded/) } },
      })
      for (const { messages } of model.requests) expect(problemsIn(messages)).toEqual([])
      // The notice is shown once.
      const last = scriptedModel([({ last: said }) => said], { name: 'last' })
      expect(await after(session.turn({ model: last, message: 'Anything?' }).outcome, clock)).toMatchObject({
        value: { value: { text: 'Anything?' } },
      })
    })

    test('TASK-9: the result of a task reaches the model as a notice, once', async () => {
      const work = tool({ name: 'work', description: 'd', input, background: true, execute: () => '42 rows' })
      const { runtime, clock } = await open({ tools: [work] })
      const session = runtime.session('s')
      const model = scriptedModel([
        call('spawn_background', { input: { tool: 'work', args: {} } }),
        'Started.',
        ({ last }) => last,
      ])
      await after(session.turn({ model, message: 'Go' }).outcome, clock)
      await clock.advance(5_000)
      const told = await after(session.turn({ model }).outcome, clock)
      expect(told).toMatchObject({ value: { value: { text: expect.stringContaining('[Runtime notice') } } })
      expect(await session.notices.list()).toEqual([])
    })

    test('SESS-10: a long conversation is compacted without separating calls from their results', async () => {
      const t = tool({ name: 't', description: 'd', input, execute: () => 'r'.repeat(800) })
      const { runtime, clock } = await open({ tools: [t] })
      const session = runtime.session('s')
      const seen: number[] = []
      const model = scriptedModel(
        [
          { when: /User: Go|in short: SUMMARY/, say: 'SUMMARY' },
          { when: /^/, call: { name: 't' } },
        ],
        { wait: async ({ request }) => void seen.push(request.messages.length) },
      )
      const turn = session.turn({ model, message: 'Go', limits: { historyTokens: 1_500, steps: 14 } })
      expect(await after(turn.outcome, clock)).toMatchObject({ value: { failure: { code: 'turn_limit' } } })
      for (const { messages } of model.requests) expect(problemsIn(messages)).toEqual([])
      expect(Math.max(...seen)).toBeLessThan(14)
      expect(JSON.stringify(model.requests.at(-1)?.messages[0])).toContain('SUMMARY')
      // The journal keeps the full conversation.
      expect((await session.messages.list()).filter(({ message }) => message.role === 'tool').length).toBe(14)
    })

    test('SESS-3: calls of a poisoned turn get their results from the record', async () => {
      const { clock, store } = fresh()
      const t = tool({ name: 't', description: 'd', input, hints: { readOnly: true }, execute: () => 'done' })
      const h = readOnlyTool('h', () => fail('No'))
      const shared = keepOpen(store)
      // Its second request kills the worker, before the results of the calls are written.
      const wait = ({ answers }: { answers: number }): Promise<void> => (answers === 1 ? hang() : Promise.resolve())
      const model = scriptedModel([{ call: [{ name: 't' }, { name: 'h' }] }, 'Never'], { name: 'm', wait })
      let turn = ''
      // Several workers die one after the other while they run the turn.
      for (let n = 0; n < 2; n++) {
        const dying = mortal(shared)
        const { asked } = model
        const runtime = await createRuntime({
          store: dying.store,
          clock,
          logger: quiet,
          tools: [t, h],
          models: [model],
          poisonAfter: 2,
        })
        if (n === 0) turn = runtime.session('s').turn({ model, message: 'Go', id: 'x' }).id
        for (let step = 0; step < 20 && model.asked < asked + (n === 0 ? 2 : 1); step++) await clock.advance('10s')
        dying.die()
        await clock.advance('40s')
      }
      const runtime = await createRuntime({
        store: shared,
        clock,
        logger: quiet,
        tools: [t, h],
        models: [model],
        poisonAfter: 2,
      })
      runtimes.push(runtime)
      await clock.advance('40s')
      const session = runtime.session('s')
      expect(await after(session.turn({ model, message: 'Go', id: turn }).outcome, clock)).toMatchObject({
        value: { failure: { code: 'poisoned' } },
      })
      const next = scriptedModel(['Fine'], { name: 'next' })
      await after(session.turn({ model: next, message: 'And?' }).outcome, clock)
      expect(problemsIn(next.requests[0]?.messages ?? [])).toEqual([])
      const tool_ = next.requests[0]?.messages.find(({ role }) => role === 'tool')
      expect(tool_).toMatchObject({
        results: [
          { name: 't', status: 'success', parts: [{ text: 'done' }] },
          { name: 'h', status: 'failure', parts: [{ text: expect.stringContaining('No') }] },
        ],
      })
    })

    test('SESS-1: an invalid turn is rejected and nothing is recorded', async () => {
      const { runtime, store } = await open()
      const session = runtime.session('s')
      const model = scriptedModel(['x'])
      const bad: [object, string][] = [
        [{ message: 'x' }, 'turn_invalid'],
        [{ model: 'none', message: 'x' }, 'model_unknown'],
        [{ model: {}, message: 'x' }, 'model_invalid'],
        [{ model, message: '' }, 'turn_invalid'],
        [{ model, message: 'x', frame: 'none' }, 'frame_unknown'],
        [{ model, message: 'x', limits: { steps: 0 } }, 'turn_invalid'],
        [{ model, mesage: 'x' }, 'turn_invalid'],
      ]
      for (const [given, code] of bad)
        expect(() => session.turn(given as never)).toThrow(expect.objectContaining({ code }))
      expect(await store.unsettled({ after: '', limit: 5 })).toEqual([])
    })

    test('SESS-1: a repeated turn returns the same outcome; other content is a conflict', async () => {
      const { runtime, clock } = await open()
      const session = runtime.session('s')
      const model = scriptedModel(['x'])
      const first = await after(session.turn({ model, message: 'a', id: 't' }).outcome, clock)
      expect(await after(session.turn({ model, message: 'a', id: 't' }).outcome, clock)).toEqual(first)
      expect(model.asked).toBe(1)
      expect(await after(session.turn({ model, message: 'b', id: 't' }).outcome, clock)).toMatchObject({
        error: { code: 'turn_conflict' },
      })
    })
  })
}
