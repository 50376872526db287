// runtime.health() as a deploy check: a runtime with `worker: false` and the tools, models and frames of the next
// deploy lists the open calls and turns that they cannot continue, before any worker claims them.

import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type HealthIssue, result, type Runtime, type RuntimeOptions, type Tool, tool, type ToolDefinition } from 'pawl'
import { type ManualClock, scriptedModel } from 'pawl/testing'
import type { Store } from '../../src/store/store.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'
import { bea } from '../kit/refund-workers.ts'
import { hang, rerunTask, rerunTool, simpleTool } from '../kit/simple-tools.ts'
import { mortal, type Mortal, type StoreKind } from '../kit/stores/killable-store.ts'
import { ignoreOutcome } from '../kit/wait-until.ts'
import { mortalWorld } from '../kit/worker-takeover.ts'

/** The timeout is a safety net for a loaded machine. */
const until = <T>(holds: () => T | Promise<T>) => vi.waitUntil(holds, { interval: 5, timeout: 15_000 })

type Fields = Partial<ToolDefinition<z.ZodType, unknown>>
const work = (name: string, input: z.ZodType, fields: Fields = {}): Tool =>
  tool({ name, description: 'Works', input, approval: 'always', execute: () => null, ...fields })
const text = z.object({ text: z.string() })
const number = z.object({ text: z.number() })
const input = { text: 'abc' }

