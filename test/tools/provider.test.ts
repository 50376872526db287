// Tools from providers that may be slow, unreachable, changing, or send invalid data.

import {
  createRuntime,
  type Manifest,
  type Provider,
  type Runtime,
  type RuntimeOptions,
  type Tool,
  tool,
  type ToolDefinition,
} from 'pawl'
import { openaiTools } from 'pawl/openai'
import { type ManualClock, manualClock } from 'pawl/testing'
import { beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { mortal, storeOf } from '../kit/stores/killable-store.ts'
import { type Bench, onEachStore } from '../kit/stores/local-stores.ts'

const empty = z.object({})
type More = Partial<ToolDefinition<typeof empty, unknown>>
const named = (name: string, more: More = {}): Tool =>
  tool({ name, description: `The ${name}`, input: empty, execute: () => name, ...more })
const hang = (): Promise<never> => new Promise(() => {})
const allowAll: Partial<RuntimeOptions> = { policy: { rules: [{ tool: '*', then: 'allow' }] } }

/** A provider whose tools, availability and answers the test controls. */
class Fake implements Provider {
  readonly name: string = 'fake'
  readonly trusted: boolean = false
  tools: Tool[]
  listed: (() => readonly Manifest[] | Promise<readonly Manifest[]>) | undefined
  resolves: ((name: string) => Tool | Promise<Tool>) | undefined
  asked: string[] = []
  closed = 0
  listeners = new Set<() => void>()

  constructor(tools: Tool[], more: { name?: string; trusted?: boolean } = {}) {
    this.tools = tools
    Object.assign(this, more)
  }
  list(): readonly Manifest[] | Promise<readonly Manifest[]> {
    this.asked.push('list')
    return this.listed
      ? this.listed()
      : this.tools.map(({ name, description, hints }) => ({ name, description, hints }))
  }
  resolve(name: string): Tool | Promise<Tool> {
    this.asked.push(name)
    return this.resolves ? this.resolves(name) : (this.tools.find((each) => each.name === name) as Tool)
  }
  onChange(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }
  changed(): void {
    for (const each of this.listeners) each()
  }
  close(): void | Promise<void> {
    this.closed++
  }
}

const away = (): never => {
  throw new Error('connection refused')
}

onEachStore('providers', (bench: Bench) => {
  let clock: ManualClock
  beforeEach(() => void (clock = manualClock()))
  const opened = (
    provider: Provider,
    tools: readonly Tool[] = [],
    more: Partial<RuntimeOptions> = {},
  ): Promise<Runtime> => bench.open(tools, { clock, providers: [provider], ...allowAll, ...more })
  let count = 0
  const ask = async (runtime: Runtime, name: string): Promise<unknown> => {
    const [outcome] = await runtime.session('s').run([{ id: `c${++count}`, name }])
    return outcome?.status === 'success'
      ? outcome.value
      : outcome?.status === 'failure'
        ? outcome.failure.code
        : outcome
  }
  const warnings = (): string[] => bench.logged.filter(({ level }) => level === 'warn').map(({ message }) => message)

  test('TOOL-5: a definition is resolved when a call first needs it, once for concurrent calls', async () => {
    const fake = new Fake([named('a'), named('b')])
    const runtime = await opened(fake)
    expect(fake.asked).toEqual(['list'])
    expect(runtime.tools.list()).toMatchObject([
      { name: 'a', description: 'The a', provider: 'fake', available: true, fingerprint: undefined },
      { name: 'b' },
    ])
    expect(runtime.session('s').tools).toEqual([])
    const outcomes = await runtime.session('s').run([1, 2, 3].map((n) => ({ id: `x${n}`, name: 'a' })))
    expect(outcomes.map(({ status }) => status)).toEqual(['success', 'success', 'success'])
    expect(fake.asked).toEqual(['list', 'a'])
    expect(runtime.session('s').tools.map(({ name }) => name)).toEqual(['a'])
    // loadTools() resolves all definitions for adapters.
    const loaded = await runtime.session('s').loadTools()
    expect(openaiTools(loaded, { api: 'chat' }).map((each) => each.function.name)).toEqual(['a', 'b'])
    expect(fake.asked).toEqual(['list', 'a', 'b'])
    // Bound to the provider too, so that approvals do not carry over to another one.
    expect(runtime.tools.list()[0]?.fingerprint).toMatch(/^[\w-]{43}$/)
    expect(runtime.tools.list()[0]?.fingerprint).not.toBe(named('a').fingerprint)
  })

  test('TOOL-6 TOOL-5: an unenforceable pattern is refused in an own tool, warned of in a remote one', async () => {
    const input = { type: 'object', properties: { q: { type: 'string', pattern: '^(?!drop)' } } } as never
    const own = named('own', { input })
    const why = /Tool 'own': \/properties\/q\/pattern: the pattern .* look-around .*; describe the allowed texts/
    await expect(bench.open([own], { clock })).rejects.toThrow(why)
    const runtime = await opened(new Fake([named('a', { input })]))
    expect(() => runtime.tools.add(own)).toThrow(why)
    expect(() => runtime.session('s', { tools: [own] })).toThrow(why)
    expect(await ask(runtime, 'a')).toBe(await ask(runtime, 'a'))
    expect(warnings()).toEqual([expect.stringMatching(/^Tool 'a': .* cannot be enforced, .* only shown to the model/)])
  })

  test('TOOL-5: a failed resolve reports an unreachable provider and is not cached', async () => {
    const fake = new Fake([named('a')])
    fake.resolves = away
    const runtime = await opened(fake)
    const [first] = await runtime.session('s').run([{ id: '1', name: 'a' }])
    expect(first).toMatchObject({
      failure: {
        class: 'unavailable',
        code: 'tool_unavailable',
        retry: { when: 'safe' },
        message:
          "The source of the tool 'a', 'fake', cannot be reached now. It was not run. It may be tried again later.",
      },
    })
    expect(JSON.stringify(first)).not.toContain('refused')
    expect(warnings()).toEqual([expect.stringContaining('connection refused')])
    fake.resolves = undefined
    expect(await ask(runtime, 'a')).toBe('a')
  })

  test('TOOL-5: a hanging resolve times out, does not delay other calls and can be cancelled', async () => {
    const fake = new Fake([named('slow')])
    fake.resolves = hang
    const runtime = await opened(fake, [named('own', { concurrency: 'parallel' })])
    let own: unknown
    const session = runtime.session('s')
    const run = session.run([
      { id: '1', name: 'own' },
      { id: '2', name: 'slow' },
    ])
    void session.run([{ id: '3', name: 'own' }]).then(([outcome]) => (own = outcome?.status))
    const cancelled = runtime.session('t').run([{ id: '1', name: 'slow' }])
    await clock.advance(0)
    expect(own).toBe('success')
    await runtime.session('t').cancel('No longer wanted')
    expect(await cancelled).toMatchObject([{ status: 'cancelled' }])
    await clock.advance('10s')
    expect(await run).toMatchObject([{ status: 'success' }, { failure: { code: 'tool_unavailable' } }])
  })

  test('TOOL-5: an unreachable provider is listed again with backoff until it comes back', async () => {
    const fake = new Fake([named('a')])
    fake.listed = away
    const runtime = await opened(fake, [named('own')])
    const [unknown] = await runtime.session('s').run([{ id: '1', name: 'a' }])
    expect(unknown).toMatchObject({
      failure: { code: 'tool_unavailable', message: expect.stringContaining("'fake' cannot be reached") },
    })
    expect(await ask(runtime, 'own')).toBe('own')
    await clock.advance('1s')
    expect(fake.asked).toEqual(['list', 'list'])
    fake.listed = undefined
    await clock.advance('1s')
    expect(await ask(runtime, 'a')).toBe('tool_unavailable')
    await clock.advance('1s')
    expect(await ask(runtime, 'a')).toBe('a')
    // It becomes unreachable again: its tools stay listed as unavailable.
    fake.listed = away
    fake.changed()
    await clock.advance('100ms')
    expect(runtime.tools.list()).toMatchObject([
      { name: 'a', available: false },
      { name: 'own', available: true },
    ])
    fake.asked = []
    expect(await ask(runtime, 'a')).toBe('tool_unavailable')
    expect(fake.asked).toEqual([])
    fake.listed = undefined
    fake.changed()
    await clock.advance('100ms')
    expect(await ask(runtime, 'a')).toBe('a')
    expect(warnings().filter((each) => each.includes('will be tried again'))).toHaveLength(2)
  })

  test('TOOL-5 TOOL-4: a change refetches definitions, and a running batch keeps its own', async () => {
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => (release = resolve))
    const fake = new Fake([named('a', { execute: () => 'as it was' })])
    const runtime = await opened(fake, [named('first', { execute: () => gate })])
    expect(await ask(runtime, 'a')).toBe('as it was')
    const run = runtime.session('s').run(
      [
        { id: 'x', name: 'first' },
        { id: 'y', name: 'a' },
      ],
      { batch: 'm' },
    )
    fake.tools = [named('a', { execute: () => 'changed' }), named('b')]
    await clock.advance('1s')
    fake.changed()
    await clock.advance(0)
    expect(await ask(runtime, 'a')).toBe('changed')
    expect(await ask(runtime, 'b')).toBe('b')
    release()
    expect(await run).toMatchObject([{ value: null }, { value: 'as it was' }])
  })

  test('TOOL-5: continuous change notifications are handled at most ten times a second', async () => {
    const fake = new Fake([named('a')])
    fake.listed = () => (setImmediate(() => fake.changed()), [])
    await opened(fake)
    await clock.advance('1s')
    expect(fake.asked.length).toBeGreaterThan(5)
    expect(fake.asked.length).toBeLessThanOrEqual(12)
  })

  test('TOOL-5 CALL-11: invalid entries of a provider are omitted with one warning', async () => {
    const trap = new Proxy({}, { get: () => away() })
    const about = { description: 'x' }
    const lies = [
      { name: 'good', ...about },
      { name: 'good', ...about },
      { name: '__proto__', ...about },
      { name: 'has space', ...about },
    ]
    const fake = new Fake([named('good')])
    fake.listed = () => [...lies, null, 7, trap, { name: 'mute' }, { name: 'x', id: 'good', ...about }] as never
    const runtime = await opened(fake)
    expect(runtime.tools.list().map(({ name }) => name)).toEqual(['good'])
    expect(warnings()).toEqual([expect.stringMatching(/^Provider 'fake': .*; and \d more$/)])
    for (const resolved of [named('other'), { ...named('good') }, undefined, 'tool', trap]) {
      fake.resolves = () => resolved as never
      expect(await ask(runtime, 'good')).toBe('tool_unavailable')
    }
    fake.resolves = undefined
    expect(await ask(runtime, 'good')).toBe('good')
    for (const listed of [() => 'nothing', () => ({ length: 1e9 }), () => Promise.reject(new Error('no')), hang]) {
      fake.listed = listed as never
      await clock.advance('1m')
      fake.changed()
      await clock.advance('10s')
      expect(await ask(runtime, 'good')).toBe('tool_unavailable')
    }
  })

  test('TOOL-5 CALL-11: an unhandled rejection in a provider is attributed to that provider', async () => {
    const fake = new Fake([named('a')])
    fake.listed = () => (void Promise.reject(new Error('astray')), [])
    const runtime = await opened(fake, [named('own')])
    await new Promise((resolve) => setImmediate(resolve))
    expect(await ask(runtime, 'own')).toBe('own')
    expect(bench.logged).toContainEqual(
      expect.objectContaining({ level: 'error', fields: expect.objectContaining({ tool: 'provider fake' }) }),
    )
  })

  test('TOOL-5 TOOL-4: own tools precede provider tools in order, and each conflict is logged once', async () => {
    const fake = new Fake([named('mine', { execute: () => 'theirs' }), named('other', { execute: () => 'fake' })])
    const runtime = await opened(fake, [named('renamed', { id: 'mine' })])
    await runtime.tools.provide(new Fake([named('other', { execute: () => 'second' })], { name: 'second' }))
    fake.changed()
    await clock.advance('1s')
    expect(await ask(runtime, 'mine')).toBe('renamed')
    expect(await ask(runtime, 'other')).toBe('fake')
    expect(warnings()).toEqual([
      expect.stringContaining("The tool 'mine' of provider 'fake' is not used"),
      expect.stringContaining("The tool 'other' of provider 'second' is not used"),
    ])
    await expect(runtime.tools.provide(fake)).rejects.toMatchObject({ code: 'config_invalid' })
    await expect(runtime.tools.provide({ name: 'x' } as never)).rejects.toMatchObject({ code: 'config_invalid' })
    expect(await runtime.tools.withdraw('fake')).toBe(true)
    expect(await runtime.tools.withdraw('fake')).toBe(false)
    expect([fake.closed, fake.listeners.size]).toEqual([1, 0])
    expect(await ask(runtime, 'other')).toBe('second')
  })

  test('TOOL-5: a provider that hangs in list() or close() delays the runtime by its timeout only', async () => {
    const fake = new Fake([])
    fake.listed = hang
    fake.close = hang
    const opening = opened(fake, [named('own')])
    await clock.advance('10s')
    const runtime = await opening
    expect(await ask(runtime, 'own')).toBe('own')
    const closing = runtime.close()
    await clock.advance('10s')
    await closing
    await expect(runtime.tools.provide(new Fake([]))).rejects.toMatchObject({ code: 'runtime_closed' })
  })

  test('TOOL-2 TOOL-5: hints lower the risk of a tool only if its provider is trusted', async () => {
    const tools = [
      named('silent'),
      named('reads', { hints: { readOnly: true } }),
      named('tame', { hints: { destructive: false } }),
      named('wild', { hints: { readOnly: true, destructive: true } }),
    ]
    const asked = async (trusted: boolean): Promise<unknown[]> => {
      const runtime = await bench.open([], { clock, providers: [new Fake(tools, { trusted })] })
      return (
        await runtime
          .session(`trusted ${trusted}`, { attended: false })
          .run(tools.map(({ name }) => ({ id: name, name })))
      ).map((outcome) => (outcome.status === 'failure' ? outcome.failure.code : outcome.status))
    }
    expect(await asked(false)).toEqual([
      'approval_required',
      'approval_required',
      'approval_required',
      'approval_required',
    ])
    expect(await asked(true)).toEqual(['approval_required', 'success', 'success', 'approval_required'])
  })

  test('TOOL-2 TOOL-5: readOnly of an untrusted provider allows neither parallel runs nor reruns', async () => {
    const reads = named('reads', { hints: { readOnly: true, idempotent: true, openWorld: true } })
    const runtime = await bench.open([], {
      clock,
      providers: [new Fake([reads]), new Fake([reads], { name: 'ours', trusted: true })],
    })
    const [doubted] = await runtime.session('s').loadTools()
    expect(doubted).toMatchObject({ hints: { openWorld: true }, concurrency: { kind: 'barrier' } })
    expect(doubted?.hints).not.toHaveProperty('readOnly')
    const policy = { rules: [{ class: 'readOnly', then: 'deny' }] } as const
    const denying = await bench.open([], { clock, providers: [new Fake([reads])], policy })
    expect(await ask(denying, 'reads')).toBe('denied_by_policy')
    await runtime.tools.withdraw('fake')
    const [believed] = await runtime.session('s').loadTools()
    expect(believed).toMatchObject({
      hints: reads.hints,
      concurrency: { kind: 'parallel' },
      remote: { provider: 'ours' },
    })
  })
})

