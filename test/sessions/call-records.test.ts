// session.calls: the record of calls, for callers and operators.

import { type CallSummary, createRuntime, fail, retry, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { ignoreResult, twoWorkers } from '../kit/interrupted-calls.ts'
import { rerunTool, simpleTool } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const empty = z.object({})
const start = Date.UTC(2026, 0, 1)

for (const kind of ['memory', 'sqlite'] as const)
  test(`DUR-3: a call whose worker died says so until another one takes over (${kind})`, async () => {
    const { clock, first, second } = twoWorkers(kind)
    const never = rerunTool('never', () => new Promise(() => {}))
    const worker = await first([never])
    const viewer = await second([], { worker: false })
    const now = async () => {
      const [call] = (await viewer.calls.recent()).calls
      const details = await viewer.calls.get(call?.uid ?? '')
      return { state: details?.state, worker: details?.worker, takeovers: details?.takeovers }
    }
    ignoreResult(worker.runtime.session('s').run([{ id: 'a', name: 'never', input: {} }]))
    await clock.advance(500)
    expect(await now()).toEqual({ state: 'running', worker: 'alive', takeovers: 0 })
    worker.die()
    await clock.advance('10s')
    expect(await now()).toEqual({ state: 'running', worker: 'lost', takeovers: 0 })
    const next = await second([never])
    await clock.advance('10s')
    expect(await now()).toEqual({ state: 'running', worker: 'alive', takeovers: 1 })
    await Promise.all([next.close({ grace: 0 }), viewer.close()])
  })

test('TIME-4: a retry is an attempt of its own, and no other worker took the call over', async () => {
  let runs = 0
  const busy = simpleTool('busy', () => {
    if (++runs === 1) throw retry({ message: 'Busy', after: 1 })
    return 'done'
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [busy], logger: quiet })
  await runtime.session('s').run([{ id: 'a', name: 'busy', input: {} }])
  expect(await runtime.session('s').calls.get('a')).toMatchObject({ attempts: 2, takeovers: 0 })
  await runtime.close()
})

test('POL-3: a call that a person edited shows what was requested, and its request how it ended', async () => {
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ cents: z.number() }),
    hints: { destructive: true },
    execute: ({ cents }) => cents,
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [pay], logger: quiet })
  const session = runtime.session('s')
  const run = session.run([{ id: 'a', name: 'pay', input: { cents: 5000 } }])
  const item = await vi.waitUntil(async () => (await runtime.inbox())[0], { interval: 1 })
  expect(await runtime.decided(item.id)).toBeUndefined()
  await runtime.decide(item.id, { edit: { cents: 700 }, by: 'user:bea' })
  expect(await run).toMatchObject([{ value: 700 }])
  expect(await session.calls.get('a')).toMatchObject({ requested: { cents: 5000 }, input: { cents: 700 } })
  const ended = { call: item.call, tenant: 'default', session: 's', status: 'edited', by: [{ by: 'user:bea' }] }
  expect(await runtime.decided(item.id, { tenant: 'default' })).toMatchObject(ended)
  expect(await runtime.decided(item.id, { tenant: 'rival' })).toBeUndefined()
  expect(await runtime.decided('none')).toBeUndefined()
  await session.run([{ id: 'b', name: 'pay', input: { cents: 1 } }], { until: 'waiting' })
  const [open] = await runtime.inbox()
  await session.cancel()
  await vi.waitFor(async () =>
    expect(await runtime.decided(open?.id ?? '')).toMatchObject({ status: 'withdrawn', by: [] }),
  )
  await runtime.close()
})

