// Retraction after a worker died, tool names from Object.prototype, and the turn that a notice wakes.

import { createRuntime, type Model, type Tool, tool, type Session } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { after, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach, opening, stores } from '../../kit/open-runtime.ts'
import { backgroundTool } from '../../kit/simple-tools.ts'
import { ignoreOutcome } from '../../kit/wait-until.ts'
import { watchDeltas } from '../watch-deltas.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'

const open = opening()
const input = { type: 'object' } as const
const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }
const runtimes = closedAfterEach()

describe('SESS-2: the partial answer of a dead worker is retracted', () => {
  test('even when a call of the previous answer continues in the background', async () => {
    const { clock, store } = freshMemory()
    const shared = keepOpen(store)
    const slow = backgroundTool('slow', { hints: { readOnly: true }, timeout: '1h' }, (_, ctx) =>
      ctx.step('x', () => new Promise<string>(() => {})),
    )
    let hangs = true
    const model: Model = {
      name: 'm',
      async generate({ request, told }) {
        if (request.messages.length === 1)
          return { parts: [{ type: 'call', id: 'c', name: 'slow', input: '{}' }], finish: 'calls', usage }
        told({ type: 'text', delta: 'Half' })
        if (hangs) return new Promise(() => {})
        return { parts: [{ type: 'text', text: 'Half and half' }], finish: 'stop', usage }
      },
    }
    const terms = { clock, logger: quiet, tools: [slow], models: [model] }
    const dying = mortal(shared)
    const first = await createRuntime({ ...terms, store: dying.store })
    const heard = watchDeltas(first)
    const given = { model: 'm', message: 'Hi', id: 'x', background: '5s' as const }
    ignoreOutcome(first.session('s').turn(given))
    for (let n = 0; n < 10; n++) await clock.advance('1s')
    expect(heard.told).toEqual(['Half'])
    dying.die()
    hangs = false
    const worker = await createRuntime({ ...terms, store: shared })
    runtimes.push(worker)
    const { told, stop } = watchDeltas(worker)
    for (let n = 0; n < 12; n++) await clock.advance('5s')
    expect(await after(worker.session('s').turn(given).outcome, clock)).toMatchObject({ value: { status: 'success' } })
    await stop()
    expect(told).toEqual(['retracted 2', 'Half'])
  })
})

describe.each(stores)('tool names from Object.prototype on %s', (_, fresh) => {
  const made = (name: string): Tool =>
    tool({ name, description: name, input, hints: { readOnly: true }, execute: () => `I am ${name}` })

  test.each(['constructor', 'toString', 'hasOwnProperty', '__proto__'])('TOOL-3: a tool cannot be named %s', (name) => {
    expect(() => made(name)).toThrow(
      expect.objectContaining({ code: 'tool_invalid', message: expect.stringContaining(`'${name}'`) }),
    )
  })

  test('SESS-3: renamed calls in the history use names that the model is offered', async () => {
    const model = scriptedModel([{ call: [{ name: 'constructor' }, { name: 'constructor_' }] }, 'Done'], { name: 'm' })
    const { runtime, clock } = await open({ models: [model], tools: [made('constructor_')] }, fresh)
    await after(runtime.session('s').turn({ model: 'm', message: 'Hi' }).outcome, clock)
    const [, second] = model.requests
    const results = second?.messages.flatMap((message) => (message.role === 'tool' ? message.results : [])) ?? []
    expect(results.map(({ status }) => status)).toEqual(['failure', 'success'])
    for (const { name } of results) expect(second?.tools.map((each) => each.name)).toContain(name)
  })
})

describe('TASK-9: the turn used to wake a session', () => {
  const job = backgroundTool('job', { hints: { readOnly: true } }, () => 'done')
  const openWithModels = () => {
    const models = ['old', 'new'].map((name) => scriptedModel([{ when: /^/, say: name }], { name }))
    return open({ tools: [job], models, wake: true })
  }
  const expectWokenByNew = async (session: Session, clock: ManualClock): Promise<void> => {
    await session.tasks.start({ tool: 'job', input: {} })
    for (let n = 0; n < 20; n++) await clock.advance('1s')
    const last = (await session.messages.list()).at(-1)
    expect(last).toMatchObject({ turn: expect.stringContaining('woken_'), model: 'new' })
  }

  test('is not a turn that was only requested again for its outcome', async () => {
    const { runtime, clock } = await openWithModels()
    const session = runtime.session('s')
    await after(session.turn({ model: 'old', message: 'Hi', id: 'one' }).outcome, clock)
    await after(session.turn({ model: 'new', message: 'Hi', id: 'two' }).outcome, clock)
    // Request the outcome of the first turn again.
    expect(await after(session.turn({ model: 'old', message: 'Hi', id: 'one' }).outcome, clock)).toMatchObject({
      value: { status: 'success' },
    })
    await expectWokenByNew(session, clock)
  })

  test('is not a turn that was rejected', async () => {
    const { runtime, clock } = await openWithModels()
    const session = runtime.session('s')
    await after(session.turn({ model: 'new', message: 'Hi', id: 'one' }).outcome, clock)
    expect(
      await after(session.turn({ model: 'old', message: 'Something else', id: 'one' }).outcome, clock),
    ).toMatchObject({
      error: { code: 'turn_conflict' },
    })
    await expectWokenByNew(session, clock)
  })
})
