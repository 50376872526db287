// Several workers: cancels after a takeover, deadlocks on a busy store, and answers that kill their worker.

import { createRuntime, type Runtime, type Tool, tool } from 'pawl'
import { type ManualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { mortal, type StoreKind } from '../kit/stores/killable-store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { fleetOn } from '../kit/worker-fleet.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'

const input = { type: 'object' } as const
const plain = (name: string, execute: (given: never, ctx: never) => unknown, more: object = {}): Tool =>
  tool({ name, description: name, input, timeout: { attempt: '1d' }, ...more, execute } as never)

describe.each(['memory', 'sqlite'] as const)('takeover, deadlock and poison on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  const { start, settle } = fleetOn(kind, (has) => ({ clock, store } = has))

  test('TIME-3: cancelling a session also cancels calls that this worker took over', async () => {
    const slow = plain('slow', () => new Promise(() => {}), { onCrash: 'rerun' })
    const own = mortal(store)
    const dies = await createRuntime({ store: own.store, tools: [slow], clock, logger: quiet })
    ignoreResult(dies.session('s').run([{ id: 'a', name: 'slow' }]))
    await settle()
    own.die()
    await clock.advance('31s')
    const lives = await start([slow])
    await settle()
    expect((await lives.session('s').calls.get('a'))?.state).toBe('running')
    expect(await lives.session('s').cancel('no more')).toBe(1)
    await settle()
    expect((await lives.session('s').calls.get('a'))?.outcome).toMatchObject({ status: 'cancelled' })
  })

  test('SCHED-4: a deadlock over two workers is detected while the store is busy', async () => {
    const inner = plain('inner', () => null, { concurrency: { key: ({ k }: { k: string }) => k } })
    let begin = (): void => {}
    const gate = new Promise<void>((resolve) => (begin = resolve))
    const outer = plain(
      'outer',
      async ({ then }: { then: string }, ctx) => {
        await gate
        await (ctx as { run(calls: unknown): Promise<unknown> }).run([{ id: 'n', name: 'inner', input: { k: then } }])
      },
      { concurrency: { key: ({ k }: { k: string }) => k } },
    )
    /** Reads take 5 ms, and another writer commits every 2 ms. */
    const busy: Store = {
      ...store,
      full: (takes) =>
        new Promise(
          (resolve, reject) => void clock.timer(5, () => void Promise.resolve(store.full(takes)).then(resolve, reject)),
        ),
      onHint: (listener) => {
        const callOff = clock.every(2, () => listener({ wakes: false, outside: false }))
        const stop = store.onHint(listener)
        return () => (callOff(), stop())
      },
    }
    const [one, two] = [await start([inner, outer], { store: busy }), await start([inner, outer], { store: busy })]
    const ask = (runtime: Runtime, id: string, k: string, then: string) =>
      runtime.session(id).run([{ id, name: 'outer', input: { k, then } }])
    const both = Promise.all([ask(one, 'p1', 'a', 'b'), ask(two, 'p2', 'b', 'a')])
    both.catch(() => {})
    await settle()
    begin()
    expect(await after(both, clock, 30_000, 1_000)).not.toBe('hangs')
  })

  test('DUR-8: an answer that kills the worker processing it does so at most three times', async () => {
    let runs = 0
    let die = (): void => {}
    let key = ''
    const hooks = [{ name: 'looks', after: () => (runs++, die(), new Promise<never>(() => {})) }]
    const parks = plain(
      'parks',
      async (_, ctx) => {
        const later = await (ctx as { later(): Promise<{ key: string }> }).later()
        key = later.key
        return later
      },
      { onCrash: 'rerun' },
    )
    const asks = await start([parks], { worker: false })
    const first = mortal(store)
    const parker = await createRuntime({ store: first.store, tools: [parks], clock, logger: quiet })
    ignoreResult(parker.session('s').run([{ id: 'a', name: 'parks' }]))
    await settle()
    first.die()
    await clock.advance('31s')
    expect(await asks.resolve(key, { value: 1 })).toEqual({ answer: 'accepted' })
    for (let worker = 0; worker < 8; worker++) {
      const own = mortal(store)
      die = () => void clock.timer(100, () => own.die())
      createRuntime({ store: own.store, tools: [parks], hooks, clock, logger: quiet }).catch(() => {})
      await clock.advance('3m')
      await clock.advance('31s')
    }
    expect(runs).toBe(3)
  })
})
