import { retry, tool } from 'pawl'
import { type ManualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { fleetOn } from '../../kit/worker-fleet.ts'

describe.each(['memory', 'sqlite'] as const)('equal keys on %s', (kind) => {
  let clock: ManualClock
  const fleet = fleetOn(kind, (has) => ({ clock } = has))

  test("SCHED-1: a call that times out in the queue does not release the first call's batch order", async () => {
    const ran: string[] = []
    const input = { type: 'object' } as const
    const keyed = { description: 'One at a time per key', input, concurrency: { key: () => 'k' } }
    const retried = tool({
      ...keyed,
      name: 'retried',
      execute(_, ctx) {
        ran.push(`a, attempt ${ctx.attempt}`)
        if (ctx.attempt === 1) throw retry({ after: '10s' })
      },
    })
    const plain = tool({ ...keyed, name: 'plain', execute: () => void ran.push('b') })
    const hasty = tool({ ...keyed, name: 'hasty', timeout: { queue: '5s' }, execute: () => void ran.push('c') })
    const runtime = await fleet.start([retried, plain, hasty])
    const run = runtime.session('s').run([
      { id: 'a', name: 'retried' },
      { id: 'b', name: 'plain' },
      { id: 'c', name: 'hasty' },
    ])
    // a keeps its batch order while it waits for its second attempt; c leaves the queue meanwhile.
    await clock.advance('6s')
    expect((await runtime.session('s').calls.get('c'))?.state).toBe('settled')
    expect(ran).toEqual(['a, attempt 1'])
    await clock.advance('5s')
    const timedOut = { status: 'failure', failure: { class: 'timeout' } }
    expect(await run).toMatchObject([{ status: 'success' }, { status: 'success' }, timedOut])
    expect(ran).toEqual(['a, attempt 1', 'a, attempt 2', 'b'])
  })
})
