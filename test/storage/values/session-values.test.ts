// Session values: JSON by key with compare-and-set, limits, exactly-once writes of a body, and erase.

import { PawlError, retry, type Runtime, tool, type Tool, type ToolContext } from 'pawl'
import { manualClock } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createRuntime } from '../../../src/index.ts'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import type { Change, Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { mortal, renewOnce } from '../../kit/stores/killable-store.ts'

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof PawlError ? error.code : String(error)),
  )
const input = { type: 'object' } as const
const body = (
  execute: (ctx: ToolContext) => Promise<unknown>,
  how: { retry?: { attempts: number; base: number } } = {},
): Tool =>
  tool({ name: 'works', description: 'Works.', input, onCrash: 'rerun', ...how, execute: (_, ctx) => execute(ctx) })

onEachStore('CALL-9: values', (bench) => {
  test('values are set, read, deleted and listed per session', async () => {
    const runtime = await bench.open([])
    const { values } = runtime.session('a')
    expect(await values.get('k')).toBeUndefined()
    const first = await values.set('k', { deep: [1, 'zwei', null, { $pawl: 'x' }], text: 'NUL \u0000' })
    expect(first).toMatchObject({ key: 'k', revision: 1 })
    expect(await values.get('k')).toEqual({
      ...first,
      value: { deep: [1, 'zwei', null, { $pawl: 'x' }], text: 'NUL \u0000' },
    })
    expect(await values.set('n', null)).toMatchObject({ revision: 2 })
    expect(await values.get('n')).toMatchObject({ value: null })
    expect(await runtime.session('b').values.get('k')).toBeUndefined()
    expect(await runtime.session('a', { tenant: 'other' }).values.list()).toEqual({ entries: [], more: false })
    expect(await values.delete('k')).toBe(true)
    expect(await values.delete('k')).toBe(false)
    expect((await values.list()).entries.map(({ key }) => key)).toEqual(['n'])
  })

  test('a set with a stale revision is rejected, and a recreated key has a new revision', async () => {
    const { values } = (await bench.open([])).session('a')
    const one = await values.set('k', 1, { ifRevision: null })
    expect(await codeOf(values.set('k', 2, { ifRevision: null }))).toBe('value_changed')
    const two = await values.set('k', 2, { ifRevision: one.revision })
    expect(await codeOf(values.set('k', 3, { ifRevision: one.revision }))).toBe('value_changed')
    expect(await codeOf(values.delete('k', { ifRevision: one.revision }))).toBe('value_changed')
    expect(await values.delete('k', { ifRevision: two.revision })).toBe(true)
    const again = await values.set('k', 1)
    expect([one.revision, two.revision]).not.toContain(again.revision)
    // Exactly one of the concurrent writers wins.
    const raced = await Promise.all(
      Array.from({ length: 20 }, (_, n) => codeOf(values.set('k', n, { ifRevision: again.revision }))),
    )
    expect(raced.filter((code) => code === 'done')).toHaveLength(1)
  })

  test('values are listed by prefix, including the prefix itself, and in pages', async () => {
    const { values } = (await bench.open([])).session('a')
    for (const key of ['a', 'a/1', 'a/2', 'a/3', 'ab', 'b', 'ä/1']) await values.set(key, key)
    const keysOf = async (options: Parameters<typeof values.list>[0]) => {
      const { entries, more } = await values.list(options)
      return [...entries.map(({ key }) => key), ...(more ? ['…'] : [])]
    }
    expect(await keysOf({ prefix: 'a/' })).toEqual(['a/1', 'a/2', 'a/3'])
    expect(await keysOf({ prefix: 'a' })).toEqual(['a', 'a/1', 'a/2', 'a/3', 'ab'])
    expect(await keysOf({ prefix: 'a', limit: 2 })).toEqual(['a', 'a/1', '…'])
    expect(await keysOf({ prefix: 'a', limit: 2, after: 'a/1' })).toEqual(['a/2', 'a/3', '…'])
    expect(await keysOf({ prefix: 'a', limit: 2, after: 'a/3' })).toEqual(['ab'])
    expect(await keysOf({ prefix: 'ä' })).toEqual(['ä/1'])
    expect(await keysOf({ prefix: 'c' })).toEqual([])
    expect(await codeOf(values.list({ prefix: 'a', after: 'b' }))).toBe('config_invalid')
    expect(await codeOf(values.list({ limit: 0 }))).toBe('config_invalid')
  })

  test('keys, value size, total size and number of keys are limited', async () => {
    const runtime = await bench.open([], { values: { valueBytes: 100, bytes: 250, keys: 4 } })
    const { values } = runtime.session('a')
    for (const key of ['', '  ', 'x'.repeat(256), 'a\0b', '\ud800'])
      expect(await codeOf(values.set(key, 1))).toBe('value_key_invalid')
    expect(await codeOf(values.set(1 as never, 1))).toBe('value_key_invalid')
    expect(await codeOf(values.set('x'.repeat(255), 1))).toBe('value_too_large')
    expect(await codeOf(values.set('k', 'x'.repeat(100)))).toBe('value_too_large')
    for (const value of [Number.NaN, 1n, undefined]) expect(await codeOf(values.set('k', value))).toBe('value_invalid')
    await values.set('a', 'x'.repeat(90))
    await values.set('b', 'x'.repeat(90))
    expect(await codeOf(values.set('c', 'x'.repeat(90)))).toBe('values_full')
    await values.set('b', 'x')
    await values.set('c', 'x'.repeat(90))
    await values.set('d', 1)
    expect(await codeOf(values.set('e', 1))).toBe('values_full')
    await values.delete('d')
    await values.set('e', 1)
    // The limit is exact under concurrent writes.
    await values.delete('e')
    const raced = await Promise.all(['f', 'g', 'h', 'i'].map((key) => codeOf(values.set(key, 1))))
    expect(raced.toSorted()).toEqual(['done', 'values_full', 'values_full', 'values_full'])
    expect(await codeOf(createRuntime({ store: 'memory:', values: { keys: 0 } }))).toBe('config_invalid')
    expect(await codeOf(createRuntime({ store: 'memory:', values: { size: 1 } as never }))).toBe('config_invalid')
  })

  test('a value cannot contain an attachment, which belongs to its call', async () => {
    let said = ''
    const attaches = body(async (ctx) => {
      const file = ctx.attachments.create('x', { mediaType: 'text/plain' })
      said = await codeOf(ctx.values.set('k', { in: [file] }))
    })
    await (await bench.open([attaches])).session('a').run([{ id: '1', name: 'works' }])
    expect(said).toBe('value_invalid')
  })

  test('a body shares values with the host', async () => {
    const counts = body(async ({ values }) => {
      const { value = 0, revision = null } = (await values.get('n')) ?? {}
      await values.set('n', Number(value) + 1, { ifRevision: revision })
      expect(await codeOf(values.set('n', 'mine', { ifRevision: revision }))).toBe('value_changed')
      await values.set('gone', 1)
      expect(await values.delete('gone')).toBe(true)
      return (await values.list()).entries.map(({ key }) => key)
    })
    const session = (await bench.open([counts])).session('a')
    await session.values.set('n', 41)
    const [outcome] = await session.run([{ id: '1', name: 'works' }])
    expect(outcome).toMatchObject({ status: 'success', value: ['n'] })
    expect((await session.values.get('n'))?.value).toBe(42)
  })

  test('values can be read in a step, but not written in a step or after the attempt', async () => {
    let after = ''
    let left: Promise<unknown> = Promise.resolve()
    const works = body(async (ctx) => {
      const read = await ctx.step('reads', async () => (await ctx.values.get('k'))?.value ?? 'none')
      const inside = await ctx.step('writes', async () => codeOf(ctx.values.set('k', 1)))
      left = new Promise((resolve) => setTimeout(resolve, 20)).then(
        async () => (after = await codeOf(ctx.values.set('k', 1))),
      )
      return [read, inside]
    })
    const session = (await bench.open([works])).session('a')
    const [outcome] = await session.run([{ id: '1', name: 'works' }])
    expect(outcome).toMatchObject({ value: ['none', 'step_nested'] })
    await left
    expect(after).toBe('attempt_over')
    expect(await session.values.get('k')).toBeUndefined()
  })

  test('a retry writes its values again', async () => {
    let tries = 0
    const works = body(
      async ({ values }) => {
        await values.set('try', ++tries)
        if (tries === 1) throw retry({ message: 'once', after: 1 })
      },
      { retry: { attempts: 2, base: 1 } },
    )
    const session = (await bench.open([works])).session('a')
    await session.run([{ id: '1', name: 'works' }])
    expect(tries).toBe(2)
    expect((await session.values.get('try'))?.value).toBe(2)
  })

  test('values survive a restart and are removed by erase', async () => {
    let runtime = await bench.open([])
    await runtime.session('a').values.set('k', 'a')
    await runtime.session('b').values.set('k', 'b')
    if (bench.survives) {
      await runtime.close()
      runtime = await bench.open([])
      expect((await runtime.session('a').values.get('k'))?.value).toBe('a')
    }
    await runtime.erase({ session: 'a' })
    expect(await runtime.session('a').values.list()).toEqual({ entries: [], more: false })
    expect((await runtime.session('b').values.get('k'))?.value).toBe('b')
    // The usage is removed too.
    expect(await runtime.session('a').values.set('k', 1)).toMatchObject({ revision: 1 })
  })
})

