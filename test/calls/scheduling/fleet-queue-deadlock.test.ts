// Places across workers, looked at by somebody who wants them to fail: calls in line that wait for each other's tickets.

import { createRuntime, type Runtime, type RuntimeOptions, type Tool, tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '../../../src/store/store.ts'
import { type StoreKind, storeOf } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'

const input = z.object({ k: z.string() })

/** Bodies that run until they are told to go on, by the id of their call. */
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

describe.each(['memory', 'sqlite'] as const)('places on %s', (kind: StoreKind) => {
  let dir: string
  let clock: ManualClock
  let store: Store
  let bodies: Bodies
  const open: Runtime[] = []
  beforeEach(() => {
    clock = manualClock()
    bodies = new Bodies()
    dir = mkdtempSync(join(tmpdir(), 'pawl-adv-'))
    store = storeOf(kind, join(dir, 'agent.db'), clock)
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((runtime) => runtime.close({ grace: 0 })))
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  })
  const worker = async (tools: readonly Tool[], options: Partial<RuntimeOptions> = {}): Promise<Runtime> => {
    const runtime = await createRuntime({ store, tools, clock, logger: quiet, ...options })
    open.push(runtime)
    return runtime
  }
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

  test('SCHED-3: two calls in line for a key and for the limit of their tool do not wait for each other’s tickets for ever', async () => {
    const few = keyed('few', { limits: { concurrent: 1 } })
    const hold = keyed('hold')
    const tools = [few, hold]
    const [one, two, three] = [await worker(tools), await worker(tools), await worker(tools)]
    run(one, 'y', 'few', 'other').catch(() => {}) // has the place of the tool
    await settle()
    const second = run(two, 'second', 'few', 'k') // the key is free, the place of the tool is not
    await settle()
    run(two, 'x', 'hold', 'k').catch(() => {}) // has the key
    await settle()
    const first = run(three, 'first', 'few', 'k') // stands in line for the key
    await settle()
    expect(bodies.began).toEqual(['y', 'x'])
    bodies.end('x')
    bodies.end('y')
    await clock.advance('2m')
    // Nobody runs and nobody has anything: one of them must.
    expect(bodies.began).toHaveLength(3)
    bodies.end(bodies.began[2] as string)
    await settle()
    bodies.end(bodies.began[3] as string)
    expect(await after(Promise.all([first, second]), clock)).not.toBe('hangs')
  })

  test('SCHED-4: who has a ticket in the fleet and waits for a place on its worker does not block what runs there', async () => {
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
    const waits = run(one, 'waits', 'hold', 'k') // in line for the key, without a place on its worker
    await settle()
    const parent = run(one, 'parent', 'above', 'k') // has the one place of the worker
    await settle()
    expect(bodies.began).toEqual(['x', 'parent'])
    bodies.end('x') // now it is the turn of 'waits', which has no place on its worker …
    await settle()
    bodies.end('parent') // … and never gets one, as the call under 'parent' stands in line behind it
    await clock.advance('2m')
    expect(bodies.began).toHaveLength(3)
    bodies.end(bodies.began[2] as string)
    await settle()
    bodies.end(bodies.began[3] as string)
    expect(await after(Promise.all([waits, parent]), clock)).not.toBe('hangs')
  })

  test('SCHED-4: a circle of keys over two workers is found although a call in it has an older ticket elsewhere', async () => {
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
    const p2 = ask(two, 'p2', 'inner', 'z', 'a') // has the place of inner; will call hold with key a
    await settle()
    bodies.end('p1') // its inner stands in line for key b
    await settle()
    bodies.end('p2') // its hold stands in line for key a
    await settle()
    bodies.end('x') // now the inner of p1 waits for the place of p2, which waits for key a of p1
    await clock.advance('2m')
    for (const id of bodies.began) bodies.end(id)
    await clock.advance('2m')
    for (const id of bodies.began) bodies.end(id)
    expect(await after(Promise.all([p1, p2]), clock)).not.toBe('hangs')
  })

  test('SCHED-3: the line for a key that another worker has is bounded too: overloaded beyond', async () => {
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
    // Two may wait.
    expect(ends).toHaveLength(8)
  })
})
