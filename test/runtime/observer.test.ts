// The observer port of createRuntime(): one event for each change of a call, attempt, wait and model call.

import { fail, ModelFailure, type Model, type ObservedEvent, type Observer, retry, type Runtime, type Tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { opening } from '../kit/open-runtime.ts'
import { readOnlyTool, simpleTool } from '../kit/simple-tools.ts'
import { after } from '../kit/stores/fresh-store.ts'

const open = opening()

interface Observed {
  readonly runtime: Runtime
  readonly clock: ManualClock
  readonly events: ObservedEvent[]
  of(type: ObservedEvent['type']): ObservedEvent[]
}

async function observing(options: { tools?: readonly Tool[]; models?: readonly Model[] }): Promise<Observed> {
  const events: ObservedEvent[] = []
  const { runtime, clock } = await open({ ...options, observer: (event) => void events.push(event) })
  return { runtime, clock, events, of: (type) => events.filter((event) => event.type === type) }
}

const subject = { call: expect.any(String) as string, tool: 'look', tenant: 'default', session: 's' }

test('DOOR-3: the observer gets events when a call starts and settles, with durations', async () => {
  const look = readOnlyTool('look', (_, ctx) => ctx.sleep(2_000))
  const { runtime, clock, of } = await observing({ tools: [look] })
  await after(runtime.session('s').run([{ id: 'c', name: 'look' }]), clock)
  expect(of('callStarted')).toMatchObject([{ type: 'callStarted', ...subject, resumed: false }])
  expect(of('callSettled')).toMatchObject([
    {
      type: 'callSettled',
      ...subject,
      status: 'success',
      attempts: 1,
      queuedMs: 0,
      runningMs: expect.any(Number),
      waitingMs: 2_000,
    },
  ])
})

test('DOOR-3: the observer gets events for every attempt, with number and status', async () => {
  let tries = 0
  const look = readOnlyTool('look', { retry: { attempts: 2 } }, () => {
    if (++tries === 1) throw retry({ after: 100 })
    return fail('No')
  })
  const { runtime, clock, of } = await observing({ tools: [look] })
  await after(runtime.session('s').run([{ id: 'c', name: 'look' }]), clock)
  expect(of('attemptStarted')).toMatchObject([
    { type: 'attemptStarted', ...subject, attempt: 1 },
    { type: 'attemptStarted', ...subject, attempt: 2 },
  ])
  expect(of('attemptEnded')).toMatchObject([
    { ...subject, attempt: 1, status: 'failure', durationMs: 0 },
    { ...subject, attempt: 2, status: 'failure', durationMs: 0 },
  ])
  expect(of('callSettled')).toMatchObject([{ status: 'failure', attempts: 2 }])
})

test('DOOR-3: the observer gets events when a wait opens and when it is resolved', async () => {
  const look = simpleTool('look', (_, ctx) => ctx.later({ name: 'job', deadline: '1h' }))
  const { runtime, clock, of } = await observing({ tools: [look] })
  const running = runtime.session('s').run([{ id: 'c', name: 'look' }])
  await after(running, clock)
  expect(of('waitOpened')).toMatchObject([
    { type: 'waitOpened', ...subject, wait: expect.any(String) as string, kind: 'external' },
  ])
  expect(of('attemptEnded')).toMatchObject([{ status: 'parked' }])
  await clock.advance('1h')
  await running
  const { wait } = of('waitOpened')[0] as { wait: string }
  expect(of('waitResolved')).toMatchObject([{ ...subject, wait, by: 'timeout', durationMs: 3_600_000 }])
  expect(of('callStarted')).toMatchObject([{ resumed: false }, { resumed: true }])
})

test('DOOR-3: the observer gets events for an approval request and its decision', async () => {
  const look = simpleTool('look', { approval: 'always' }, () => 'ok')
  const { runtime, clock, of } = await observing({ tools: [look] })
  const running = runtime.session('s').run([{ id: 'c', name: 'look' }])
  await after(running, clock)
  const [item] = await runtime.inbox()
  await runtime.decide(item?.id ?? '', { approve: true, by: 'bea' })
  await after(running, clock)
  expect(of('waitOpened')).toMatchObject([{ kind: 'approval' }])
  expect(of('waitResolved')).toMatchObject([{ by: 'value' }])
})

test('DOOR-3: the observer gets events for every model request, with usage and failures', async () => {
  const usage = { inputTokens: 5, outputTokens: 2, cachedTokens: 1, reasoningTokens: 0 }
  let asked = 0
  const model: Model = {
    name: 'm',
    async generate() {
      if (++asked === 1) throw new ModelFailure('overloaded', { retryable: true, afterMs: 500 })
      return { parts: [{ type: 'text', text: 'ok' }], finish: 'stop', usage }
    },
  }
  const { runtime, clock, of } = await observing({ models: [model] })
  await after(runtime.session('s').turn({ model, message: 'Hi' }).outcome, clock)
  const about = { ...subject, tool: 'pawl:turn:m', model: 'm' }
  expect(of('modelCallStarted')).toMatchObject([
    { type: 'modelCallStarted', ...about, attempt: 1 },
    { type: 'modelCallStarted', ...about, attempt: 2 },
  ])
  expect(of('modelCallEnded')).toMatchObject([
    { type: 'modelCallEnded', ...about, attempt: 1, status: 'failure', durationMs: 0, usage: null },
    { type: 'modelCallEnded', ...about, attempt: 2, status: 'success', durationMs: 0, usage },
  ])
})

test.each<[string, Observer]>([
  [
    'throws',
    () => {
      throw new Error('planted')
    },
  ],
  ['rejects', () => Promise.reject(new Error('planted'))],
])('DOOR-3: an observer that %s changes no outcome and is logged once', async (_, observer) => {
  const errors: string[] = []
  const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => void errors.push(message) }
  const model = scriptedModel([{ call: { name: 'look' } }, 'ok'], { name: 'm' })
  const { runtime, clock } = await open({
    tools: [readOnlyTool('look', () => 1)],
    models: [model],
    observer,
    logger,
  })
  const outcome = await after(runtime.session('s').turn({ model, message: 'Hi' }).outcome, clock)
  expect(outcome).toMatchObject({ value: { status: 'success', value: { text: 'ok' } } })
  expect(errors).toEqual([expect.stringContaining('The observer threw')])
})

