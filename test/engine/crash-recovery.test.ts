// Recovery after a crash: calls that had not started start, settled calls return their outcome, and interrupted calls
// follow onCrash.

import { createRuntime, retry, type Tool, tool } from 'pawl'
import { type ManualClock, manualClock, memoryStore } from 'pawl/testing'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { Store } from '../../src/store/store.ts'
import { type Mortal, mortal, type StoreKind } from '../kit/stores/killable-store.ts'
import { argumentTool, hang, rerunTool, simpleTool } from '../kit/simple-tools.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'
import { mortalWorld } from '../kit/worker-takeover.ts'

const empty = z.object({})

describe.each(['memory', 'sqlite'] as const)('recovery on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const { open, start, takeOver } = mortalWorld(kind, (fresh) => void ({ clock, store, first } = fresh))

  test('DUR-1 DUR-3: a rerun tool replays its recorded steps and continues after them', async () => {
    const ran: string[] = []
    const define = (atSecond: () => unknown): Tool =>
      rerunTool('work', async (_, ctx) => {
        const one = await ctx.step('one', () => (ran.push('one'), { value: 1 }))
        await ctx.step('two', async () => (ran.push('two'), await atSecond()))
        return { one, attempt: ctx.attempt, uuid: ctx.uuid(), key: ctx.idempotencyKey }
      })
    const dying = await start([define(hang)], first.store)
    void dying.session('s').run([{ id: 'a', name: 'work' }])
    await clock.advance(0)
    expect(ran).toEqual(['one', 'two'])
    first.die()
    const runtime = await takeOver([define(() => 2)])
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'work' }])
    expect(ran).toEqual(['one', 'two', 'two'])
    expect(outcome).toMatchObject({ status: 'success', attempts: 2, value: { one: { value: 1 }, attempt: 2 } })
  })

  test('DUR-2 DUR-3: an interrupted stop tool ends as unknown and does not run again', async () => {
    let runs = 0
    const stop = tool({ name: 'stop', description: 'Once', input: empty, execute: () => (runs++, hang()) })
    const dying = await start([stop], first.store)
    void dying.session('s').run([{ id: 'a', name: 'stop' }])
    await clock.advance(0)
    first.die()
    const began = clock.now()
    const runtime = await takeOver([stop])
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'stop' }])
    expect(outcome).toMatchObject({
      status: 'unknown',
      attempts: 1,
      unknown: { startedAt: began, evidence: { attempt: 1 } },
    })
    expect(outcome?.parts).toEqual([
      { type: 'text', text: expect.stringMatching(/^\[Tool outcome unknown\]\nThe worker stopped/) },
    ])
    expect(runs).toBe(1)
  })

  test.for([
    ['its value', () => ({ value: 'found' }), { status: 'success', value: 'found' }],
    [
      'a failure',
      () => ({ failure: { message: 'It was declined', code: 'declined' } }),
      { status: 'failure', failure: { code: 'declined', source: 'tool' } },
    ],
    ['leave to rerun', () => ({ rerun: true }), { status: 'success', value: 'ran again' }],
    ['nothing', () => undefined, { status: 'unknown' }],
    ['an error', () => Promise.reject(new Error('lookup broke')), { status: 'unknown' }],
  ] as [string, () => unknown, object][])('DUR-3: reconcile returns %s', async ([, reconcile, expected]) => {
    let runs = 0
    const body = (): string | Promise<string> => (++runs === 1 ? hang() : 'ran again')
    const pay = argumentTool('pay', z.object({ cents: z.number() }), { reconcile: reconcile as never }, body)
    const dying = await start([pay], first.store)
    void dying.session('s').run([{ id: 'a', name: 'pay', input: { cents: 5 } }])
    await clock.advance(0)
    first.die()
    const runtime = await takeOver([pay])
    expect((await runtime.session('s').run([{ id: 'a', name: 'pay', input: { cents: 5 } }]))[0]).toMatchObject(expected)
  })

  test('DUR-4: an interrupted once step is unknown, and the body can catch that', async () => {
    let runs = 0
    const define = (name: string, catches: boolean): Tool =>
      rerunTool(name, { description: 'A step that must not repeat', concurrency: 'parallel' }, async (_, ctx) => {
        const step = ctx.step('charge', () => (runs++, hang()), { once: true })
        return catches ? await step.catch((error: { code: string }) => error.code) : await step
      })
    const tools = [define('bare', false), define('careful', true)]
    const calls = [
      { id: 'a', name: 'bare' },
      { id: 'b', name: 'careful' },
    ]
    const dying = await start(tools, first.store)
    void dying.session('s').run(calls)
    await clock.advance(0)
    first.die()
    const runtime = await takeOver(tools)
    const [bare, careful] = await runtime.session('s').run(calls)
    expect(bare).toMatchObject({ status: 'unknown', unknown: { evidence: { step: 'step:charge' } } })
    expect(careful).toMatchObject({ status: 'success', value: 'step_unknown' })
    expect(runs).toBe(2)
  })

  test('DUR-4: a recorded step with another input fails with replay_mismatch and does not run', async () => {
    const ran: string[] = []
    let difference: unknown
    const define = (cents: number, then: () => unknown): Tool =>
      rerunTool('work', async (_, ctx) => {
        await ctx
          .step('charge', { to: { account: 'A1' }, cents }, () => ran.push('charge'))
          .catch((error: { code: string; message: string }) => {
            difference = error
          })
        return then()
      })
    const dying = await start([define(1, hang)], first.store)
    void dying.session('s').run([{ id: 'a', name: 'work' }])
    await clock.advance(0)
    first.die()
    await takeOver([define(2, () => 'done')])
    expect(ran).toEqual(['charge'])
    expect(difference).toMatchObject({
      code: 'replay_mismatch',
      message: expect.stringContaining('input.cents was 1 on record and is 2 now'),
    })
  })

  test('DUR-5: a sleep continues with the remaining time; now, random and uuid replay', async () => {
    const seen: unknown[] = []
    let asleep = false
    const nap = rerunTool('nap', async (_, ctx) => {
      seen.push([await ctx.now(), ctx.random(), ctx.uuid(), ctx.idempotencyKey, ctx.key('x')])
      asleep = true
      await ctx.sleep('100s')
      return (await ctx.now()) - (seen[0] as [number])[0]
    })
    const dying = await start([nap], first.store)
    void dying.session('s').run([{ id: 'a', name: 'nap' }])
    await clock.advance(0)
    expect(asleep).toBe(true)
    first.die()
    const runtime = await takeOver([nap])
    const run = runtime.session('s').run([{ id: 'a', name: 'nap' }])
    await clock.advance('69s')
    expect((await run)[0]).toMatchObject({ value: 100_000 })
    expect(seen).toHaveLength(2)
    expect(seen[1]).toEqual(seen[0])
  })

  test('TIME-4: a retry whose worker dies during the delay still happens after the delay', async () => {
    const at: number[] = []
    const flaky = simpleTool(
      'flaky',
      { description: 'Works the second time; must not run twice otherwise' },
      (_, ctx) => {
        at.push(clock.now())
        if (ctx.attempt < 2) throw retry({ after: '25s' })
        return 'through'
      },
    )
    const dying = await start([flaky], first.store)
    void dying.session('s').run([{ id: 'a', name: 'flaky' }])
    await clock.advance(0)
    first.die()
    await clock.advance('1s')
    const runtime = await takeOver([flaky])
    expect((await runtime.session('s').run([{ id: 'a', name: 'flaky' }]))[0]).toMatchObject({
      value: 'through',
      attempts: 2,
    })
    expect((at[1] as number) - (at[0] as number)).toBeGreaterThanOrEqual(25_000)
  })

  test('CALL-7: a changed tool version upgrades arguments or fails; the stricter onCrash applies', async () => {
    const seen: unknown[] = []
    const define = (more: object, body: (input: unknown) => unknown): Tool =>
      tool({
        name: 'work',
        description: 'Works',
        input: z.object({ n: z.number() }),
        onCrash: 'rerun',
        execute: body,
        ...more,
      })
    const run = async (old: object, now: object) => {
      first = mortal(store)
      const id = `c${seen.length}-${clock.now()}`
      const dying = await start([define(old, hang)], first.store)
      void dying.session('s').run([{ id, name: 'work', input: { n: 1 } }])
      await clock.advance(0)
      first.die()
      const runtime = await takeOver([define(now, (input) => (seen.push(input), 'done'))])
      const [outcome] = await runtime.session('s').run([{ id, name: 'work', input: { n: 1 } }])
      await runtime.close()
      return outcome
    }
    expect(await run({ version: '1' }, { version: '1' })).toMatchObject({ value: 'done' })
    expect(await run({ version: '1' }, { version: '2' })).toMatchObject({ failure: { code: 'tool_changed' } })
    const upgrade = ({ args }: { args: unknown }): unknown => ({ n: (args as { n: number }).n + 10 })
    expect(await run({ version: '1' }, { version: '2', upgrade })).toMatchObject({ value: 'done' })
    expect(await run({ version: '1' }, { version: '2', upgrade: () => ({ n: 'ten' }) })).toMatchObject({
      failure: { code: 'tool_changed' },
    })
    expect(await run({ version: '1' }, { version: '2', upgrade: () => Promise.reject(new Error('no')) })).toMatchObject(
      {
        failure: { class: 'internal' },
      },
    )
    expect(await run({ onCrash: 'stop' }, { onCrash: 'rerun' })).toMatchObject({ status: 'unknown' })
    expect(await run({ onCrash: 'rerun' }, { onCrash: 'stop' })).toMatchObject({ status: 'unknown' })
    expect(seen).toEqual([{ n: 1 }, { n: 11 }])
  })

  test('CALL-7 POL-2: a worker that takes over an approved call does not ask for approval again', async () => {
    let runs = 0
    const define = (body: () => unknown): Tool =>
      tool({
        name: 'work',
        description: 'Works',
        input: z.object({ n: z.number() }),
        approval: 'always',
        onCrash: 'rerun',
        execute: body,
      })
    const call = [{ id: 'a', name: 'work', input: { n: 1 } }]
    first = mortal(store)
    const dying = await start([define(() => (runs++, hang()))], first.store)
    await dying.session('s').run(call, { until: 'waiting' })
    const [item] = await dying.inbox()
    await dying.decide(item?.id ?? '', { approve: true, edit: { n: 2 }, by: 'user:ada' })
    await clock.advance('1s')
    expect(runs).toBe(1)
    first.die()
    const seen: unknown[] = []
    const runtime = await takeOver([define((...[input]: unknown[]) => void seen.push(input))])
    expect(await runtime.session('s').run(call)).toMatchObject([{ status: 'success', attempts: 2 }])
    expect(seen).toEqual([{ n: 2 }])
    expect(await runtime.inbox()).toEqual([])
    await runtime.close()
  })

  test('WAIT-1 WAIT-2: a parked call keeps its key and deadline, and an early answer, over a crash', async () => {
    const keys: string[] = []
    const parks = rerunTool('parks', async (_, ctx) => {
      const later = await ctx.later({ deadline: '1h' })
      keys.push(later.key)
      await ctx.step('send', () => 1)
      return later
    })
    const dying = await start([parks], first.store)
    void dying.session('s').run([
      { id: 'a', name: 'parks' },
      { id: 'b', name: 'parks' },
    ])
    await clock.advance(0)
    first.die()
    const runtime = await takeOver([parks])
    const run = runtime.session('s').run([
      { id: 'a', name: 'parks' },
      { id: 'b', name: 'parks' },
    ])
    expect(await runtime.resolve(keys[0] as string, { value: false })).toEqual({ answer: 'accepted' })
    await clock.advance('1h')
    const [a, b] = await run
    expect(a).toMatchObject({ status: 'success', value: false })
    expect(b).toMatchObject({ status: 'failure', failure: { class: 'timeout', code: 'wait_timeout' } })
  })

  test('DUR-3: a retry that is recovered while the runtime opens may call other tools', async () => {
    const inner = tool({ name: 'inner', description: 'Called', input: empty, onCrash: 'rerun', execute: () => 'inner' })
    const outer = rerunTool(
      'outer',
      { description: 'Is tried again, then calls', retry: { attempts: 2 } },
      async (_, ctx) => {
        if (ctx.attempt === 1) throw retry({ after: '10s' })
        return (await ctx.call(inner, {})).status
      },
    )
    const dying = await start([outer, inner], first.store)
    void dying.session('s').run([{ id: 'a', name: 'outer' }])
    await clock.advance('1s')
    first.die()
    // The delay is over and the worker is dead, so the body begins while the runtime opens.
    await clock.advance('40s')
    const runtime = await takeOver([outer, inner])
    expect(await runtime.session('s').run([{ id: 'a', name: 'outer' }])).toMatchObject([
      { status: 'success', value: 'success', attempts: 2 },
    ])
  })

  test('DUR-7: a worker that lost its lease writes nothing and starts nothing', async () => {
    const ran: string[] = []
    let wake = (): void => {}
    const define = (who: string, atOne: () => unknown): Tool =>
      rerunTool('work', async (_, ctx) => {
        await ctx.step('one', async () => (ran.push(`${who} one`), await atOne()))
        await ctx.step('two', () => ran.push(`${who} two`))
        return who
      })
    // Renewals of the first worker hang from now on, as if its process were stopped; its store still works.
    let stopped = false
    const deaf: Store = {
      ...store,
      renew: (worker, ms) => (stopped ? new Promise<never>(() => {}) : store.renew(worker, ms)),
    }
    const zombie = await start([define('zombie', () => new Promise<void>((resolve) => (wake = resolve)))], deaf)
    const lost = zombie.session('s').run([{ id: 'a', name: 'work' }])
    await clock.advance(0)
    stopped = true
    const runtime = await takeOver([define('heir', () => null)])
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'work' }])
    expect(outcome).toMatchObject({ value: 'heir' })
    stopped = false
    wake()
    await clock.advance(0)
    expect(ran).toEqual(['zombie one', 'heir one', 'heir two'])
    expect((await lost)[0]).toEqual(outcome) // the caller at the old worker gets the recorded outcome
    open.push(zombie)
  })
})

