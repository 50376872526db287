// A worker that loses a call and claims it again: the rest of the lost execution must not disturb the new one.

import { tool, type ToolContext } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { type FreshWorld, mortalWorld } from '../../kit/worker-takeover.ts'
import { type Faults, faulty, lost } from '../../kit/stores/fresh-store.ts'

interface Body {
  readonly on: string
  readonly ctx: ToolContext
  end(value: string): void
}

describe.each(['memory', 'sqlite'] as const)('reclaiming a lost call on %s', (kind) => {
  let world: FreshWorld
  const { start, open } = mortalWorld(kind, (fresh) => {
    world = fresh
  })

  /** Bodies on any worker; each runs until the test ends it, or until its signal aborts if it listens. */
  const bodies: Body[] = []
  const work = (on: string, listens: boolean, alone: { concurrency?: 'exclusive' } = { concurrency: 'exclusive' }) =>
    tool({
      name: 'work',
      description: 'Works.',
      input: { type: 'object' },
      onCrash: 'rerun',
      timeout: '10h',
      ...alone,
      execute: (_, ctx) =>
        new Promise<string>((resolve, reject) => {
          bodies.push({ on, ctx, end: resolve })
          if (listens) ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error))
        }),
    })

  /** The call runs on A; A cannot renew, so B claims it and closes; A can renew again and reclaims it. */
  async function claimedBack(listens: boolean, losesClaim = false) {
    bodies.length = 0
    const { clock, store } = world
    let cut = false
    let unheard = losesClaim
    const faults: Faults = { on: { renew: () => (cut ? lost() : undefined) } }
    const claim: Store['claim'] = async (...asked) => {
      const claimed = await store.claim(...asked)
      if (!unheard || claimed.length === 0) return claimed
      unheard = false
      return lost()
    }
    const a = await start([work('a', listens)], { ...faulty(store, faults), claim })
    open.push(a)
    const outcome = a.session('s').run([{ id: 'c', name: 'work', input: {} }])
    outcome.catch(() => {})
    await clock.advance(10)
    expect(bodies).toHaveLength(1)
    cut = true
    await clock.advance('31s')
    const b = await start([work('b', true)])
    await clock.advance(1_000)
    expect(bodies.map((body) => body.on)).toEqual(['a', 'b'])
    await b.close({ grace: 0 })
    open.splice(open.indexOf(b), 1)
    cut = false
    for (let seconds = 0; seconds < 60; seconds++) await clock.advance(1_000)
    const [first, , third] = bodies as [Body, Body, Body | undefined]
    return { a, outcome, first, third, clock, store }
  }
  const passes = async (seconds: number): Promise<void> => {
    for (let each = 0; each < seconds; each++) await world.clock.advance(1_000)
  }
  const record = () => world.store.callAt({ tenant: 'default', session: 's', batch: '', id: 'c', occurrence: 0 })

  describe.each([true, false])('a body that listens to its signal: %s', (listens) => {
    test('the new execution runs, and its outcome counts', async () => {
      const { first, third, outcome } = await claimedBack(listens)
      expect(bodies.map(({ on }) => on)).toEqual(['a', 'b', 'a'])
      expect(first.ctx.signal.aborted).toBe(true)
      first.end('old')
      await passes(2)
      third?.end('new')
      await passes(2)
      expect(await outcome).toMatchObject([{ status: 'success', value: 'new' }])
    })

    test('a cancel reaches the new execution', async () => {
      const { a, third, outcome } = await claimedBack(listens)
      expect(third?.ctx.signal.aborted).toBe(false)
      expect(await a.session('s').cancel('Enough')).toBe(1)
      await passes(2)
      expect(third?.ctx.signal.aborted).toBe(true)
      expect(await outcome).toMatchObject([{ status: 'cancelled' }])
    })

    test('close() waits for the new execution in its grace period', async () => {
      const { a, third } = await claimedBack(listens)
      let closed = false
      const closing = a.close({ grace: '1m' }).then(() => (closed = true))
      open.splice(open.indexOf(a), 1)
      await passes(5)
      expect(closed).toBe(false)
      third?.end('new')
      await passes(2)
      await closing
      expect(await record()).toMatchObject({ state: 'settled', outcome: expect.stringContaining('new') })
    })

    test('close() without a grace period hands the call back', async () => {
      const { a, third } = await claimedBack(listens)
      await a.close({ grace: 0 })
      open.splice(open.indexOf(a), 1)
      expect(third?.ctx.signal.aborted).toBe(true)
      expect(await record()).toMatchObject({ owner: null })
    })

    test('a reclaimed call runs although the answer to the claim was lost', async () => {
      const { third, outcome } = await claimedBack(listens, true)
      third?.end('new')
      await passes(2)
      expect(await record()).toMatchObject({ state: 'settled' })
      expect(await outcome).toMatchObject([{ status: 'success', value: 'new' }])
    })
  })

  test('a cancel reaches the new execution although the old outcome is rejected late', async () => {
    bodies.length = 0
    const { clock, store } = world
    let cut = false
    let refuse = (): void => {}
    const view = faulty(store, { on: { renew: () => (cut ? lost() : undefined) } })
    const write: Store['write'] = (change, heard, how) =>
      change.updateCall?.progress.outcome?.includes('old')
        ? store.write(change, (answer) => (refuse = () => heard(answer)), how)
        : view.write(change, heard, how)
    const a = await start([work('a', false)], { ...view, write })
    open.push(a)
    const outcome = a.session('s').run([{ id: 'c', name: 'work', input: {} }])
    await clock.advance(10)
    cut = true
    await clock.advance('31s')
    const b = await start([work('b', true)])
    await clock.advance(1_000)
    bodies[0]?.end('old')
    await b.close({ grace: 0 })
    open.splice(open.indexOf(b), 1)
    cut = false
    await passes(60)
    expect(bodies.map(({ on }) => on)).toEqual(['a', 'b', 'a'])
    refuse()
    await passes(2)
    expect(await a.session('s').cancel('Enough')).toBe(1)
    await passes(2)
    expect(bodies[2]?.ctx.signal.aborted).toBe(true)
    expect(await outcome).toMatchObject([{ status: 'cancelled' }])
  })

  // B claims and hands back the whole batch; A's own run is still waiting for it.
  test.each(['meanwhile', 'only when it claims'])(
    'SCHED-1: the batch keeps its order if worker A learns %s that it had lost it',
    async (learns) => {
      bodies.length = 0
      const { clock, store } = world
      let cut = false
      const a = await start([work('a', true, {})], faulty(store, { on: { renew: () => (cut ? lost() : undefined) } }))
      open.push(a)
      const calls = ['1', '2'].map((id) => ({ id, name: 'work', input: {} }))
      const outcome = a.session('s').run(calls, { batch: 'm' })
      await clock.advance(10)
      cut = true
      await clock.advance('31s')
      const b = await start([work('b', true, {})])
      await clock.advance(1_000)
      if (learns === 'meanwhile') cut = false
      await passes(learns === 'meanwhile' ? 15 : 0)
      expect(bodies[0]?.ctx.signal.aborted).toBe(learns === 'meanwhile')
      await b.close({ grace: 0 })
      open.splice(open.indexOf(b), 1)
      cut = false
      await passes(60)
      const ran = (): string[] => bodies.map(({ on, ctx }) => `${on}${ctx.callId}`)
      expect(ran()).toEqual(['a1', 'b1', 'a1'])
      bodies[2]?.end('one')
      await passes(2)
      expect(ran()).toEqual(['a1', 'b1', 'a1', 'a2'])
      bodies[3]?.end('two')
      await passes(2)
      expect(await outcome).toMatchObject([{ value: 'one' }, { value: 'two' }])
    },
  )
})
