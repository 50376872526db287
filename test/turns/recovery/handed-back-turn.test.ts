// A turn continues on another worker when its worker closes, loses its lease, or a store write fails. Its calls are not
// cancelled.

import { createRuntime, PawlError, type Runtime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach, stores } from '../../kit/open-runtime.ts'
import { rerunTool } from '../../kit/simple-tools.ts'
import { ignoreOutcome } from '../../kit/wait-until.ts'

const runtimes = closedAfterEach()
const passes = async (clock: ManualClock, seconds: number): Promise<void> => {
  for (let n = 0; n < seconds; n++) await clock.advance(1_000)
}
const toolsOf = () => [
  rerunTool('slow', { timeout: '10h' }, async (_, ctx) => {
    await ctx.sleep('5m')
    return 'slow is done'
  }),
]
const modelOf = () =>
  scriptedModel(
    [
      { when: /^Go$/, call: { name: 'slow', input: {}, id: 'c1' } },
      { when: /done/, say: 'It is done' },
      { when: /./, say: 'It is not' },
    ],
    {
      name: 'm',
    },
  )
const turn = { model: 'm', message: 'Go', id: 't' }

describe.each(stores)('a turn that continues on another worker, on %s', (_kind, fresh) => {
  const endsWell = async (clock: ManualClock, store: Store, runtime: Runtime): Promise<void> => {
    const { outcome } = runtime.session('s').turn(turn)
    await passes(clock, 600)
    const calls = await store.callsOf({ tenant: 'default', session: 's' }, { after: '', limit: 10 })
    const slow = JSON.parse(calls.find(({ tool: name }) => name === 'slow')?.outcome ?? 'null') as unknown
    expect({ slow, turn: await outcome }).toMatchObject({
      slow: { status: 'success', value: 'slow is done' },
      turn: { status: 'success', value: { text: 'It is done' } },
    })
  }

  test('SESS-1: control case without faults', async () => {
    const { clock, store } = fresh()
    const runtime = await createRuntime({ store, clock, tools: toolsOf(), models: [modelOf()], logger: quiet })
    runtimes.push(runtime)
    await endsWell(clock, store, runtime)
  })

  for (const grace of [0, '5s'] as const)
    test(`DUR-13 SESS-1: close() with grace ${grace} hands the turn back and its call continues`, async () => {
      const { clock, store } = fresh()
      const options = { clock, tools: toolsOf(), models: [modelOf()], logger: quiet }
      const first = await createRuntime({ ...options, store: { ...store, close: async () => {} } })
      ignoreOutcome(first.session('s').turn(turn))
      await passes(clock, 2)
      const closed = first.close({ grace })
      await passes(clock, 6)
      await closed
      const next = await createRuntime({ ...options, store })
      runtimes.push(next)
      await endsWell(clock, store, next)
    })

  test('DUR-7 SESS-1: a suspended worker that lost its lease does not cancel calls of the new one', async () => {
    const { clock, store } = fresh()
    let gate: Promise<void> | null = null
    const stopped = Object.fromEntries(
      Object.entries(store).map(([name, method]) => [
        name,
        typeof method !== 'function' || name === 'onHint' || name === 'keepAlive'
          ? method
          : name === 'write'
            ? (...args: never[]) => (gate ? void gate.then(() => method(...args)) : method(...args))
            : (...args: never[]) => (gate ? gate.then(() => method(...args)) : method(...args)),
      ]),
    ) as unknown as Store
    const options = { clock, tools: toolsOf(), models: [modelOf()], logger: quiet }
    const first = await createRuntime({ ...options, store: stopped })
    ignoreOutcome(first.session('s').turn(turn))
    await passes(clock, 2)
    let wake = (): void => {}
    gate = new Promise((resolve) => (wake = resolve))
    const next = await createRuntime({ ...options, store })
    runtimes.push(next, first)
    await passes(clock, 60) // its lease has expired, and the other worker has the turn and the call
    gate = null
    wake()
    await passes(clock, 5)
    await endsWell(clock, store, next)
  })

  test('CALL-2 SESS-1: a single failed store write of the turn does not affect its running call', async () => {
    const { clock, store } = fresh()
    let fails = ''
    const away: Store = {
      ...store,
      write(change, heard, how) {
        if (fails === '' || !change.guards.some((guard) => 'call' in guard && guard.call === fails))
          return store.write(change, heard, how)
        fails = ''
        queueMicrotask(() => heard({ failed: new PawlError('store_unavailable', 'Away once.') }))
      },
    }
    const runtime = await createRuntime({ store: away, clock, tools: toolsOf(), models: [modelOf()], logger: quiet })
    runtimes.push(runtime)
    const session = runtime.session('s')
    session.turn(turn).outcome.catch(() => {})
    await passes(clock, 2)
    const open = await store.unsettled({ after: '', limit: 10 })
    fails = open.find(({ tool: name }) => name.startsWith('pawl:turn'))?.uid ?? ''
    expect(fails).not.toBe('')
    // adopt() makes the turn flush its pending writes.
    await session.tasks.adopt('t', { batch: 'pawl:turn' }).catch(() => {})
    expect(fails).toBe('')
    await passes(clock, 5)
    await endsWell(clock, store, runtime)
  })
})
