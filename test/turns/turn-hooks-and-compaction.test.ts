/* oxlint-disable typescript/no-explicit-any -- prompts in the provider's format */

import { createRuntime, type Hook, type ModelRequest, tool, type Tool } from 'pawl'
import { aiModel } from 'pawl/ai-sdk'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { dieAfter, keepOpen, mortal } from '../kit/stores/killable-store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { opening, stores } from '../kit/open-runtime.ts'
import { ignoreOutcome } from '../kit/wait-until.ts'
import { approveAfterTurn } from './approve-after-turn.ts'

const open = opening()
const input = { type: 'object' } as const
const named = (name: string, more: object = {}): Tool =>
  tool({ name, description: name, input, hints: { readOnly: true }, execute: () => `${name} ran`, ...more })

for (const [kind, fresh] of stores)
  describe(`hooks and compaction of turns on ${kind}`, () => {
    const hide: Hook = {
      name: 'hide',
      project: () => [{ type: 'text', text: '[hidden]' }],
    }

    test('CALL-8: project hooks apply to the result that a notice shows to the model', async () => {
      const pay = named('pay', { hints: { destructive: true }, execute: () => 'card 4711' })
      const model = scriptedModel([{ call: { name: 'pay' } }, 'ok', 'ok'], { name: 'm' })
      const { runtime, clock } = await open({ tools: [pay], models: [model], hooks: [hide] }, fresh)
      await approveAfterTurn(runtime, clock, model)
      expect(JSON.stringify(model.requests.at(-1))).not.toContain('4711')
      expect(JSON.stringify(model.requests.at(-1))).toContain('[hidden]')
    })

    test('CALL-8: a hook that aborts the turn prevents later calls, even in sequential mode', async () => {
      for (const parallel of [true, false]) {
        let ran = 0
        const first = named('first', { hints: {} })
        const second = named('second', { hints: {}, execute: () => ++ran })
        const hooks: Hook[] = [
          { name: 'stop', before: ({ tool: called }) => (called === 'first' ? { abort: 'Enough' } : undefined) },
        ]
        const model = scriptedModel([{ call: [{ name: 'first' }, { name: 'second' }] }, 'ok'], { name: 'm' })
        const { runtime, clock } = await open({ tools: [first, second], models: [model], hooks }, fresh)
        const ended = await after(runtime.session('s').turn({ model, message: 'Go', parallel }).outcome, clock)
        expect([parallel, ended, ran]).toMatchObject([parallel, { value: { failure: { code: 'turn_aborted' } } }, 0])
        await after(runtime.session('s').turn({ model, message: 'And?' }).outcome, clock)
        const said = model.requests.at(-1)?.messages.find(({ role }) => role === 'tool')
        expect(said).toMatchObject({ results: [{ status: 'failure' }, { status: 'cancelled' }] })
      }
    })

    test('SESS-10: long words and pictures count towards the size that triggers compaction', async () => {
      const draw = named('draw', {
        execute: (_: unknown, ctx: any) => ctx.attachments.create(Buffer.from('png'), { mediaType: 'image/png' }),
      })
      const { runtime, clock } = await open({ tools: [draw] }, fresh)
      const sums = (request: ModelRequest): boolean => request.instructions?.startsWith('You sum up') ?? false
      // A Chinese character is about one token.
      const chinese = scriptedModel([{ when: /./s, say: '好的' }], { name: 'zh', contextTokens: 2_000 })
      for (let n = 0; n < 5; n++)
        await after(runtime.session('zh').turn({ model: chinese, message: '会'.repeat(600) }).outcome, clock)
      expect(chinese.requests.some(sums)).toBe(true)
      const pictures = scriptedModel(
        [
          { when: 'User:', say: 'Summary' },
          { when: 'Go', call: { name: 'draw' } },
          { when: /^/, say: 'ok' },
        ],
        {
          name: 'p',
          contextTokens: 10_000,
        },
      )
      for (let n = 0; n < 8; n++)
        await after(runtime.session('p').turn({ model: pictures, message: 'Go' }).outcome, clock)
      expect(pictures.requests.some(sums)).toBe(true)
    })

    test('SESS-1: a switched-off tool is not suggested, even after a takeover of the call', async () => {
      const { clock, store } = fresh()
      const shared = keepOpen(store)
      const dying = mortal(shared)
      const model = scriptedModel([{ call: { name: 'exportt' } }, ({ last }) => last], { name: 'm' })
      const first = dieAfter(dying, (change) => change.insertCall?.position.batch.startsWith('pawl:step:'))
      const options = {
        clock,
        logger: quiet,
        tools: [named('own')],
        models: [model],
        capabilities: [{ name: 'web', tools: [named('export')] }],
      }
      const ask = { model, message: 'Go', id: 't' }
      ignoreOutcome((await createRuntime({ ...options, store: first })).session('s').turn(ask))
      await clock.advance('40s')
      const second = await createRuntime({ ...options, store: shared })
      const ended = await after(second.session('s').turn(ask).outcome, clock)
      await second.close({ grace: 0 })
      expect(ended).toMatchObject({ value: { status: 'success' } })
      expect(JSON.stringify(ended)).not.toMatch(/Did you mean 'export'/)
    })
  })

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
test.each([
  ['AbortError', new DOMException('x', 'AbortError')],
  ['TimeoutError', new DOMException('x', 'TimeoutError')],
  ['ECONNRESET', Object.assign(new Error('x'), { code: 'ECONNRESET' })],
  ['UND_ERR_HEADERS_TIMEOUT', Object.assign(new Error('x'), { code: 'UND_ERR_HEADERS_TIMEOUT' })],
])('SESS-2: a provider that fails with %s is retried, before and during its answer', async (_, error) => {
  let asked = 0
  const answer = [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'There' },
    { type: 'finish', finishReason: { unified: 'stop' }, usage },
  ]
  const model = aiModel({
    specificationVersion: 'v4',
    provider: 'lab',
    modelId: 'm',
    async doStream() {
      if (++asked === 1) throw error
      const broken = asked === 2
      const stream = new ReadableStream({
        start(out) {
          for (const part of broken ? answer.slice(0, 2) : answer) out.enqueue(part)
          if (broken) out.error(error)
          else out.close()
        },
      })
      return { stream }
    },
  })
  const { runtime, clock } = await open()
  expect(await after(runtime.session('s').turn({ model, message: 'a' }).outcome, clock)).toMatchObject({
    value: { value: { text: 'There' } },
  })
  expect(asked).toBe(3)
})
