// session.calls.cancel: one call by its id, uid or idempotency key, in every state and from every process.

import {
  createRuntime,
  type CallOutcome,
  type CancelCallOptions,
  type Runtime,
  type Session,
  tool,
  type Tool,
} from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { simpleTool } from '../kit/simple-tools.ts'
import { allEvents } from '../kit/stores/all-events.ts'
import { onEveryStore, until } from '../kit/stores/all-stores.ts'

const why = { reason: 'No longer needed', by: 'user:ada' }
const cancelled = { status: 'cancelled', cancellation: { message: why.reason, source: 'cancellation' } }

/** A body that runs until it is cancelled. */
const patient = (name = 'patient', more: object = {}): Tool =>
  simpleTool(
    name,
    { timeout: '1h', ...more },
    (_, ctx) =>
      new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('stop')))),
  )
const quick = simpleTool('quick', { hints: { readOnly: true } }, () => 'done')
const parks = simpleTool('parks', (_, ctx) => ctx.later({ name: 'signature', deadline: '1h' }))
const wipe = simpleTool('wipe', { hints: { destructive: true } }, () => 'wiped')

onEveryStore('cancelling one call', (ground) => {
  let sessions = 0
  const newSession = (): string => `s${++sessions}`
  const workers = async (tools: Tool[], more: object = {}): Promise<[Runtime, Runtime]> => {
    const [here, there] = [
      await ground.worker({ tools, ...more }),
      await ground.worker({ tools, worker: false, ...more }),
    ]
    return [here.runtime, there.runtime]
  }
  const state = async (session: Session, id: string): Promise<string | undefined> =>
    (await session.calls.get(id))?.state
  const cancels = async (session: string): Promise<unknown[]> =>
    (await allEvents(ground.store)).flatMap((event) =>
      event.session === session && event.type === 'call.cancelling' ? [event.body] : [],
    )
  /** Advances the clock until the run has ended. */
  const ended = async (run: Promise<CallOutcome[]>): Promise<CallOutcome[]> => {
    let isOver = false
    void run.finally(() => (isOver = true)).catch(() => {})
    await until(async () => (await ground.clock.advance(100), isOver))
    return run
  }

  for (const from of ['this', 'another'] as const) {
    test(`TIME-3: ${from} process cancels a running call and leaves its batch alone`, async () => {
      const [here, there] = await workers([patient('patient', { hints: { readOnly: true } }), quick])
      const id = newSession()
      const session = here.session(id)
      const run = session.run([
        { id: 'a', name: 'patient' },
        { id: 'b', name: 'quick' },
        { id: 'c', name: 'patient' },
      ])
      await until(async () => (await state(session, 'a')) === 'running' && (await state(session, 'c')) === 'running')
      const { calls } = (from === 'this' ? here : there).session(id)
      expect(await calls.cancel('a', why)).toEqual({ answer: 'cancelled' })
      await until(async () => (await state(session, 'a')) === 'settled')
      expect(await state(session, 'c')).toBe('running')
      expect(await calls.cancel('a', why)).toEqual({ answer: 'already_settled' })
      expect(await calls.cancel('b', why)).toEqual({ answer: 'already_settled' })
      expect(await calls.cancel('c', { ...why, reason: 'Late' })).toEqual({ answer: 'cancelled' })
      expect(await ended(run)).toMatchObject([cancelled, { value: 'done' }, { status: 'cancelled' }])
      expect(await cancels(id)).toEqual([why, { reason: 'Late', by: 'user:ada' }])
    })

    test(`TIME-3: ${from} process cancels parked and waiting calls`, async () => {
      const [here, there] = await workers([parks, wipe])
      const id = newSession()
      const session = here.session(id)
      const run = session.run([
        { id: 'a', name: 'parks' },
        { id: 'b', name: 'wipe' },
      ])
      await until(async () => (await state(session, 'a')) === 'parked' && (await state(session, 'b')) === 'parked')
      const { calls } = (from === 'this' ? here : there).session(id)
      for (const call of ['a', 'b']) expect(await calls.cancel(call, why)).toEqual({ answer: 'cancelled' })
      expect(await ended(run)).toMatchObject([cancelled, { status: 'cancelled' }])
      expect(await here.inbox({ tenant: 'default', session: id })).toEqual([])
    })

    test(`TIME-3: ${from} process cancels a call that waits for its turn in the batch`, async () => {
      let ran = 0
      const next = simpleTool('next', () => ++ran)
      const [here, there] = await workers([patient(), next])
      const id = newSession()
      const session = here.session(id)
      const run = session.run([
        { id: 'a', name: 'patient' },
        { id: 'b', name: 'next' },
        { id: 'c', name: 'next' },
      ])
      await until(async () => (await state(session, 'a')) === 'running')
      const other = (from === 'this' ? here : there).session(id).calls
      // Another process sees a queued call only once it is recorded.
      if (from === 'another') await until(async () => (await state(session, 'b')) !== undefined)
      expect(await other.cancel('b', why)).toEqual({ answer: 'cancelled' })
      expect(await other.cancel('a', why)).toEqual({ answer: 'cancelled' })
      expect(await ended(run)).toMatchObject([cancelled, { status: 'cancelled', attempts: 0 }, { value: 1 }])
    })
  }

  test('TIME-3: a call is cancelled before any worker has claimed it', async () => {
    const id = newSession()
    let ran = 0
    const lone = simpleTool(`lone-${id}`, () => ++ran)
    const asker = (await ground.worker({ tools: [lone], worker: false })).runtime
    const run = asker.session(id).run([{ id: 'a', name: lone.name }])
    // At once: the request may not even be recorded yet.
    expect(await asker.session(id).calls.cancel('a', why)).toEqual({ answer: 'cancelled' })
    await ground.worker({ tools: [lone] })
    expect(await ended(run)).toMatchObject([{ status: 'cancelled', attempts: 0 }])
    expect(ran).toBe(0)
  })

  test('TIME-3: a call that was requested a moment ago is found', async () => {
    const { runtime } = await ground.worker({ tools: [patient()] })
    const session = runtime.session(newSession())
    const run = session.run([{ id: 'a', name: 'patient' }])
    expect(await session.calls.cancel('a', why)).toEqual({ answer: 'cancelled' })
    expect(await ended(run)).toMatchObject([{ status: 'cancelled' }])
  })

  test('TIME-3: a nested call is cancelled by its uid, and its parent sees that', async () => {
    const child = patient('child')
    const parent = simpleTool('parent', { timeout: '1h' }, async (_, ctx) => (await ctx.call(child, {})).status)
    const [here, there] = await workers([parent, child])
    const id = newSession()
    const run = here.session(id).run([{ id: 'a', name: 'parent' }])
    const find = async () => (await there.session(id).calls.list({ tool: 'child', status: 'running' }))[0]
    await until(async () => (await find()) !== undefined)
    const { uid, batch, callId } = (await find()) as { uid: string; batch: string; callId: string }
    expect(await there.session(id).calls.cancel({ uid }, why)).toEqual({ answer: 'cancelled' })
    expect(await ended(run)).toMatchObject([{ value: 'cancelled' }])
    expect(await there.session(id).calls.cancel(callId, { batch })).toEqual({ answer: 'already_settled' })
  })

  test('TIME-3: one call of a turn is cancelled, and the turn continues with its result', async () => {
    const model = scriptedModel([{ call: [{ name: 'patient' }, { name: 'quick' }] }, { say: 'Noted' }])
    const [here, there] = await workers([patient('patient', { hints: { readOnly: true } }), quick], {
      models: [model],
    })
    const id = newSession()
    const turn = here.session(id).turn({ model: 'scripted', message: 'Go' })
    const find = async () => (await there.session(id).calls.list({ tool: 'patient', status: 'running' }))[0]
    await until(async () => (await find()) !== undefined)
    const { uid } = (await find()) as { uid: string }
    expect(await there.session(id).calls.cancel({ uid }, why)).toEqual({ answer: 'cancelled' })
    let isOver = false
    void turn.outcome.finally(() => (isOver = true))
    await until(async () => (await ground.clock.advance(100), isOver))
    expect(await turn.outcome).toMatchObject({ status: 'success' })
    const messages = await there.session(id).messages.list()
    expect(JSON.stringify(messages)).toContain(why.reason)
  })

  test('TIME-3 CALL-6: batch, occurrence and idempotency key name the call', async () => {
    const { runtime } = await ground.worker({ tools: [patient('patient', { hints: { readOnly: true } })] })
    const session = runtime.session(newSession())
    const same = [
      { id: 'a', name: 'patient' },
      { id: 'a', name: 'patient' },
    ]
    const first = session.run(same, { batch: 'm1' })
    const second = session.run([{ id: 'a', name: 'patient' }], { batch: 'm2' })
    const keyed = session.run([{ id: 'k', name: 'patient', idempotencyKey: 'order-7' }])
    await until(async () => (await session.calls.list({ status: 'running' })).length === 4)
    const open = (await session.calls.list()).filter(({ callId }) => callId === 'a').map(({ uid }) => uid)
    expect(await session.calls.cancel('a')).toEqual({ answer: 'ambiguous', calls: open })
    expect(open).toHaveLength(3)
    expect(await session.calls.cancel('a', { batch: '' })).toEqual({ answer: 'unknown' })
    expect(await session.calls.cancel('order-7')).toEqual({ answer: 'unknown' })
    expect(await session.calls.cancel('a', { batch: 'm1', occurrence: 1 })).toEqual({ answer: 'cancelled' })
    expect(await session.calls.cancel({ idempotencyKey: 'order-7' })).toEqual({ answer: 'cancelled' })
    expect(await ended(keyed)).toMatchObject([{ cancellation: { message: 'The call was cancelled' } }])
    const states = (await session.calls.list()).map(({ batch, occurrence, state: at }) => [batch, occurrence, at])
    expect(states).toEqual(
      expect.arrayContaining([
        ['m1', 0, 'running'],
        ['m1', 1, 'settled'],
        ['m2', 0, 'running'],
      ]),
    )
    await session.calls.cancel('a', { batch: 'm1' })
    await session.calls.cancel('a', { batch: 'm2' })
    await ended(first)
    await ended(second)
  })

  test('TIME-3: the id of an open call finds it in the batch of a turn or under a key', async () => {
    const model = scriptedModel([{ call: { id: 'c1', name: 'patient' } }, { say: 'Noted' }])
    const [here, there] = await workers([patient()], { models: [model] })
    const id = newSession()
    const turn = here.session(id).turn({ model: 'scripted', message: 'Go' })
    const { calls } = there.session(id)
    const running = async (): Promise<number> => (await calls.list({ tool: 'patient', status: 'running' })).length
    await until(async () => (await running()) === 1)
    expect(await calls.cancel('c1', { ...why, occurrence: 1 })).toEqual({ answer: 'unknown' })
    expect(await calls.cancel('c1', why)).toEqual({ answer: 'cancelled' })
    await ended(turn.outcome.then(() => []))
    expect(JSON.stringify(await there.session(id).messages.list())).toContain(why.reason)
    expect(await calls.cancel('c1', why)).toEqual({ answer: 'unknown' })
    const keyed = here.session(id).run([{ id: 'k', name: 'patient', idempotencyKey: 'order-7' }])
    await until(async () => (await running()) === 1)
    expect(await calls.cancel('k', why)).toEqual({ answer: 'cancelled' })
    expect(await ended(keyed)).toMatchObject([cancelled])
  })

  test('TIME-3: an undefined uid next to an idempotency key counts as absent', async () => {
    const [here, there] = await workers([patient()])
    const id = newSession()
    const run = here.session(id).run([{ id: 'k', name: 'patient', idempotencyKey: 'order-7' }])
    await until(async () => (await here.session(id).calls.list({ status: 'running' })).length === 1)
    const { calls } = there.session(id)
    const ref = { uid: undefined, idempotencyKey: 'order-7' } as { idempotencyKey: string }
    expect(await calls.get(ref)).toMatchObject({ callId: 'k', state: 'running' })
    expect(await calls.cancel(ref, why)).toEqual({ answer: 'cancelled' })
    expect(await ended(run)).toMatchObject([cancelled])
  })

  test('TIME-3: unknown calls, and calls of other sessions and tenants, are unknown', async () => {
    const { runtime } = await ground.worker({ tools: [patient()] })
    const id = newSession()
    const session = runtime.session(id)
    const run = session.run([{ id: 'a', name: 'patient' }])
    await until(async () => (await state(session, 'a')) === 'running')
    const uid = (await session.calls.get('a'))?.uid ?? ''
    for (const stranger of [runtime.session(newSession()), runtime.session(id, { tenant: 'other' })])
      for (const call of ['a', { uid }]) expect(await stranger.calls.cancel(call)).toEqual({ answer: 'unknown' })
    expect(await session.calls.cancel({ uid: 'none' })).toEqual({ answer: 'unknown' })
    expect(await state(session, 'a')).toBe('running')
    // The first of two cancels is recorded; the second finds it, or finds the call settled.
    const both = await Promise.all([session.calls.cancel('a', why), session.calls.cancel({ uid }, why)])
    expect(both).toContainEqual({ answer: 'cancelled' })
    expect(both).not.toContainEqual({ answer: 'unknown' })
    expect(await ended(run)).toMatchObject([cancelled])
    expect(await cancels(id)).toEqual([why])
  })

  test('TIME-3: a cancel and an answer to a parked call race, and exactly one wins', async () => {
    const keys: string[] = []
    const waits = simpleTool('waits', async (_, ctx) => {
      const later = await ctx.later({ name: 'signature', deadline: '1h' })
      keys.push(later.key)
      return later
    })
    const [here, there] = await workers([waits])
    for (let round = 0; round < 8; round++) {
      const id = newSession()
      const session = here.session(id)
      const run = session.run([{ id: 'a', name: 'waits' }])
      await until(async () => (await state(session, 'a')) === 'parked')
      const [cancel, answer] = await Promise.all([
        there.session(id).calls.cancel('a', why),
        here.resolve(keys.at(-1) ?? '', { value: 1 }),
      ])
      const [outcome] = await ended(run)
      if (outcome?.status === 'success') expect(answer).toEqual({ answer: 'accepted' })
      else expect([outcome?.status, cancel.answer]).toEqual(['cancelled', 'cancelled'])
    }
  })
})

