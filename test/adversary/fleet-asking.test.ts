// Processes that ask and never run, and batches whose tools are spread over workers, looked at by somebody who wants them to fail.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, fail, type Runtime, type RuntimeOptions, type Tool, tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { type StoreKind, storeOf } from '../mortal.ts'
import { after, quiet } from './kit.ts'

const input = { type: 'object' } as const
const plain = (name: string, execute: (given: never, ctx: never) => unknown, more: object = {}): Tool =>
  tool({ name, description: name, input, timeout: { attempt: '1d' }, ...more, execute } as never)

describe.each(['memory', 'sqlite'] as const)('asking on %s', (kind: StoreKind) => {
  let dir: string
  let clock: ManualClock
  let store: Store
  const open: Runtime[] = []
  beforeEach(() => {
    clock = manualClock()
    dir = mkdtempSync(join(tmpdir(), 'pawl-adv-'))
    store = storeOf(kind, join(dir, 'agent.db'), clock)
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((runtime) => runtime.close({ grace: 0 })))
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  })
  const start = async (tools: readonly Tool[], options: Partial<RuntimeOptions> = {}): Promise<Runtime> => {
    const runtime = await createRuntime({ store, tools, clock, logger: quiet, ...options })
    open.push(runtime)
    return runtime
  }
  const settle = () => clock.advance(1_000)

  test('SCHED-1: onFailure stop holds for calls that run on a worker: what comes after a failure does not start', async () => {
    const ran: string[] = []
    const bad = plain('bad', () => {
      throw fail('no')
    })
    const pay = plain('pay', () => ran.push('pay'))
    const asks = await start([bad, pay], { worker: false })
    await start([bad, pay])
    const run = asks.session('s').run(
      [
        { id: 'a', name: 'bad' },
        { id: 'b', name: 'pay' },
      ],
      { batch: 'm', onFailure: 'stop' },
    )
    expect(await after(run, clock)).toMatchObject({ value: [{ status: 'failure' }, { status: 'cancelled' }] })
    expect(ran).toEqual([])
  })

  test.each(['the session', 'a signal'])('TIME-3: a cancel by %s in the turn in which a call was asked for is not lost', async (by) => {
    let began = 0
    const slow = plain('slow', () => (began++, new Promise(() => {})))
    const asks = await start([slow], { worker: false })
    const stop = new AbortController()
    const session = asks.session('s')
    const run = session.run([{ id: 'a', name: 'slow' }], { signal: stop.signal })
    run.catch(() => {})
    if (by === 'a signal') stop.abort()
    else await session.cancel('no more')
    await settle()
    await start([slow])
    expect(await after(run, clock)).toMatchObject({ value: [{ status: 'cancelled' }] })
    expect(began).toBe(0)
  })
})
