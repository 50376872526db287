// ctx.progress in a body that runs again: reports that repeat recorded work are held back.

import { type Duration, retry, type Runtime, type Tool, type ToolContext } from 'pawl'
import { describe, expect, test } from 'vitest'
import { ignoreResult } from '../../kit/interrupted-calls.ts'
import { stores, workersOn } from '../../kit/open-runtime.ts'
import { hang, rerunTask, simpleTool } from '../../kit/simple-tools.ts'
import { mortal } from '../../kit/stores/killable-store.ts'

/** Collects `current` of the live progress events of session `s`. */
function watch(runtime: Runtime): number[] {
  const seen: number[] = []
  const read = async (): Promise<void> => {
    for await (const event of runtime.session('s').events({ live: true }))
      if (event.live && event.type === 'call.progress') seen.push(event.body.current ?? -1)
  }
  void read().catch(() => {})
  return seen
}

describe.for(stores)('progress during replay on %s', ([, fresh]) => {
  const workers = workersOn(fresh)
  let wait: (ms: number) => Promise<void>
  /** Runs the call on a worker that dies after a while, then on another one. */
  const overACrash = async (
    first: Tool,
    second: Tool,
    runs: Duration = '10s',
  ): Promise<[number[], number[], Runtime]> => {
    const { store, open, clock } = workers()
    wait = (ms) => new Promise((resolve) => void clock.timer(ms, resolve))
    const dying = mortal(store)
    const before = await open({ tools: [first] }, dying.store)
    const seenBefore = watch(before)
    ignoreResult(before.session('s').run([{ id: 'a', name: 'work' }]))
    await clock.advance(runs)
    dying.die()
    const after = await open({ tools: [second] })
    const seenAfter = watch(after)
    for (let seconds = 0; seconds < 60; seconds++) await clock.advance('1s')
    return [seenBefore, seenAfter, after]
  }
  /** Eight steps of a second each; hangs in step `stuck`. */
  const pages = (stuck: number | null, order: 'after' | 'before' = 'after'): Tool =>
    simpleTool('work', { onCrash: 'rerun', timeout: '1h' }, async (_, ctx) => {
      for (let page = 0; page < 8; page++) {
        if (order === 'before') ctx.progress({ current: page, total: 8 })
        await ctx.step(`page ${page}`, () => (page === stuck ? hang() : wait(1_000)))
        if (order === 'after') ctx.progress({ current: page + 1, total: 8 })
      }
    })
  const second = (ctx: ToolContext): Promise<number> =>
    new Promise((resolve) => void setImmediate(() => resolve(ctx.attempt)))

  test('CALL-10: progress after a crash starts where it stood', async () => {
    const [before, after] = await overACrash(pages(3), pages(null))
    expect(before.at(-1)).toBe(3)
    expect(after[0]).toBe(3)
    expect(after).toEqual(after.toSorted((a, b) => a - b))
    expect(after.at(-1)).toBe(8)
  })

  test('CALL-10: progress that is reported before each step is not repeated either', async () => {
    const [before, after] = await overACrash(pages(3, 'before'), pages(null, 'before'))
    expect(before.at(-1)).toBe(3)
    expect(after[0]).toBe(3)
    expect(after).toEqual(after.toSorted((a, b) => a - b))
  })

  test('CALL-10: a sleep that is not over is recorded work, and the last report is shown again', async () => {
    const sleeper = (): Tool =>
      simpleTool('work', { onCrash: 'rerun', timeout: '1d' }, async (_, ctx) => {
        for (let hour = 1; hour <= 4; hour++) {
          ctx.progress({ current: hour })
          await ctx.sleep('1h')
        }
      })
    const [before, after] = await overACrash(sleeper(), sleeper(), '2h')
    expect(before).toEqual([1, 2, 3])
    expect(after).toEqual([3])
  })

  test('CALL-10: a retry in the same process does not repeat progress', async () => {
    const { clock, open } = workers()
    const work = simpleTool('work', { retry: { attempts: 2 }, timeout: '1h' }, async (_, ctx) => {
      for (let page = 0; page < 4; page++) {
        await ctx.step(`page ${page}`, () => second(ctx))
        ctx.progress({ current: page + 1 })
        await new Promise<void>((resolve) => setImmediate(resolve))
        if (page === 2 && ctx.attempt === 1) throw retry({ after: '1s' })
      }
    })
    const runtime = await open({ tools: [work] })
    const seen = watch(runtime)
    ignoreResult(runtime.session('s').run([{ id: 'a', name: 'work' }]))
    for (let seconds = 0; seconds < 20; seconds++) await clock.advance('1s')
    expect(seen).toEqual(seen.toSorted((a, b) => a - b))
    expect(seen.at(-1)).toBe(4)
  })

  test('CALL-10: a body that no longer takes a recorded step reports its progress again', async () => {
    const shorter = simpleTool('work', { onCrash: 'rerun', timeout: '1h' }, async (_, ctx) => {
      await ctx.step('page 0', () => second(ctx))
      ctx.progress({ current: 1 })
      await hang()
    })
    const [, after] = await overACrash(pages(3), shorter)
    expect(after).toEqual([1])
  })

  test('CALL-10 TASK-2: the recorded progress of a task does not go back', async () => {
    const { clock, store, open } = workers()
    const task = (stuck: boolean): Tool =>
      rerunTask('work', { timeout: '1h' }, async (_, ctx) => {
        for (let page = 0; page < 3; page++) {
          await ctx.step(`page ${page}`, () => second(ctx))
          ctx.progress({ current: page + 1 })
          // Slow work between recorded steps, so that a report in between would be written.
          if (!stuck) await new Promise<void>((resolve) => resumes.push(resolve))
        }
        await hang()
      })
    const resumes: (() => void)[] = []
    const dying = mortal(store)
    const before = await open({ tools: [task(true)] }, dying.store)
    const { id } = await before.session('s').tasks.start({ tool: 'work' })
    await clock.advance('10s')
    const current = async (runtime: Runtime) => (await runtime.session('s').tasks.get(id))?.progress?.current
    expect(await current(before)).toBe(3)
    dying.die()
    const after = await open({ tools: [task(false)] })
    const seen: (number | undefined)[] = []
    for (let seconds = 0; seconds < 60 || resumes.length > 0; seconds++) {
      await clock.advance('1s')
      seen.push(await current(after))
      if (seconds % 3 === 2) resumes.shift()?.()
    }
    expect(new Set(seen)).toEqual(new Set([3]))
  })
})
