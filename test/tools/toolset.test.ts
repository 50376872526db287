// Which tool a name means: to a model, to a running batch, and to a record after its process died.

import { type Runtime, retry, type RuntimeOptions, type Tool, tool, type ToolDefinition } from 'pawl'
import type { ManualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { toolset } from '../../src/tools/toolset.ts'
import { PinnedToolsets } from '../../src/tools/pinned-toolsets.ts'
import type { Store } from '../../src/store/store.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'
import { hang } from '../kit/simple-tools.ts'
import type { Mortal, StoreKind } from '../kit/stores/killable-store.ts'
import { mortalWorld } from '../kit/worker-takeover.ts'

const empty = z.object({})
type More = Partial<ToolDefinition<typeof empty, unknown>>
const named = (name: string, more: More = {}): Tool =>
  tool({ name, description: `The ${name}`, input: empty, execute: () => name, ...more })

describe('a single toolset', () => {
  test('TOOL-3: ids and names share one namespace, and a clash within a layer names the tools', () => {
    const clash = (...tools: Tool[]): unknown => toolset(tools)
    expect(() => clash(named('a'), named('b', { id: 'a' }))).toThrow(
      expect.objectContaining({ code: 'tool_duplicate', message: expect.stringContaining("'a' and 'b' both use 'a'") }),
    )
    expect(() => clash(named('b', { id: 'a' }), named('a'))).toThrow(
      expect.objectContaining({ code: 'tool_duplicate' }),
    )
    expect(() => clash(named('b', { id: 'x' }), named('a', { id: 'x' }))).toThrow(/both use 'x'/)
    expect(() => clash({ ...named('a') })).toThrow(expect.objectContaining({ code: 'tool_invalid' }))
  })

  test('TOOL-3 TOOL-4: a tool shadowed by an upper layer cannot be reached by name or id', () => {
    const lower = named('pay', { id: 't1' })
    const byName = toolset([lower], [named('pay')])
    expect(byName.get('pay')?.id).toBe('pay')
    expect(byName.get('t1')).toBeUndefined()
    const byId = toolset([lower], [named('payment', { id: 't1' })])
    expect(byId.offered).toEqual(['payment'])
    expect(byId.get('t1')?.name).toBe('payment')
    expect(byId.get('pay')).toBeUndefined()
  })
})

test('TOOL-4: a batch keeps its toolset until it ends', () => {
  let live = toolset([named('a')])
  const standing = new PinnedToolsets({ toolsetFor: () => live })
  const call = { position: { tenant: 't', session: 's', batch: '', id: 'a', occurrence: 0 }, tool: 'a' }
  const batch = { tools: live, tenant: 't', session: 's', calls: [call, { ...call, tool: 'absent' }] }
  standing.add(batch)
  expect(standing.toolKeys).toEqual([])
  live = toolset([])
  standing.refresh()
  expect(standing.toolsetFor(call)).toBe(batch.tools)
  expect(standing.toolKeys).toEqual(['a'])
  standing.remove(batch)
  expect(standing.toolsetFor(call)).toBe(live)
  expect(standing.toolKeys).toEqual([])
})

describe.each(['memory', 'sqlite'] as const)('adding, removing and renaming tools on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const workers = mortalWorld(kind, (fresh) => void ({ clock, store, first } = fresh))
  const start = (tools: readonly Tool[], more: Partial<RuntimeOptions> = {}): Promise<Runtime> =>
    workers.start(tools, store, more)
  /** Leaves a call behind that hangs in a worker, and kills the worker. */
  const leave = async (tools: readonly Tool[], ask: (dying: Runtime) => Promise<unknown>): Promise<void> => {
    ignoreResult(ask(await workers.start(tools, first.store)))
    await clock.advance(0)
    first.die()
  }
  const record = async (session: string): Promise<string | undefined> =>
    (await store.callAt({ tenant: 'default', session, batch: '', id: 'a', occurrence: 0 }))?.state

  test('TOOL-3 CALL-7: a call of a renamed tool with the same id runs after a restart', async () => {
    const again = { onCrash: 'rerun' } as const
    await leave(
      [named('old', { id: 't1', ...again, execute: hang }), named('plain', { ...again, execute: hang })],
      (dying) =>
        dying.session('s').run(
          [
            { id: 'a', name: 'old' },
            { id: 'b', name: 'plain' },
          ],
          { batch: 'm' },
        ),
    )
    const names: string[] = []
    const hook = { name: 'watch', before: ({ tool: name }: { tool: string }) => void names.push(name) }
    const runtime = await start([named('new', { id: 't1', ...again }), named('fancy', { id: 'plain', ...again })], {
      hooks: [hook],
    })
    await clock.advance('31s')
    const outcomes = await runtime.session('s').run(
      [
        { id: 'a', name: 'old' },
        { id: 'b', name: 'plain' },
      ],
      { batch: 'm' },
    )
    expect(outcomes.map((each) => each.status === 'success' && [each.name, each.value])).toEqual([
      ['old', 'new'],
      ['plain', 'fancy'],
    ])
    // A model may still use the old name, while hooks see the new one.
    const [asked] = await runtime.session('s').run([{ id: 'c', name: 'plain' }])
    expect(asked).toMatchObject({ value: 'fancy', name: 'plain' })
    expect(names.at(-1)).toBe('fancy')
  })

  test('TOOL-3: a tool that got an id later is still found by its recorded name', async () => {
    await leave([named('pay', { execute: hang, onCrash: 'rerun' })], (dying) =>
      dying.session('s').run([{ id: 'a', name: 'pay' }]),
    )
    const runtime = await start([named('pay', { id: 't1', onCrash: 'rerun' })])
    await clock.advance('31s')
    expect(await runtime.session('s').run([{ id: 'a', name: 'pay' }])).toMatchObject([{ value: 'pay', attempts: 2 }])
  })

  test('TOOL-3: a tool can call an internal tool; a model cannot, by name or by id', async () => {
    const inner = named('inner', { id: 'i1', internal: true })
    const outer = named('outer', { execute: async (_, ctx) => (await ctx.run([{ id: 'n', name: 'i1' }]))[0]?.status })
    const runtime = await start([inner, outer])
    const outcomes = await runtime.session('s').run([
      { id: 'a', name: 'i1' },
      { id: 'b', name: 'inner' },
      { id: 'c', name: 'outer' },
    ])
    expect(outcomes).toMatchObject([
      { failure: { code: 'tool_unavailable' } },
      { failure: { code: 'tool_unavailable' } },
      { value: 'success' },
    ])
  })

  test('TOOL-3: the feed reports the tool name that the model used', async () => {
    const runtime = await start([named('old', { id: 't1' })])
    const session = runtime.session('s', { tools: [named('mine')] })
    await session.run([
      { id: 'a', name: 'old' },
      { id: 'b', name: 'mine' },
    ])
    const told: unknown[] = []
    for await (const event of session.events()) {
      if (event.type === 'call.received') told.push((event.body as { tool: string }).tool)
      if (told.length === 2) break
    }
    expect(told).toEqual(['old', 'mine'])
  })

  test('TOOL-4: add() and remove() change the tools of later batches', async () => {
    const runtime = await start([named('b', { internal: true }), named('a')])
    const session = runtime.session('s')
    const fingerprint = expect.stringMatching(/^[\w-]{43}$/)
    expect(runtime.tools.list()).toMatchObject([
      { name: 'a', internal: false, available: true, fingerprint },
      { name: 'b', internal: true, fingerprint },
    ])
    runtime.tools.add([named('d'), named('c')])
    expect(session.tools.map(({ name }) => name)).toEqual(['a', 'c', 'd'])
    expect(() => runtime.tools.add([named('e'), named('a')])).toThrow(
      expect.objectContaining({ code: 'tool_duplicate' }),
    )
    expect(session.tools.map(({ name }) => name)).toEqual(['a', 'c', 'd'])
    expect(runtime.tools.remove('a')).toBe(true)
    expect(runtime.tools.remove('a')).toBe(false)
    expect(runtime.tools.remove('__proto__')).toBe(false)
    const outcomes = await session.run(['a', 'c'].map((name) => ({ id: name, name })))
    expect(outcomes).toMatchObject([{ failure: { code: 'tool_unavailable' } }, { value: 'c' }])
  })

  test('TOOL-4: a running batch keeps its tools behind a barrier, in retries and nested calls', async () => {
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => (release = resolve))
    let tries = 0
    const tools = [
      named('first', { execute: () => gate }),
      named('second', { execute: () => 'as it was' }),
      named('again', {
        hints: { idempotent: true },
        execute: () => {
          if (++tries === 1) throw retry({ after: '1s' })
          return 'as it was'
        },
      }),
      named('outer', { execute: async (_, ctx) => (await gate, (await ctx.run([{ id: 'n', name: 'second' }]))[0]) }),
    ]
    const runtime = await start(tools)
    const run = runtime.session('s').run(
      tools.map(({ name }) => ({ id: name, name })),
      { batch: 'm' },
    )
    await clock.advance(0)
    for (const name of ['first', 'second', 'again', 'outer']) runtime.tools.remove(name)
    runtime.tools.add([named('second', { execute: () => 'replaced' })])
    const [later] = await runtime.session('s').run([{ id: 'later', name: 'second' }])
    expect(later).toMatchObject({ value: 'replaced' })
    release()
    await clock.advance('2s')
    expect(await run).toMatchObject([
      { value: null },
      { value: 'as it was' },
      { value: 'as it was' },
      { value: { value: 'as it was' } },
    ])
    expect(await runtime.session('s').run([{ id: 'x', name: 'outer' }])).toMatchObject([
      { failure: { code: 'tool_unavailable' } },
    ])
  })

  test('TOOL-4: a parked call resolves after its tool was removed', async () => {
    let key = ''
    const sign = named('sign', {
      execute: async (_, ctx) => (({ key } = await ctx.later()), ctx.later()),
      onCrash: 'rerun',
      output: z.string(),
    })
    const runtime = await start([sign])
    const run = runtime.session('s').run([{ id: 'a', name: 'sign' }])
    await clock.advance(0)
    expect(await record('s')).toBe('parked')
    runtime.tools.remove('sign')
    await runtime.resolve(key, { value: 'signed' })
    await clock.advance('1s')
    expect(await run).toMatchObject([{ status: 'success', value: 'signed' }])
    // The batch has ended, so the tool is unavailable.
    expect(await runtime.session('s').run([{ id: 'b', name: 'sign' }])).toMatchObject([
      { failure: { code: 'tool_unavailable' } },
    ])
  })

  test('TOOL-4: session tools shadow the runtime’s tools in that session only', async () => {
    const runtime = await start([named('a'), named('b')])
    const session = runtime.session('s', {
      tools: [named('a', { execute: () => 'mine' }), named('c', { internal: true })],
    })
    expect(session.tools.map(({ name }) => name)).toEqual(['a', 'b'])
    expect(await session.run([{ id: '1', name: 'a' }])).toMatchObject([{ value: 'mine' }])
    expect(await runtime.session('s').run([{ id: '2', name: 'a' }])).toMatchObject([{ value: 'mine' }])
    expect(await runtime.session('t').run([{ id: '1', name: 'a' }])).toMatchObject([{ value: 'a' }])
    expect(await runtime.session('s', { tenant: 'other' }).run([{ id: '1', name: 'a' }])).toMatchObject([
      { value: 'a' },
    ])
    // Another handle has other tools, and each handle keeps its own. A handle without tools uses those set last.
    const other = runtime.session('s', { tools: [named('a', { execute: () => 'other' })] })
    expect(await session.run([{ id: '3', name: 'a' }])).toMatchObject([{ value: 'mine' }])
    expect(await other.run([{ id: '4', name: 'a' }])).toMatchObject([{ value: 'other' }])
    runtime.session('s', { tools: [] })
    expect(await runtime.session('s').run([{ id: '5', name: 'a' }])).toMatchObject([{ value: 'a' }])
    runtime.tools.add(named('d'))
    expect(session.tools.map(({ name }) => name)).toEqual(['a', 'b', 'd'])
    const renamed = runtime.session('s', { tools: [named('new', { id: 'old' })] })
    expect(await renamed.run([{ id: '6', name: 'old' }])).toMatchObject([{ value: 'new', name: 'old' }])
    expect(() => runtime.session('s', { tools: [named('x'), named('x')] })).toThrow(
      expect.objectContaining({ code: 'tool_duplicate' }),
    )
  })

  test('TOOL-4 CALL-7: recovery waits for the session and runs no other tool of the same name', async () => {
    const mine = (execute: () => unknown): Tool => named('a', { execute, onCrash: 'rerun' })
    await leave([named('a')], async (dying) => {
      for (const id of ['s', 't']) void dying.session(id, { tools: [mine(hang)] }).run([{ id: 'a', name: 'a' }])
    })
    const runtime = await start([named('a', { execute: () => 'the namesake', onCrash: 'rerun' })])
    await clock.advance('31s')
    expect(await record('s')).toBe('running')
    const session = runtime.session('s', { tools: [mine(() => 'mine')] })
    await clock.advance(0)
    expect(await record('s')).toBe('settled')
    expect(await record('t')).toBe('running')
    expect(await session.run([{ id: 'a', name: 'a' }])).toMatchObject([{ value: 'mine', attempts: 2 }])
  })

  test('TOOL-4 CALL-7: adding a tool makes its orphaned calls claimable at once', async () => {
    await leave([named('late', { execute: hang, onCrash: 'rerun' })], (dying) =>
      dying.session('s').run([{ id: 'a', name: 'late' }]),
    )
    const runtime = await start([])
    await clock.advance('31s')
    expect(await record('s')).toBe('running')
    runtime.tools.add(named('late', { onCrash: 'rerun' }))
    await clock.advance(0)
    expect(await record('s')).toBe('settled')
    runtime.tools.remove('late')
    expect(await runtime.session('s').run([{ id: 'a', name: 'late' }])).toMatchObject([{ value: 'late', attempts: 2 }])
  })
})
