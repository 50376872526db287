// `meta` of a call: every view of the call has the one recorded with its first request.

import { type CallAsk, createRuntime, fail } from 'pawl'
import { expect, test, vi } from 'vitest'
import { simpleTool } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { onEachStore } from '../kit/stores/local-stores.ts'

const recorded = { trace: 'first', nested: { list: [1] } }
const quick = simpleTool('quick', () => 'done')
const broken = simpleTool('broken', () => {
  throw fail('No')
})

onEachStore('meta', (bench) => {
  test('CALL-6: a repeated request gets the recorded meta, not its own', async () => {
    const runtime = await bench.open([quick, broken])
    const session = runtime.session('s')
    const ask = (name: string, meta?: CallAsk['meta']): CallAsk => ({
      id: name,
      name,
      ...(meta === undefined ? {} : { meta }),
    })
    for (const name of ['quick', 'broken']) {
      expect(await session.run([ask(name, recorded)])).toMatchObject([{ meta: recorded }])
      for (const other of [undefined, null, { trace: 'second' }])
        expect((await session.run([ask(name, other)]))[0]?.meta).toEqual(recorded)
    }
    const key = { idempotencyKey: 'k', name: 'quick' }
    await session.run([{ ...key, id: 'x', meta: 'of x' }])
    expect(await session.run([{ ...key, id: 'y', meta: 'of y' }])).toMatchObject([{ callId: 'y', meta: 'of x' }])
    // A call recorded without meta has none, and a conflicting request is not that call.
    await session.run([{ id: 'plain', name: 'quick' }])
    const [plain] = await session.run([{ id: 'plain', name: 'quick', meta: 1 }])
    expect(plain).not.toHaveProperty('meta')
    expect(await session.run([{ id: 'plain', name: 'broken', meta: 2 }])).toMatchObject([
      { failure: { code: 'call_conflict' }, meta: 2 },
    ])
  })

  test('CALL-6: calls.get() and list() have the recorded meta', async () => {
    const runtime = await bench.open([quick])
    const session = runtime.session('s')
    await session.run([
      { id: 'a', name: 'quick', meta: recorded },
      { id: 'b', name: 'quick' },
    ])
    expect((await session.calls.get('a'))?.meta).toEqual(recorded)
    expect((await session.calls.list()).map(({ meta }) => meta)).toEqual([recorded, undefined])
  })

  test('CALL-6: an open call and its task have the recorded meta', async () => {
    const gates: (() => void)[] = []
    const slow = simpleTool('slow', { background: true }, () => new Promise<void>((resolve) => gates.push(resolve)))
    const runtime = await bench.open([slow])
    const session = runtime.session('s')
    const run = session.run([{ id: 'a', name: 'slow', meta: recorded }])
    await vi.waitUntil(() => gates.length === 1, { interval: 1 })
    const open = await session.run([{ id: 'a', name: 'slow', meta: 'other' }], { until: 1 })
    expect(open).toMatchObject([{ status: 'running', meta: recorded }])
    const joined = session.run([{ id: 'a', name: 'slow', meta: 'other' }])
    const task = await session.tasks.adopt('a')
    expect(task?.meta).toEqual(recorded)
    for (const outcome of await Promise.all([run, joined])) expect(outcome).toMatchObject([{ meta: recorded }])
    gates[0]?.()
    expect((await session.tasks.wait(task?.id ?? ''))?.meta).toEqual(recorded)
  })

  test.runIf(bench.survives)('CALL-6: the recorded meta survives a restart', async () => {
    const first = await bench.open([quick])
    await first.session('s').run([{ id: 'a', name: 'quick', meta: recorded }])
    await first.close()
    const session = (await bench.open([quick])).session('s')
    expect(await session.run([{ id: 'a', name: 'quick' }])).toMatchObject([{ meta: recorded }])
    expect((await session.calls.get('a'))?.meta).toEqual(recorded)
  })
})

test('CALL-6: meta of a sensitive call is read back from the encrypted record', async () => {
  const secret = simpleTool('secret', { sensitive: true }, () => 'done')
  const runtime = await createRuntime({
    store: 'memory:',
    tools: [secret],
    logger: quiet,
    keys: { secret: 'k'.repeat(32) },
  })
  await runtime.session('s').run([{ id: 'a', name: 'secret', meta: recorded }])
  expect(await runtime.session('s').run([{ id: 'a', name: 'secret' }])).toMatchObject([{ meta: recorded }])
  await runtime.close()
})
