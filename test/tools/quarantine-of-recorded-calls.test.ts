// Recorded calls whose tool definition changes before they run, while they wait, or between attempts.

import { retry, type Runtime, tool, type ToolContext } from 'pawl'
import type { ManualClock, Store } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { changed, Changing, mail, type More, quarantined, schema } from '../kit/changing-provider.ts'
import { providerWorkers } from '../kit/provider-workers.ts'
import type { Mortal } from '../kit/stores/killable-store.ts'

describe.each(['memory', 'sqlite'] as const)('quarantine of recorded calls on %s', (kind) => {
  let clock: ManualClock
  let store: Store
  let killable: Mortal
  const started = providerWorkers(kind, (fresh) => void ({ clock, store, first: killable } = fresh))
  const calls = [{ id: 'x', name: 'mail', input: {} }]
  const acceptAll = async (runtime: Runtime): Promise<void> => {
    for (const { provider, tool: id, now } of await runtime.quarantine.list())
      await runtime.quarantine.accept({ provider, tool: id, fingerprint: now, by: 'ada' })
  }

  test('POL-9 CALL-7: a call recorded before the change and claimed after it does not run', async () => {
    const asking = await started(new Changing([mail()]), { worker: false })
    expect(await asking.session('s').loadTools()).toHaveLength(1)
    const run = asking.session('s').run(calls)
    await clock.advance('1s')
    let ran = false
    await started(new Changing([mail({ ...changed, execute: () => (ran = true) })]))
    await clock.advance('1m')
    expect(await run).toMatchObject([quarantined])
    expect(ran).toBe(false)
  })

  test('POL-9 CALL-7: a call whose body had started waits until the change is accepted', async () => {
    const hang: More = { onCrash: 'rerun', execute: () => new Promise(() => {}) }
    const dying = await started(new Changing([mail(hang)]), {}, killable.store)
    void dying.session('s').run(calls)
    await clock.advance('1s')
    killable.die()
    const ran: string[] = []
    const runtime = await started(
      new Changing([mail({ ...changed, onCrash: 'rerun', execute: () => ran.push('changed') })]),
    )
    await clock.advance('1m')
    const run = runtime.session('s').run(calls)
    await clock.advance('1m')
    expect(ran).toEqual([])
    expect(await runtime.session('s').calls.get('x')).toMatchObject({ state: 'running' })
    expect(await runtime.quarantine.list()).toHaveLength(1)
    await acceptAll(runtime)
    await clock.advance('10s')
    expect(await run).toMatchObject([{ value: 1, attempts: 2 }])
  })

  test('POL-9 WAIT-6: a parked call resolves with its old definition; after a restart it waits', async () => {
    const keys: string[] = []
    const parks = async (_input: unknown, ctx: ToolContext): Promise<unknown> => {
      const later = await ctx.later()
      keys.push(later.key)
      return later
    }
    const fake = new Changing([mail({ execute: parks })])
    const runtime = await started(fake)
    const run = runtime.session('s').run(calls)
    await clock.advance('1s')
    await runtime.session('s').run([{ id: 'y', name: 'mail', input: {} }], { until: 'waiting' })
    await fake.become(clock, mail({ ...changed, execute: parks }))
    expect(await runtime.resolve(keys[0] as string, { value: 'answered' })).toMatchObject({ answer: 'accepted' })
    await clock.advance('1s')
    expect(await run).toMatchObject([{ value: 'answered' }])
    await runtime.close({ grace: 0 })
    const next = await started(fake)
    expect(await next.resolve(keys[1] as string, { value: 'late' })).toMatchObject({ answer: 'accepted' })
    await clock.advance('1m')
    expect(await next.session('s').calls.get('y')).toMatchObject({ state: 'queued' })
    expect(await next.quarantine.list()).toHaveLength(1)
    await acceptAll(next)
    await clock.advance('1m')
    expect(await next.session('s').run([{ id: 'y', name: 'mail', input: {} }])).toMatchObject([{ value: 'late' }])
    expect(keys).toHaveLength(2)
  })

  test('POL-9 SCHED-3: a call waiting for a semaphore slot does not run after a change', async () => {
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => (release = resolve))
    const ran: string[] = []
    const one: More = { limits: { concurrent: 1 } }
    const first = await started(new Changing([mail({ ...one, execute: () => (ran.push('first'), gate) })]))
    const running = first.session('s').run(calls)
    await clock.advance('1s')
    const fake = new Changing([mail({ ...one, execute: () => ran.push('second') })])
    const waiting = (await started(fake)).session('t').run(calls)
    await clock.advance('1s')
    expect((await store.holds()).filter(({ ticket }) => ticket !== null)).toHaveLength(1)
    await fake.become(clock, mail({ ...one, ...changed, execute: () => ran.push('changed') }))
    release()
    await clock.advance('1m')
    expect(await running).toMatchObject([{ status: 'success' }])
    expect(await waiting).toMatchObject([quarantined])
    expect(ran).toEqual(['first'])
    expect(await store.holds()).toEqual([])
  })

  test('POL-9 TIME-4: a change between two attempts ends the call and mentions the attempt', async () => {
    let ran = 0
    const flaky: More = {
      retry: { attempts: 3, base: '1m' },
      execute: () => {
        ran++
        throw retry({ after: '1m' })
      },
    }
    const fake = new Changing([mail(flaky)])
    const runtime = await started(fake)
    const run = runtime.session('s').run(calls)
    await clock.advance('1s')
    await fake.become(clock, mail({ ...flaky, ...changed }))
    await clock.advance('2m')
    expect(await run).toMatchObject([quarantined])
    expect(await run).toMatchObject([
      { failure: { message: expect.stringContaining('It was not run again: what it did before is not undone.') } },
    ])
    expect(ran).toBe(1)
  })

  test('POL-9 TIME-3: a call cancelled during its last definition check does not run', async () => {
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => (release = resolve))
    const slow = tool({ name: 'slow', description: 'Slow', input: schema, execute: () => gate })
    let ran = 0
    const counted: More = { execute: () => ++ran }
    const fake = new Changing([mail(counted)])
    const runtime = await started(fake, { tools: [slow] })
    await runtime.session('s').loadTools()
    const both = (session: string) => runtime.session(session).run([{ id: 'a', name: 'slow', input: {} }, ...calls])
    const waiting = both('waiting')
    await clock.advance('1s')
    fake.resolves = () => new Promise(() => {})
    await fake.become(clock, mail(counted))
    release()
    await clock.advance('1s')
    await runtime.session('waiting').cancel('No longer wanted')
    expect(await waiting).toMatchObject([{ status: 'success' }, { status: 'cancelled' }])
    expect(ran).toBe(0)
    fake.resolves = undefined
    await clock.advance('1m')
    await runtime.session('s').loadTools()
    const blocked = new Promise<void>((resolve) => (release = resolve))
    runtime.tools.add(tool({ name: 'slower', description: 'Slow', input: schema, execute: () => blocked }))
    const going = runtime.session('going').run([{ id: 'a', name: 'slower', input: {} }, ...calls])
    await clock.advance('1s')
    fake.listed = () => {
      throw new Error('away')
    }
    await fake.become(clock, mail(counted))
    release()
    expect(await going).toMatchObject([{ status: 'success' }, { value: 1 }])
  })
})