onEachStore('call records', (bench) => {
  test('CALL-4: an unknown status or kind is refused before anything is read, with the closest name', async () => {
    const runtime = await bench.open([])
    const { calls, tasks } = runtime.session('s')
    const statuses =
      "'received', 'queued', 'running', 'parked', 'settled', 'success', 'failure', 'cancelled' or 'unknown'"
    await expect(calls.list({ status: 'bogus' as never })).rejects.toThrow(
      `\`status\` is 'bogus'; it must be ${statuses}.`,
    )
    await expect(calls.list({ status: 'setled' as never })).rejects.toThrow(
      "`status` is 'setled'; did you mean 'settled'?",
    )
    await expect(runtime.inbox({ kind: 'aproval' as never })).rejects.toThrow("did you mean 'approval'?")
    await expect(runtime.inbox({ kind: 'client' as never })).rejects.toThrow('`kind` is')
    await expect(tasks.list({ state: 'bogus' as never })).rejects.toThrow('Valid states: ')
  })

  const keys: string[] = []
  const works = tool({
    name: 'works',
    description: 'Takes steps',
    input: z.object({ n: z.number().default(7) }),
    onCrash: 'rerun',
    async execute({ n }, ctx) {
      await ctx.step('first', () => n)
      await ctx.now()
      await ctx.sleep(1000)
      await ctx
        .step('second', () => {
          throw new Error('secret of the step')
        })
        .catch(() => {})
      return n + 1
    },
  })
  const parks = simpleTool('parks', async (_, ctx) => {
    const later = await ctx.later({ name: 'signature', deadline: '1h' })
    keys.push(later.key)
    return later
  })
  const breaks = tool({
    name: 'breaks',
    description: 'Breaks',
    input: z.object({ how: z.enum(['fail', 'throw']) }),
    execute({ how }) {
      throw how === 'fail' ? fail('No such order', { code: 'not_found' }) : new Error('secret of the database')
    },
  })
  const all = [works, parks, breaks]

  test('CALL-6: get() finds a call by its position, with its steps and outcome', async () => {
    const clock = manualClock(start)
    const runtime = await bench.open(all, { clock })
    const session = runtime.session('s', { principal: 'user:ada' })
    const run = session.run(
      [
        { id: 'a', name: 'works' },
        { id: 'a', name: 'works', input: { n: 1 } },
      ],
      { batch: 'm1' },
    )
    await clock.advance(5000)
    const [first] = await run
    const found = await session.calls.get('a', { batch: 'm1' })
    expect(found).toEqual({
      uid: expect.any(String),
      callId: 'a',
      batch: 'm1',
      occurrence: 0,
      name: 'works',
      principal: 'user:ada',
      state: 'settled',
      attempts: 1,
      createdAt: start,
      startedAt: expect.any(Number),
      settledAt: expect.any(Number),
      outcome: { status: 'success', value: 8 },
      input: { n: 7 },
      requested: {},
      takeovers: 0,
      worker: null,
      sleeps: [{ from: expect.any(Number), until: expect.any(Number) }],
      steps: [
        { id: 'first', state: 'done', at: expect.any(Number), round: 1 },
        { id: 'second', state: 'failed', at: expect.any(Number), round: 1 },
      ],
      waits: [],
      usage: null,
    })
    expect(first).toMatchObject(found?.outcome as object)
    expect((found?.sleeps[0]?.until ?? 0) - (found?.sleeps[0]?.from ?? 0)).toBe(1000)
    const [early = 0, late = 0] = found?.steps.map(({ at }) => at) ?? []
    expect(late - early).toBeGreaterThanOrEqual(1000)
    expect(await session.calls.get('a', { batch: 'm1', occurrence: 1 })).toMatchObject({
      occurrence: 1,
      input: { n: 1 },
    })
    expect(await session.calls.get({ uid: found?.uid as string })).toEqual(found)
    for (const absent of [
      session.calls.get('a'),
      session.calls.get('b', { batch: 'm1' }),
      session.calls.get('a', { batch: 'm1', occurrence: 2 }),
      runtime.session('s', { tenant: 'acme' }).calls.get('a', { batch: 'm1' }),
      runtime.session('s', { tenant: 'acme' }).calls.get({ uid: found?.uid as string }),
      runtime.session('other').calls.get({ uid: found?.uid as string }),
    ]) {
      expect(await absent).toBeUndefined()
    }
  })

  test.runIf(bench.survives)(
    'CALL-6, DUR-1: a call record reads the same after a restart, even without its tool',
    async () => {
      const runtime = await bench.open(all)
      const first = runtime.session('s')
      await first.run([{ id: 'a', name: 'breaks', input: { how: 'fail' } }], { batch: 'm1' })
      const found = await first.calls.get('a', { batch: 'm1' })
      expect(found).toMatchObject({ state: 'settled', outcome: { status: 'failure' } })
      await runtime.close()
      await expect(first.calls.get('a', { batch: 'm1' })).rejects.toMatchObject({ code: 'store_unavailable' })
      expect(await (await bench.open([])).session('s').calls.get('a', { batch: 'm1' })).toEqual(found)
    },
  )

  test('CALL-6: get() finds a call by its idempotency key', async () => {
    const runtime = await bench.open(all)
    const session = runtime.session('s')
    await session.run([{ id: 'a', name: 'breaks', input: { how: 'fail' }, idempotencyKey: 'order 7' }])
    expect(await session.calls.get({ idempotencyKey: 'order 7' })).toMatchObject({
      callId: 'a',
      batch: '',
      idempotencyKey: 'order 7',
    })
    expect(await session.calls.get('a')).toBeUndefined()
    expect(await session.calls.get({ idempotencyKey: 'order 8' })).toBeUndefined()
  })

  test('WAIT-3: a wait is shown without its key, and with its state once resolved', async () => {
    const clock = manualClock(start)
    const runtime = await bench.open(all, { clock })
    const session = runtime.session('s')
    const run = session.run([{ id: 'a', name: 'parks' }])
    await clock.advance(100)
    const open = await session.calls.get('a')
    expect(open).toMatchObject({ state: 'parked', outcome: null, settledAt: null })
    expect(open?.waits).toEqual([
      { id: expect.any(String), name: 'signature', createdAt: start, deadline: start + 3_600_000, state: 'open' },
    ])
    const key = keys.at(-1) as string
    expect(JSON.stringify(open)).not.toContain(key)
    await runtime.resolve(key, { failure: { code: 'no', message: 'No' } })
    await clock.advance(100)
    await run
    expect(await session.calls.get('a')).toMatchObject({ state: 'settled', waits: [{ state: 'failure' }] })
  })

  test('VAL-4: the message of an internal error is not in the call record', async () => {
    const runtime = await bench.open(all)
    const session = runtime.session('s')
    await session.run([{ id: 'a', name: 'breaks', input: { how: 'throw' } }])
    const shown = JSON.stringify([await session.calls.get('a'), await session.calls.list()])
    expect(shown).toContain('An internal error occurred while executing the tool')
    expect(shown).not.toContain('secret')
  })

  test('CALL-6: list() returns the calls of one session in order and in pages', async () => {
    const runtime = await bench.open(all)
    const session = runtime.session('s')
    const asks = Array.from({ length: 250 }, (_, n) => ({
      id: `c${n}`,
      name: n % 100 === 7 ? 'nothing' : 'breaks',
      input: { how: 'fail' },
    }))
    await session.run(asks)
    await runtime.session('other').run([{ id: 'x', name: 'breaks', input: { how: 'fail' } }])
    await runtime.session('s', { tenant: 'acme' }).run([{ id: 'y', name: 'breaks', input: { how: 'fail' } }])
    const ids = (calls: readonly CallSummary[]): string[] => calls.map(({ callId }) => callId)
    const every = asks.map(({ id }) => id)
    expect(ids(await session.calls.list())).toEqual(every.slice(0, 100))
    expect(ids(await session.calls.list({ limit: 1000 }))).toEqual(every)
    const pages: string[] = []
    for (let after = ''; ;) {
      const page = await session.calls.list({ limit: 90, after })
      pages.push(...ids(page))
      if (page.length < 90) break
      after = page.at(-1)?.uid as string
    }
    expect(pages).toEqual(every)
    expect(ids(await session.calls.list({ tool: 'nothing' }))).toEqual(['c7', 'c107', 'c207'])
    const second = await session.calls.list({ tool: 'nothing', limit: 2 })
    expect(ids(await session.calls.list({ tool: 'nothing', after: second[1]?.uid as string }))).toEqual(['c207'])
    for (const limit of [0, -1, 1.5, 1001, Number.NaN]) {
      await expect(session.calls.list({ limit })).rejects.toMatchObject({ code: 'config_invalid' })
    }
  })

  test('VAL-2: list() filters calls by outcome status and by state', async () => {
    const clock = manualClock(start)
    const runtime = await bench.open(all, { clock })
    const session = runtime.session('s')
    const run = session.run([
      { id: 'ok', name: 'works' },
      { id: 'bad', name: 'breaks', input: { how: 'fail' } },
      { id: 'open', name: 'parks' },
    ])
    run.catch(() => {}) // the parked call is still open when the runtime closes
    await clock.advance(5000)
    const found = async (status: NonNullable<Parameters<typeof session.calls.list>[0]>['status']): Promise<string[]> =>
      (await session.calls.list(status === undefined ? {} : { status })).map(({ callId }) => callId)
    expect(await found('success')).toEqual(['ok'])
    expect(await found('failure')).toEqual(['bad'])
    expect(await found('settled')).toEqual(['ok', 'bad'])
    expect(await found('parked')).toEqual(['open'])
    expect(await found('unknown')).toEqual([])
    expect(await found(undefined)).toEqual(['ok', 'bad', 'open'])
  })

  test('TOOL-3: a call is listed and found by the tool name that the model used', async () => {
    const renamed = tool({ name: 'find', id: 'lookup', description: 'Finds', input: empty, execute: () => 1 })
    const own = tool({ name: 'own', description: 'Of this session', input: empty, execute: () => 2 })
    const session = (await bench.open([renamed])).session('s', { tools: [own] })
    await session.run([
      { id: 'a', name: 'find' },
      { id: 'b', name: 'own' },
    ])
    expect((await session.calls.list()).map(({ name }) => name)).toEqual(['find', 'own'])
    expect((await session.calls.get('b'))?.name).toBe('own')
    for (const [name, id] of [
      ['find', 'a'],
      ['lookup', 'a'],
      ['own', 'b'],
    ]) {
      expect((await session.calls.list({ tool: name as string })).map(({ callId }) => callId)).toEqual([id])
    }
  })
})
