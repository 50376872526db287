// Slots across workers: queued calls that wait for each other's tickets must not deadlock.

import { type Runtime, type Tool, tool } from 'pawl'
import type { ManualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { StoreKind } from '../../kit/stores/killable-store.ts'
import { after } from '../../kit/stores/fresh-store.ts'
import { fleetOn } from '../../kit/worker-fleet.ts'

const input = z.object({ k: z.string() })

/** Bodies that run until the test ends them by call id. */
class Bodies {
  readonly began: string[] = []
  readonly #open = new Map<string, () => void>()
  run(id: string): Promise<void> {
    this.began.push(id)
    return new Promise((resolve) => void this.#open.set(id, resolve))
  }
  end(id: string): void {
    this.#open.get(id)?.()
  }
}

describe.each(['memory', 'sqlite'] as const)('slots on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let bodies: Bodies
  const { start: worker } = fleetOn(kind, (fresh) => {
    ;({ clock } = fresh)
    bodies = new Bodies()
  })
  const settle = () => clock.advance(2_000)
  const run = (runtime: Runtime, id: string, name: string, k: string) =>
    runtime
      .session(`session of ${id}`)
      .run([{ id, name, input: { k } }])
      .then(([outcome]) => outcome)
  const keyed = (name: string, more: object = {}): Tool =>
    tool({
      name,
      description: 'Runs until told',
      input,
      timeout: { attempt: '1d' },
      concurrency: { key: ({ k }: { k: string }) => k },
      ...more,
      execute: (_: unknown, ctx: { callId: string }) => bodies.run(ctx.callId),
    } as never)

  /** One of two waiting calls has started; both end. */
  const expectBothEnd = async (calls: readonly Promise<unknown>[]): Promise<void> => {
    expect(bodies.began).toHaveLength(3)
    bodies.end(bodies.began[2] as string)
    await settle()
    bodies.end(bodies.began[3] as string)
    expect(await after(Promise.all(calls), clock)).not.toBe('hangs')
  }

  test('SCHED-3: calls queued for a key and a tool limit do not deadlock on their tickets', async () => {
    const few = keyed('few', { limits: { concurrent: 1 } })
    const hold = keyed('hold')
    const tools = [few, hold]
    const [one, two, three] = [await worker(tools), await worker(tools), await worker(tools)]
    run(one, 'y', 'few', 'other').catch(() => {}) // has the slot of the tool
    await settle()
    const second = run(two, 'second', 'few', 'k') // the key is free, the slot of the tool is not
    await settle()
    run(two, 'x', 'hold', 'k').catch(() => {}) // has the key
    await settle()
    const first = run(three, 'first', 'few', 'k') // queued for the key
    await settle()
    expect(bodies.began).toEqual(['y', 'x'])
    bodies.end('x')
    bodies.end('y')
    await clock.advance('2m')
    // No call runs and no slot is taken: one of the two must start.
    await expectBothEnd([first, second])
  })

  test('SCHED-4: a ticket of a call without a worker slot does not block calls on that worker', async () => {
    const hold = keyed('hold')
    const above = tool({
      name: 'above',
      description: 'Calls another',
      input,
      timeout: { attempt: '1d' },
      concurrency: 'parallel',
      async execute({ k }, ctx) {
        await bodies.run(ctx.callId)
        const [under] = await ctx.run([{ id: 'under', name: 'hold', input: { k } }])
        return under?.status ?? null
      },
    })
    const one = await worker([hold, above], { limits: { perWorker: 1 } })
    const two = await worker([hold, above])
    run(two, 'x', 'hold', 'k').catch(() => {})
    await settle()
    const waits = run(one, 'waits', 'hold', 'k') // queued for the key, without a slot on its worker
    await settle()
    const parent = run(one, 'parent', 'above', 'k') // has the only slot of the worker
    await settle()
    expect(bodies.began).toEqual(['x', 'parent'])
    bodies.end('x') // the key is now offered to 'waits', which has no worker slot …
    await settle()
    bodies.end('parent') // … and gets none, because the call under 'parent' is queued behind it
    await clock.advance('2m')
    await expectBothEnd([waits, parent])
  })

  test('SCHED-4: a key cycle over two workers is detected despite an older ticket', async () => {
    const hold = keyed('hold')
    const calls = (name: string, under: string, more: object): Tool =>
      tool({
        name,
        description: 'Calls another',
        input: z.object({ k: z.string(), then: z.string() }),
        timeout: { attempt: '1d' },
        concurrency: { key: ({ k }: { k: string }) => k },
        ...more,
        async execute({ then }: { then: string }, ctx: never) {
          const { callId, run: nested } = ctx as { callId: string; run(calls: unknown): Promise<{ status: string }[]> }
          await bodies.run(callId)
          const [end] = await nested([{ id: `under ${callId}`, name: under, input: { k: then, then: '' } }])
          return end
        },
      } as never)
    const inner = calls('inner', 'hold', { limits: { concurrent: 1 } })
    const outer = calls('outer', 'inner', {})
    const tools = [hold, inner, outer]
    const [one, two] = [await worker(tools), await worker(tools)]
    const ask = (runtime: Runtime, id: string, name: string, k: string, then: string) =>
      runtime
        .session(`session of ${id}`)
        .run([{ id, name, input: { k, then } }])
        .then(([outcome]) => outcome)
    run(two, 'x', 'hold', 'b').catch(() => {}) // has key b
    await settle()
    const p1 = ask(one, 'p1', 'outer', 'a', 'b') // has key a; will call inner with key b
    const p2 = ask(two, 'p2', 'inner', 'z', 'a') // has the slot of inner; will call hold with key a
    await settle()
    bodies.end('p1') // its inner call is queued for key b
    await settle()
    bodies.end('p2') // its hold call is queued for key a
    await settle()
    bodies.end('x') // the inner call of p1 now waits for the slot of p2, which waits for key a of p1
    await clock.advance('2m')
    for (const id of bodies.began) bodies.end(id)
    await clock.advance('2m')
    for (const id of bodies.began) bodies.end(id)
    expect(await after(Promise.all([p1, p2]), clock)).not.toBe('hangs')
  })

  test('SCHED-3: the queue for a key of another worker is bounded; further calls fail', async () => {
    const hold = keyed('hold')
    const [one, two] = [await worker([hold], { limits: { waiting: 2 } }), await worker([hold])]
    run(two, 'x', 'hold', 'k').catch(() => {})
    await settle()
    const ends: unknown[] = []
    for (let at = 0; at < 10; at++) {
      run(one, `${at}`, 'hold', 'k').then(
        (end) => ends.push(end),
        () => {},
      )
      await settle()
    }
    // Two calls may wait.
    expect(ends).toHaveLength(8)
  })
})
