// runtime.health(): no issue while all is well, and one for each call that is stuck.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { callRecord, change, callPosition, waitRecord } from '../../src/testing/store-cases/record-builders.ts'
import { type StoreKind, storeOf } from '../kit/stores/killable-store.ts'
import type { Store } from '../../src/store/store.ts'

const input = { type: 'object' } as const
const parks = tool({ name: 'parks', description: 'Parks', input, onCrash: 'rerun', execute: (_, ctx) => ctx.later() })
const naps = tool({
  name: 'naps',
  description: 'Naps',
  input,
  onCrash: 'rerun',
  concurrency: 'parallel',
  execute: (_, ctx) => ctx.sleep('1h'),
})

describe.each<StoreKind>(['memory', 'sqlite'])('health on %s', (kind) => {
  const clock = manualClock()
  const folder = mkdtempSync(join(tmpdir(), 'pawl-doctor-'))
  let store: Store | undefined
  const open: Runtime[] = []
  const start = async (tools = [parks, naps]): Promise<Runtime> => {
    store ??= storeOf(kind, join(folder, 'a.db'), clock)
    const runtime = await createRuntime({ store, tools, clock, keys: { secret: 'x'.repeat(32) } })
    open.push(runtime)
    return runtime
  }
  afterEach(async () => {
    for (const runtime of open.splice(0)) await runtime.close({ grace: 0 })
    await store?.close()
    store = undefined
    rmSync(folder, { recursive: true, force: true })
  })

  test('DUR-10: health() reports no issue for busy or waiting calls, and one per stuck call', async () => {
    const runtime = await start()
    expect(await runtime.health()).toMatchObject({
      findings: [],
      open: { received: 0, queued: 0, running: 0, parked: 0 },
      oldest: null,
      more: false,
    })
    const first = runtime.session('s')
    await first.run([{ id: 'p', name: 'parks' }], { until: 'waiting' })
    void first.run([{ id: 'n', name: 'naps' }]).catch(() => {})
    await clock.advance(100)
    expect(await runtime.health()).toMatchObject({
      findings: [],
      open: { running: 1, parked: 1 },
      oldest: { session: 's', tool: 'parks' },
      store: { kind, position: expect.any(Number), problems: [], workers: [{ leaseMs: expect.any(Number) }] },
    })

    // Invalid records that the engine never writes, inserted directly into the store.
    const at = clock.now()
    const insert = async (uid: string, over: Parameters<typeof callRecord>[1]): Promise<void> => {
      await store?.commit(
        change({
          insertCall: callRecord(uid, {
            position: callPosition({ session: 'x', id: uid }),
            createdAt: at,
            owner: 'gone',
            ...over,
          }),
        }),
      )
    }
    await insert('u1', { tool: 'no_such_tool', state: 'queued' })
    await insert('u2', { tool: 'parks', state: 'running', deaths: 2 })
    await insert('u3', { tool: 'parks', state: 'parked', wait: 'w1' })
    await insert('u4', { tool: 'parks', state: 'parked', wait: 'none' })
    await insert('u5', { tool: 'parks', state: 'settled' })
    await store?.commit(
      change({
        insertWaits: [
          waitRecord('w1', 'u3', { resolution: '{"value":1}' }),
          waitRecord('w2', 'u5', { deadline: at - 60_000 }),
        ],
      }),
    )
    const { findings } = await runtime.health()
    const of = (uid: string): unknown[] =>
      findings.filter(({ call }) => call?.uid === uid).map(({ kind: what, says }) => [what, says])
    expect(of('u1')).toEqual([
      ['no_tool', expect.stringMatching(/'u1'.*the worker that had it is gone.*Register 'no_such_tool'/)],
    ])
    expect(of('u2')).toEqual([
      ['unclaimed', expect.stringMatching(/running.*next sweep/)],
      ['deaths', expect.stringMatching(/2 workers died/)],
    ])
    expect(of('u3')).toEqual([['never_woken', expect.stringMatching(/is answered/)]])
    expect(of('u4')).toEqual([['never_woken', expect.stringMatching(/does not exist/)]])
    expect(findings.filter(({ kind: what }) => what === 'overdue')).toEqual([
      { kind: 'overdue', says: expect.stringMatching(/was due 60 s ago/) },
    ])
    expect(findings).toHaveLength(6)
  })
})

test('DUR-10: a call without a worker for its tool is reported after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-doctor-'))
  const clock = manualClock()
  const store = (): Promise<Runtime> => createRuntime({ store: `sqlite:${join(folder, 'a.db')}`, tools: [naps], clock })
  const first = await store()
  void first
    .session('s')
    .run([{ id: 'n', name: 'naps' }])
    .catch(() => {})
  await clock.advance(100)
  await first.close({ grace: 0 })
  const second = await createRuntime({ store: `sqlite:${join(folder, 'a.db')}`, tools: [], clock })
  expect((await second.health()).findings).toMatchObject([
    { kind: 'no_tool', call: { id: 'n', tool: 'naps', session: 's' } },
  ])
  second.tools.add([naps])
  await clock.advance(100)
  expect((await second.health()).findings).toEqual([])
  await second.close({ grace: 0 })
  rmSync(folder, { recursive: true, force: true })
})