describe.each<StoreKind>(['memory', 'sqlite'])('the deploy check on %s', (kind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const { start } = mortalWorld(kind, (fresh) => void ({ clock, store, first } = fresh))

  /** Runs calls until they wait, and loses their worker. */
  const leaveOpen = async (
    tools: readonly Tool[],
    calls: readonly { id: string; name: string }[],
    options: Partial<RuntimeOptions> = {},
    settle: (old: Runtime) => Promise<unknown> = async () => {},
  ): Promise<void> => {
    const old = await start(tools, first.store, options)
    ignoreResult(old.session('s').run(calls.map((call) => ({ ...call, input }))))
    await until(async () => {
      await clock.advance(10)
      const open = await store.unsettled({ after: '', limit: 500 })
      return open.length >= calls.length && open.every(({ state }) => state === 'parked' || state === 'running')
    })
    await settle(old)
    first.die()
    await clock.advance('31s')
  }
  const check = (tools: readonly Tool[], options: Partial<RuntimeOptions> = {}, on: Store = store): Promise<Runtime> =>
    start(tools, on, { worker: false, ...options })
  const listed = async (runtime: Runtime): Promise<(string | undefined)[][]> =>
    (await runtime.health()).findings.map(({ kind: what, call }) => [what, call?.id])

  test('DUR-15: health() lists open calls that the tools of this worker cannot continue', async () => {
    const body = { execute: hang, approval: 'never' as const, concurrency: 'parallel' as const }
    const names = ['gone', 'misfit', 'fits', 'same', 'newer', 'upgraded']
    const running = work('lost', text, { ...body, onCrash: 'rerun' })
    await leaveOpen(
      [...names.map((name) => work(name, text)), running],
      [...names, 'lost'].map((name) => ({ id: name, name })),
    )
    const upgrade = ({ args }: { args: unknown }): unknown => args
    const next = await check([
      work('misfit', number),
      work('fits', z.object({ text: z.string().min(2) })),
      work('same', text, { description: 'Works well' }),
      work('newer', text, { version: '2' }),
      work('upgraded', text, { version: '2', upgrade }),
      work('lost', number, body),
    ])
    const { findings } = await next.health()
    const of = (id: string): HealthIssue[] => findings.filter(({ call }) => call?.id === id)
    expect(of('gone')).toMatchObject([
      {
        kind: 'no_tool',
        says: expect.stringMatching(/^Call 'gone' of gone in session 's' is parked, and its tool is/),
      },
    ])
    expect(of('misfit')).toMatchObject([
      {
        kind: 'tool_changed',
        says: expect.stringMatching(/does not accept its arguments\. Deploy a schema that accepts them, or a new/),
        call: { tenant: 'default', session: 's', id: 'misfit', tool: 'misfit' },
      },
    ])
    expect(of('newer')).toMatchObject([
      { kind: 'tool_changed', says: expect.stringMatching(/version none, its tool is at 2 and has no `upgrade`/) },
    ])
    expect(of('lost')).toMatchObject([
      { kind: 'tool_changed', says: expect.stringMatching(/is running and the worker that had it is gone, and/) },
    ])
    expect(findings).toHaveLength(4)
    // The check has claimed and changed nothing: a worker of the earlier deploy continues all of them.
    const states = (await store.unsettled({ after: '', limit: 50 })).map(({ state }) => state)
    expect(states.filter((state) => state === 'parked')).toHaveLength(6)
    const earlier = await check([...names.map((name) => work(name, text)), running])
    expect(await listed(earlier)).toEqual([['unclaimed', 'lost']])
  })

  test('DUR-15: health() checks arguments as a hook, prepare or a person changed them', async () => {
    const hook = {
      name: 'h',
      before: ({ tool: name }: { tool: string }) => (name === 'hooked' ? { replace: { text: 5 } } : undefined),
    }
    const both = z.object({ text: z.union([z.string(), z.number()]) })
    const prepare = () => ({ input: { text: 5 } })
    const made = (after: z.ZodType): Tool[] => [
      work('hooked', after),
      work('prepared', after, { prepare }),
      work('edited', after, { execute: (_, ctx) => ctx.sleep('1h'), onCrash: 'rerun' }),
      work('verbatim', after),
    ]
    const names = ['hooked', 'prepared', 'edited', 'verbatim']
    await leaveOpen(
      made(both),
      names.map((name) => ({ id: name, name })),
      { hooks: [hook] },
      async (old) => {
        const item = (await old.inbox()).find(({ tool: name }) => name === 'edited')
        await old.decide(item?.id ?? '', { edit: { text: 5 }, ...bea })
        await until(async () => {
          await clock.advance(10)
          return (await store.unsettled({ after: '', limit: 9 })).some(({ state }) => state === 'running')
        })
      },
    )
    expect(await listed(await check(made(text)))).toEqual([
      ['tool_changed', 'hooked'],
      ['tool_changed', 'prepared'],
      ['tool_changed', 'edited'],
    ])
    expect(await listed(await check(made(number)))).toEqual([
      ['unclaimed', 'edited'],
      ['tool_changed', 'verbatim'],
    ])
  })

  test('DUR-15: health() does not list a call that waits for an answer, or a changed task only', async () => {
    const waits = rerunTool('waits', (_, ctx) => ctx.later())
    const old = await start([waits, rerunTask('task', hang)], first.store)
    await old.session('s').run([{ id: 'w', name: 'waits' }], { until: 'waiting' })
    await old.session('s').tasks.start({ id: 't', tool: 'task' })
    await until(async () => (await clock.advance(10), (await listed(old)).length === 0))
    first.die()
    await clock.advance('31s')
    const next = await check([work('waits', number), rerunTool('task', hang)])
    expect((await next.health()).findings).toMatchObject([
      { kind: 'tool_changed', says: expect.stringMatching(/can no longer run in the background\. Set `background`/) },
    ])
  })

  test('DUR-15: health() lists open turns whose model or frame is not registered here', async () => {
    const hand = simpleTool('hand', () => result('ok', { control: { switchFrame: { frame: 'desk', task: 'Go on' } } }))
    const slow = rerunTool('slow', (_, ctx) => ctx.sleep('1h'))
    const small = () => scriptedModel([{ call: { name: 'hand', input: {} } }], { name: 'small' })
    const large = () => scriptedModel([{ call: { name: 'slow', input: {} } }], { name: 'large' })
    const frames = [{ name: 'desk', model: 'large' }]
    const old = await start([hand, slow], first.store, { models: [small(), large()], frames })
    ignoreOutcome(old.session('s').turn({ id: 't', model: 'small', message: 'Go' }))
    await until(async () => {
      await clock.advance(10)
      return (await store.unsettled({ after: '', limit: 9 })).some(({ tool: name }) => name === 'slow')
    })
    first.die()
    await clock.advance('31s')
    const turnIssues = async (options: Partial<RuntimeOptions>): Promise<unknown[]> =>
      (await (await check([hand, slow], options)).health()).findings
        .filter(({ call }) => call?.id === 't')
        .map(({ kind: what, says }) => [what, says])
    expect(await turnIssues({ models: [large()], frames })).toEqual([
      ['no_model', expect.stringMatching(/its model 'small' is not registered here\. Add it to createRuntime\(\{ mod/)],
    ])
    expect(await turnIssues({ models: [small(), large()] })).toEqual([
      ['no_frame', expect.stringMatching(/works in the frame 'desk', which is not registered here\. Add it to/)],
    ])
    expect(await turnIssues({ models: [small()], frames })).toEqual([
      ['no_model', expect.stringMatching(/its model 'large' is not registered here/)],
    ])
    expect(await turnIssues({ models: [small(), large()], frames })).toEqual([['unclaimed', expect.anything()]])
  })

  test('DUR-15: health() lists 100 issues, counts the rest, and reads records only after a change', async () => {
    const calls = Array.from({ length: 130 }, (_, n) => ({ id: `c${n}`, name: 'work' }))
    await leaveOpen([work('work', text)], calls)
    let reads = 0
    const counted = (): Store => ({
      ...mortal(store).store,
      call: (uid) => (reads++, store.call(uid)),
      steps: (uid) => (reads++, store.steps(uid)),
    })
    const same = await check([work('work', text)], {}, counted())
    expect(await same.health()).toMatchObject({ findings: [], unlisted: 0, more: false, open: { parked: 130 } })
    expect(reads).toBe(0)
    await same.close()
    const next = await check([work('work', number)], {}, counted())
    const { findings, unlisted } = await next.health()
    expect([findings.length, unlisted]).toEqual([100, 30])
    expect(reads).toBe(260)
    await next.close()
  })
})