test('DUR-3: a body that is recovered while the runtime opens may call other tools', async () => {
  const clock = manualClock()
  const inner = memoryStore({ clock })
  let ran = 0
  const leaf = tool({
    name: 'leaf',
    description: 'A leaf',
    input: { type: 'object' },
    hints: { readOnly: true },
    execute: () => ++ran,
  })
  const tree = rerunTool('tree', async (_, ctx) =>
    ctx.attempt === 1 ? new Promise(() => {}) : ctx.run([{ id: 'leaf', name: 'leaf', input: {} }]),
  )
  const doomed = mortal(inner)
  const options = { tools: [leaf, tree], clock, keys: { secret: 'x'.repeat(32) } }
  const first = await createRuntime({ store: doomed.store, ...options })
  ignoreResult(first.session('s').run([{ id: 't', name: 'tree', input: {} }]))
  await clock.advance(100)
  doomed.die()
  await clock.advance('2m')
  // The last read before the runtime is open takes as long as the body.
  let goOn = (): void => {}
  const gate = new Promise<void>((resolve) => (goOn = resolve))
  const slow: Store = { ...inner, dueWaits: async (now, limit) => (await gate, inner.dueWaits(now, limit)) }
  const opening = createRuntime({ store: slow, ...options })
  await vi.waitFor(() => expect(ran).toBe(1))
  goOn()
  const runtime = await opening
  expect(await runtime.session('s').run([{ id: 't', name: 'tree', input: {} }])).toMatchObject([
    { status: 'success', attempts: 2 },
  ])
  await runtime.close({ grace: 0 })
})