describe('CALL-9: values when workers die', () => {
  let clock: ManualClock
  let store: Store
  let open: Runtime[]
  beforeEach(() => {
    clock = manualClock()
    store = memoryStore({ clock })
    open = []
  })
  afterEach(async () => {
    await Promise.all(open.map((runtime) => runtime.close({ grace: 0 })))
    await store.close()
  })
  const start = async (tools: readonly Tool[], on: Store = store): Promise<Runtime> => {
    const runtime = await createRuntime({ store: on, tools, clock, logger: quiet })
    if (on === store) open.push(runtime)
    return runtime
  }

  /** A counter, and two keys that are written concurrently. */
  const program = (begun: () => void, end: () => Promise<void>): Tool =>
    body(async ({ values }) => {
      begun()
      const { value = 0, revision = null } = (await values.get('n')) ?? {}
      const set = await values.set('n', Number(value) + 1, { ifRevision: revision })
      await Promise.all([values.set('x', 'x'), values.set('y', 'y')])
      await values.delete('x')
      await end()
      return set.revision
    })

  test('a body that reruns after a crash at any write writes its values once', async () => {
    let last = false
    let kills = 0
    for (; !last; kills++) {
      clock = manualClock()
      store = memoryStore({ clock })
      const { store: guarded, die } = mortal(store)
      let writes = 0
      let died = false
      const dies = (): void => {
        died = true
        die()
      }
      const doomed: Store = {
        ...guarded,
        write(change: Change, heard, how) {
          if (change.steps?.some(({ key }) => key.startsWith('values:')) && writes++ === kills) dies()
          guarded.write(change, heard, how)
        },
      }
      let runs = 0
      // Once everything is written, the worker dies before the call settles.
      const end = (): Promise<void> => {
        last = true
        dies()
        return new Promise(() => {})
      }
      const a = await start([program(() => runs++, end)], doomed)
      void a
        .session('s')
        .run([{ id: '1', name: 'works' }])
        .catch(() => {})
      await vi.waitUntil(() => died, { interval: 1 })
      await clock.advance('5s')
      const b = await start([
        program(
          () => runs++,
          () => Promise.resolve(),
        ),
      ])
      await clock.advance('60s')
      const session = b.session('s')
      const [outcome] = await session.run([{ id: '1', name: 'works' }])
      expect(runs).toBe(2)
      expect(outcome).toMatchObject({ status: 'success', value: 1 })
      expect((await session.values.get('n'))?.value).toBe(1)
      expect((await session.values.list()).entries.map(({ key }) => key)).toEqual(['n', 'y'])
    }
    expect(kills).toBeGreaterThan(3)
  })

  test('a worker that lost its lease cannot write values', async () => {
    let runs = 0
    let said = ''
    const make = (dead: boolean): Tool =>
      body(async ({ values }) => {
        runs++
        if (dead) {
          await vi.waitUntil(() => runs === 2, { interval: 1 })
          said = await codeOf(values.set('k', 'of the dead'))
          return 'dead'
        }
        await values.set('k', 'of the living')
        return 'alive'
      })
    const a = await start([make(true)], renewOnce(store))
    ignoreResult(a.session('s').run([{ id: '1', name: 'works' }]))
    await vi.waitUntil(() => runs === 1, { interval: 1 })
    const b = await start([make(false)])
    await clock.advance('31s')
    await clock.advance('2s')
    await vi.waitUntil(() => said !== '', { interval: 1 })
    expect(said).toBe('lease_lost')
    expect((await b.session('s').values.get('k'))?.value).toBe('of the living')
    await a.close({ grace: 0 }).catch(() => {})
  })

  test('a rerun that deletes where it had set before fails with replay_mismatch', async () => {
    let runs = 0
    const { store: guarded, die } = mortal(store)
    const make = (dead: boolean): Tool =>
      body(async ({ values }) => {
        runs++
        if (!dead) return codeOf(values.delete('k'))
        await values.set('k', 1)
        die()
        return new Promise(() => {})
      })
    const a = await start([make(true)], guarded)
    ignoreResult(a.session('s').run([{ id: '1', name: 'works' }]))
    await vi.waitUntil(() => runs === 1, { interval: 1 })
    await clock.advance('5s')
    const b = await start([make(false)])
    await clock.advance('60s')
    const [outcome] = await b.session('s').run([{ id: '1', name: 'works' }])
    expect(outcome).toMatchObject({ value: 'replay_mismatch' })
    expect((await b.session('s').values.get('k'))?.value).toBe(1)
  })
})