test('DOOR-3: no event contains arguments, outputs, texts or names that a model invented', async () => {
  const planted = 'swordfish-4711'
  const look = readOnlyTool('look', async (input, ctx) => {
    await ctx.step(`step ${planted}`, async () => planted)
    return { ...input, planted }
  })
  const broken = readOnlyTool('broken', () => fail(planted, { code: planted }))
  const asks = simpleTool('asks', (_, ctx) =>
    ctx.later({ name: planted, deadline: '1h', announce: { type: 'x', payload: planted } }),
  )
  const model = scriptedModel(
    [
      {
        say: planted,
        call: [
          { name: 'look', input: { planted } },
          { name: 'broken', id: planted },
          { name: planted },
          { name: 'asks' },
        ],
      },
      planted,
    ],
    { name: 'm' },
  )
  const { runtime, clock, events } = await observing({ tools: [look, broken, asks], models: [model] })
  const turn = runtime.session('s').turn({ model, message: planted, instructions: planted })
  await after(turn.outcome, clock)
  await clock.advance('1h')
  await turn.outcome
  expect(new Set(events.map(({ type }) => type)).size).toBe(9)
  expect(JSON.stringify(events)).not.toContain(planted)
})

test('CALL-12: an observer that is not a function is refused', async () => {
  await expect(open({ observer: {} as Observer })).rejects.toMatchObject({ code: 'config_invalid' })
})
