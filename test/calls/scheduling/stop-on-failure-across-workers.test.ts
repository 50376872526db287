// Batches submitted by a runtime without worker: onFailure stop and cancels.

import { fail, type Tool, tool } from 'pawl'
import { type ManualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { type StoreKind } from '../../kit/stores/killable-store.ts'
import { after } from '../../kit/stores/fresh-store.ts'
import { fleetOn } from '../../kit/worker-fleet.ts'

const input = { type: 'object' } as const
const plain = (name: string, execute: (given: never, ctx: never) => unknown, more: object = {}): Tool =>
  tool({ name, description: name, input, timeout: { attempt: '1d' }, ...more, execute } as never)

describe.each(['memory', 'sqlite'] as const)('submitting on %s', (kind: StoreKind) => {
  let clock: ManualClock
  const { start, settle } = fleetOn(kind, (has) => ({ clock } = has))

  test('SCHED-1: onFailure stop also applies to calls on another worker', async () => {
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

  test.each(['the session', 'a signal'])(
    'TIME-3: a cancel by %s right after the submission is not lost',
    async (by) => {
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
    },
  )
})
