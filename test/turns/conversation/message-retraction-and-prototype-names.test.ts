// What is taken back, what names do, and what wakes a session.

import { createRuntime, type LiveEvent, type Model, type Runtime, type Tool, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { opening, stores } from '../../kit/open-runtime.ts'

const open = opening()
const input = { type: 'object' } as const
const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

function watching(runtime: Runtime): { told: string[]; stop: () => Promise<void> } {
  const told: string[] = []
  const abort = new AbortController()
  const reading = (async () => {
    for await (const event of runtime.session('s').events({ live: true, signal: abort.signal })) {
      const { type, body } = event as LiveEvent & { body: { delta?: string; step?: number } }
      if (type === 'turn.delta' && body.delta !== undefined) told.push(body.delta)
      if (type === 'turn.retracted') told.push(`retracted ${body.step}`)
    }
  })().catch(() => {})
  return {
    told,
    stop: () => {
      abort.abort()
      return reading
    },
  }
}

describe('SESS-2: what a worker said that died over it is taken back', () => {
  test('though a call of the answer before has gone on in the background', async () => {
    const { clock, store } = freshMemory()
    const shared: Store = { ...store, close: async () => {} }
    const slow = tool({
      name: 'slow',
      description: 'd',
      input,
      hints: { readOnly: true },
      background: true,
      timeout: '1h',
      execute: (_, ctx) => ctx.step('x', () => new Promise<string>(() => {})),
    })
    let hangs = true
    const model: Model = {
      name: 'm',
      async generate({ request, told }) {
        if (request.messages.length === 1) return { parts: [{ type: 'call', id: 'c', name: 'slow', input: '{}' }], finish: 'calls', usage }
        told({ type: 'text', delta: 'Half' })
        if (hangs) return new Promise(() => {})
        return { parts: [{ type: 'text', text: 'Half and half' }], finish: 'stop', usage }
      },
    }
    const terms = { clock, logger: quiet, tools: [slow], models: [model] }
    const dying = mortal(shared)
    const first = await createRuntime({ ...terms, store: dying.store })
    const heard = watching(first)
    const given = { model: 'm', message: 'Hi', id: 'x', background: '5s' as const }
    first
      .session('s')
      .turn(given)
      .outcome.catch(() => {})
    for (let n = 0; n < 10; n++) await clock.advance('1s')
    expect(heard.told).toEqual(['Half'])
    dying.die()
    hangs = false
    const worker = await createRuntime({ ...terms, store: shared })
    runtimes.push(worker)
    const { told, stop } = watching(worker)
    for (let n = 0; n < 12; n++) await clock.advance('5s')
    expect(await after(worker.session('s').turn(given).outcome, clock)).toMatchObject({ value: { status: 'success' } })
    await stop()
    expect(told).toEqual(['retracted 2', 'Half'])
  })
})

describe.each(stores)('names that every object has, on %s', (_, fresh) => {
  const made = (name: string): Tool => tool({ name, description: name, input, hints: { readOnly: true }, execute: () => `I am ${name}` })

  test.each(['constructor', 'toString', 'hasOwnProperty', '__proto__'])('TOOL-3: no tool can be called %s', (name) => {
    expect(() => made(name)).toThrow(expect.objectContaining({ code: 'tool_invalid', message: expect.stringContaining(`'${name}'`) }))
  })

  test('SESS-3: so the names of the history are those that the model is told', async () => {
    const model = scriptedModel([{ call: [{ name: 'constructor' }, { name: 'constructor_' }] }, 'Done'], { name: 'm' })
    const { runtime, clock } = await open({ models: [model], tools: [made('constructor_')] }, fresh)
    await after(runtime.session('s').turn({ model: 'm', message: 'Hi' }).outcome, clock)
    const [, second] = model.requests
    const results = second?.messages.flatMap((message) => (message.role === 'tool' ? message.results : [])) ?? []
    expect(results.map(({ status }) => status)).toEqual(['failure', 'success'])
    for (const { name } of results) expect(second?.tools.map((each) => each.name)).toContain(name)
  })
})

describe('TASK-9: what wakes a session', () => {
  const job = tool({ name: 'job', description: 'd', input, hints: { readOnly: true }, background: true, execute: () => 'done' })
  test('a turn that is only asked for again, for its outcome, is not the last turn', async () => {
    const models = ['old', 'new'].map((name) => scriptedModel([{ when: /^/, say: name }], { name }))
    const { runtime, clock } = await open({ tools: [job], models, wake: true })
    const session = runtime.session('s')
    await after(session.turn({ model: 'old', message: 'Hi', id: 'one' }).outcome, clock)
    await after(session.turn({ model: 'new', message: 'Hi', id: 'two' }).outcome, clock)
    // Somebody looks what became of the first.
    expect(await after(session.turn({ model: 'old', message: 'Hi', id: 'one' }).outcome, clock)).toMatchObject({
      value: { status: 'success' },
    })
    await session.tasks.start({ tool: 'job', input: {} })
    for (let n = 0; n < 20; n++) await clock.advance('1s')
    const last = (await session.messages.list()).at(-1)
    expect(last).toMatchObject({ turn: expect.stringContaining('woken_'), model: 'new' })
  })

  test('nor is one that was refused', async () => {
    const models = ['old', 'new'].map((name) => scriptedModel([{ when: /^/, say: name }], { name }))
    const { runtime, clock } = await open({ tools: [job], models, wake: true })
    const session = runtime.session('s')
    await after(session.turn({ model: 'new', message: 'Hi', id: 'one' }).outcome, clock)
    expect(await after(session.turn({ model: 'old', message: 'Something else', id: 'one' }).outcome, clock)).toMatchObject({
      error: { code: 'turn_conflict' },
    })
    await session.tasks.start({ tool: 'job', input: {} })
    for (let n = 0; n < 20; n++) await clock.advance('1s')
    const last = (await session.messages.list()).at(-1)
    expect(last).toMatchObject({ turn: expect.stringContaining('woken_'), model: 'new' })
  })
})
