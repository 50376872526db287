// Requests, replies, signals and attached writes of a task survive worker loss, rejected commits and its end.

import { describe, expect, test, vi } from 'vitest'
import type { Attachment, Tool, ToolContext } from '../../../src/index.ts'
import type { Change, Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import type { Mortal, StoreKind } from '../../kit/stores/killable-store.ts'
import { muted } from '../../kit/stores/failing-writes.ts'
import { rerunTask } from '../../kit/simple-tools.ts'
import { waitForTask } from '../../kit/wait-until.ts'
import { mortalWorld } from '../../kit/worker-takeover.ts'

const body = (execute: (ctx: ToolContext) => unknown, more: object = {}): Tool =>
  rerunTask('work', more, (_, ctx) => execute(ctx))

describe.each(['memory', 'sqlite'] as const)('signals and replies after worker loss on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const { open, start } = mortalWorld(kind, (fresh) => void ({ clock, store, first } = fresh))
  /** The worker dies once a matching change is committed. */
  const diesAfter = (what: (change: Change) => boolean): Store =>
    muted(first.store, (change) => {
      if (!what(change)) return true
      first.die()
      return false
    })

  const asks = body(async (ctx) => {
    ctx.task?.status('Asking')
    const { text } = (await ctx.task?.request('Which?', { expected: { type: 'string' } })) ?? { text: '' }
    ctx.task?.status('Going on')
    await ctx.task?.signal('end')
    return text
  })

  test('TASK-8: an open request survives the loss of the worker', async () => {
    const a = await start([asks], first.store)
    const { id } = await a.session('s').tasks.start({ tool: 'work' })
    const before = await waitForTask(a, id, ({ state }) => state === 'awaiting_input')
    first.die()
    const b = await start([asks])
    await clock.advance('31s')
    await clock.advance('2s')
    const { inputRequest } = await waitForTask(
      b,
      id,
      ({ state, attempt }) => state === 'awaiting_input' && attempt === 2,
    )
    expect(inputRequest).toEqual(before.inputRequest)
    expect(inputRequest).toMatchObject({ prompt: 'Which?', expected: { type: 'string' } })
    await b.session('s').tasks.message(id, 'this', { inReplyTo: inputRequest?.id ?? '' })
    await b.session('s').tasks.signal(id, 'end')
    expect(await b.session('s').tasks.wait(id)).toMatchObject({ outcome: { value: 'this' } })
    expect((await b.session('s').tasks.messages(id)).map(({ direction }) => direction)).toEqual(['out', 'in'])
  })

  test('TASK-2: a reply without a running worker ends awaiting_input', async () => {
    const isReply = ({ insertWaits = [] }: Change): boolean =>
      insertWaits.some(({ name }) => name.startsWith('pawl:reply:'))
    await start([asks], diesAfter(isReply))
    const door = await start([asks], store, { worker: false })
    const { id } = await door.session('s').tasks.start({ tool: 'work' })
    const { inputRequest } = await waitForTask(door, id, ({ state }) => state === 'awaiting_input')
    await door.session('s').tasks.message(id, 'this', { inReplyTo: inputRequest?.id ?? '' })
    const b = await start([asks])
    await clock.advance('31s')
    await clock.advance('2s')
    expect(await waitForTask(b, id, ({ status }) => status === 'Going on')).toMatchObject({
      state: 'running',
      inputRequest: null,
    })
    await b.session('s').tasks.signal(id, 'end')
    expect(await b.session('s').tasks.wait(id)).toMatchObject({ outcome: { value: 'this' } })
  })

  test('TASK-8: a signal or reply can be sent again under its key, even after the end', async () => {
    const runtime = await start([asks])
    const { tasks } = runtime.session('s')
    const { id } = await tasks.start({ tool: 'work' })
    const { inputRequest } = await waitForTask(runtime, id, ({ state }) => state === 'awaiting_input')
    const reply = { inReplyTo: inputRequest?.id ?? '', key: 'r' }
    await tasks.message(id, 'this', reply)
    await waitForTask(runtime, id, ({ state }) => state === 'running')
    await tasks.message(id, 'this', reply)
    expect(await tasks.signal(id, 'end', null, { key: 's' })).toEqual({ accepted: true, number: 1 })
    await tasks.wait(id)
    expect(await tasks.signal(id, 'end', null, { key: 's' })).toEqual({ accepted: true, number: 1 })
    await expect(tasks.signal(id, 'end', null, { key: 'other' })).rejects.toMatchObject({ code: 'task_over' })
    await expect(tasks.message(id, 'more', { inReplyTo: 'nothing' })).rejects.toMatchObject({ code: 'task_over' })
    expect((await tasks.messages(id)).map(({ text }) => text)).toEqual(['Which?', 'this'])
  })

  test('TASK-8: a rerun body signals another task once', async () => {
    const hears = rerunTask('hears', async (_, ctx) => [
      await ctx.task?.signal('go'),
      await ctx.task?.signal('go'),
      (await ctx.task?.receive())?.text ?? '',
    ])
    const signals = body(async (ctx) => {
      await ctx.tasks.signal('h', 'go', 1)
      await ctx.tasks.message('h', 'hello')
      if (ctx.attempt === 1) {
        first.die()
        await new Promise(() => {})
      }
      await ctx.tasks.signal('h', 'go', 2)
    })
    await start([hears, signals], first.store)
    const door = await start([hears, signals], store, { worker: false })
    await door.session('s').tasks.start({ tool: 'hears', id: 'h' })
    await door.session('s').tasks.start({ tool: 'work', id: 'w' })
    await vi.waitUntil(async () => (await door.session('s').tasks.messages('h')).length === 1, { interval: 1 })
    const b = await start([hears, signals])
    await clock.advance('31s')
    await clock.advance('5s')
    expect(await b.session('s').tasks.wait('h')).toMatchObject({ outcome: { value: [1, 2, 'hello'] } })
    expect(await b.session('s').tasks.messages('h')).toHaveLength(1)
  })

  test('TASK-3: task writes attached to a rejected slot request are not lost', async () => {
    let refusals = 0
    /** Rejects the first slot request after the start. */
    const full = (change: Change): boolean =>
      change.takeSlots !== undefined && change.updateCall === undefined && refusals++ === 0
    const none = { ok: false, refused: { kind: 'room', name: 'planted' } } as const
    const crowded: Store = {
      ...store,
      commit: (change) => (full(change) ? Promise.resolve(none) : store.commit(change)),
      write: (change, heard, how) =>
        full(change) ? queueMicrotask(() => heard(none)) : store.write(change, heard, how),
    }
    let made: Attachment | undefined
    const naps = body(async (ctx) => {
      const nap = ctx.sleep('1s')
      await vi.waitUntil(
        async () => (await store.steps((await store.unsettled({ after: '', limit: 1 }))[0]?.uid ?? '')).length > 0,
        {
          interval: 1,
        },
      )
      made = ctx.attachments.create('bytes', { mediaType: 'text/plain' })
      await nap
      return { made }
    })
    const runtime = await start([naps], crowded)
    open.push(runtime)
    const { id } = await runtime.session('s').tasks.start({ tool: 'work' })
    await vi.waitUntil(() => made !== undefined, { interval: 1 })
    await clock.advance('2s')
    await clock.advance('1m')
    expect(await runtime.session('s').tasks.wait(id)).toMatchObject({ state: 'succeeded' })
    expect(refusals).toBeGreaterThan(1)
    expect(Buffer.from((await store.attachment('default', made?.ref.id ?? ''))?.data ?? '').toString()).toBe('bytes')
  })

  test('TASK-10: an unwritable outcome still cancels the tasks that the body started', async () => {
    const unwritable = ({ updateCall, insertCall }: Change): boolean =>
      updateCall?.progress.state === 'settled' && insertCall !== undefined && !failed
    let failed = false
    const limited: Store = {
      ...store,
      write(change, heard, how) {
        if (!unwritable(change)) return store.write(change, heard, how)
        failed = true
        queueMicrotask(() => heard({ failed: new Error('too large'), alone: true }))
      },
    }
    const child = rerunTask('child', (_, ctx) => ctx.sleep('1h'))
    const parent = body(async (ctx) => void (await ctx.tasks.start({ tool: 'child', id: 'c' })))
    const runtime = await start([child, parent], limited)
    open.push(runtime)
    await runtime.session('s').tasks.start({ tool: 'work', id: 'p' })
    expect(await runtime.session('s').tasks.wait('p')).toMatchObject({ state: 'failed' })
    expect(failed).toBe(true)
    expect(await runtime.session('s').tasks.wait('c')).toMatchObject({ state: 'cancelled' })
  })

  test('TASK-10: a call of an ended session cannot be moved to the background', async () => {
    const runtime = await start([body((ctx) => ctx.sleep('1h'))])
    const session = runtime.session('s')
    const run = session.run([{ id: 'a', name: 'work' }])
    run.catch(() => {})
    await vi.waitUntil(async () => (await store.unsettled({ after: '', limit: 1 })).length === 1, { interval: 1 })
    await session.end()
    await expect(session.tasks.adopt('a')).rejects.toMatchObject({ code: 'session_ended' })
    expect(await session.tasks.list()).toEqual([])
  })
})