describe('calls.cancel()', () => {
  test.for([
    [{ reson: 'x' }, 'reason'],
    [{ reason: 5 }, 'reason'],
    [{ occurrence: -1 }, 'occurrence'],
  ] as const)('CALL-12: %o is refused', async ([how, named]) => {
    const runtime = await createRuntime({ store: 'memory:' })
    const { calls } = runtime.session('s')
    await expect(calls.cancel('a', how as unknown as CancelCallOptions)).rejects.toMatchObject({
      code: 'call_invalid',
      message: expect.stringContaining(named),
    })
    for (const call of [undefined, null, 5, {}])
      await expect(calls.cancel(call as never)).rejects.toMatchObject({ code: 'call_invalid' })
    await runtime.close()
  })

  test('TIME-3: a body cancels a later call of its own batch', async () => {
    const chooser = tool({
      name: 'chooser',
      description: 'd',
      input: { type: 'object' },
      hints: { readOnly: true },
      execute: () => runtime.session('s').calls.cancel('b', why),
    })
    const other = patient('other', { hints: { readOnly: true } })
    const runtime: Runtime = await createRuntime({ store: 'memory:', tools: [chooser, other] })
    const outcomes = await runtime.session('s').run([
      { id: 'a', name: 'chooser' },
      { id: 'b', name: 'other' },
    ])
    expect(outcomes).toMatchObject([{ value: { answer: 'cancelled' } }, cancelled])
    await runtime.close()
  })
})