test('TOOL-5 CALL-7: recovery waits for the provider and runs no other tool of the same name', async () => {
  const clock = manualClock()
  const store = storeOf('memory', '', clock)
  const first = mortal(store)
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const dying = await createRuntime({
    store: first.store,
    clock,
    logger,
    providers: [new Fake([named('a', { onCrash: 'rerun', execute: hang })])],
    ...allowAll,
  })
  void dying.session('s').run([{ id: 'x', name: 'a' }])
  await clock.advance(0)
  first.die()
  const recorded = async (): Promise<unknown> =>
    store.callAt({ tenant: 'default', session: 's', batch: '', id: 'x', occurrence: 0 })
  const fake = new Fake([named('a', { onCrash: 'rerun' })])
  const namesake = named('a', { onCrash: 'rerun', execute: () => 'the namesake' })
  const runtime = await createRuntime({ store, clock, logger, tools: [namesake], providers: [fake], ...allowAll })
  fake.listed = away
  fake.changed()
  await clock.advance('31s')
  runtime.tools.remove('a')
  await clock.advance('1s')
  expect(await recorded()).toMatchObject({ state: 'running', fence: 1 })
  // The provider lists its tools again but cannot resolve them yet, and becomes unreachable once more in between.
  fake.listed = undefined
  fake.resolves = away
  fake.changed()
  await clock.advance('1s')
  expect(await recorded()).toMatchObject({ state: 'running', fence: 2 })
  const run = runtime.session('s').run([{ id: 'x', name: 'a' }])
  fake.listed = away
  fake.changed()
  await clock.advance('1s')
  fake.listed = undefined
  fake.resolves = undefined
  fake.changed()
  await clock.advance('5s')
  expect(await run).toMatchObject([{ value: 'a', attempts: 2 }])
  expect(await runtime.session('s').run([{ id: 'x', name: 'a' }])).toMatchObject([{ value: 'a', attempts: 2 }])
  await runtime.close()
})
