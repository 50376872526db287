// Moving a running call to the background: by caller, rule or model.

import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type CallOutcome, type Duration, type Runtime, tool } from '../../../src/index.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { simpleTool } from '../../kit/simple-tools.ts'

onEachStore('calls moved to the background', (bench) => {
  let go: ((value: string) => void)[] = []
  const slow = (after?: Duration) =>
    simpleTool(
      'slow',
      { description: 'Slow', title: 'Slow work', background: after === undefined ? true : { after } },
      () => new Promise<string>((resolve) => go.push(resolve)),
    )
  const quick = tool({ name: 'quick', description: 'Quick', input: z.object({}), execute: () => 'quick' })
  const begun = (n = 1) => vi.waitUntil(() => go.length >= n, { interval: 1 })
  const idOf = (outcome: CallOutcome | undefined): string =>
    ((outcome?.status === 'success' ? outcome.value : {}) as { task_id: string }).task_id
  const fresh = (): void => void (go = [])

  const toldAs = async (runtime: Runtime, id: string, value: string): Promise<void> => {
    go[0]?.(value)
    expect(await runtime.session('s').tasks.wait(id)).toMatchObject({
      state: 'succeeded',
      kind: 'moved_call',
      outcome: { value },
    })
    expect((await runtime.session('s').notices.list()).map(({ task }) => task)).toEqual([id])
    expect(await runtime.session('s').calls.get('a')).toMatchObject({ outcome: { status: 'success', value } })
  }

  test('TASK-8: a call moved by its caller returns a handle, and its result comes later', async () => {
    fresh()
    const runtime = await bench.open([slow(), quick])
    const session = runtime.session('s')
    const run = session.run([
      { id: 'a', name: 'slow' },
      { id: 'b', name: 'quick' },
    ])
    await begun()
    const task = await session.tasks.adopt('a', { title: 'Later' })
    const [a, b] = await run
    expect(a).toMatchObject({
      status: 'success',
      callId: 'a',
      value: { task_id: task?.id, title: 'Later', status: 'running' },
    })
    expect(b).toMatchObject({ status: 'success', value: 'quick' })
    expect(await session.run([{ id: 'a', name: 'slow' }])).toMatchObject([{ value: { task_id: task?.id } }])
    expect(await session.tasks.list({ state: 'running' })).toMatchObject([{ id: task?.id }])
    expect((await session.tasks.adopt('a'))?.id).toBe(task?.id)
    await toldAs(runtime, idOf(a), 'done')
    expect(await session.run([{ id: 'a', name: 'slow' }])).toMatchObject([{ value: 'done' }])
  })

  test('TASK-8: a call is moved by a rule of its tool or of the run', async () => {
    for (const how of ['tool', 'run'] as const) {
      fresh()
      const clock = manualClock()
      const runtime = await bench.open([slow(how === 'tool' ? '10s' : undefined), quick], { clock, store: 'memory:' })
      const run = runtime.session('s').run([{ id: 'a', name: 'slow' }], how === 'run' ? { background: '10s' } : {})
      await begun()
      await clock.advance('9s')
      expect(await runtime.session('s').tasks.list()).toEqual([])
      await clock.advance('2s')
      const [a] = await run
      await toldAs(runtime, idOf(a), how)
    }
  })

  test('TASK-8: a call is moved by the model, and a settled call is not moved', async () => {
    fresh()
    const runtime = await bench.open([slow(), quick])
    const session = runtime.session('s')
    const run = session.run([{ id: 'a', name: 'slow' }], { batch: 'm1' })
    await begun()
    const [moved] = await session.run([{ id: 'x', name: 'move_to_background', input: { call_id: 'a' } }], {
      batch: 'm2',
    })
    expect(moved).toMatchObject({ status: 'success', value: { task: { state: 'running' } } })
    expect((await run)[0]).toMatchObject({ value: { status: 'running' } })
    await session.run([{ id: 'q', name: 'quick' }])
    await expect(session.tasks.adopt('q')).rejects.toMatchObject({ code: 'task_invalid' })
    go[0]?.('end')
    await session.tasks.wait(
      ((moved?.status === 'success' ? moved.value : {}) as { task: { task_id: string } }).task.task_id,
    )
    fresh()
    const second = session.run([{ id: 'c', name: 'slow' }])
    await begun()
    go[0]?.('here')
    await second
    expect(await session.tasks.adopt('c')).toBeNull()
    await expect(session.tasks.adopt('never')).rejects.toMatchObject({ code: 'task_unknown' })
  })

  test('TASK-8: aborting the run does not affect a moved call, which can be cancelled', async () => {
    fresh()
    const runtime = await bench.open([slow(), quick])
    const session = runtime.session('s')
    const stop = new AbortController()
    const run = session.run([{ id: 'a', name: 'slow' }], { onFailure: 'stop', signal: stop.signal })
    await begun()
    const task = await session.tasks.adopt('a')
    await run
    stop.abort()
    expect(await session.tasks.get(task?.id ?? '')).toMatchObject({ state: 'running' })
    expect(await session.tasks.cancel(task?.id ?? '')).toBe(true)
    expect(await session.tasks.wait(task?.id ?? '')).toMatchObject({ state: 'cancelled' })
  })
})
