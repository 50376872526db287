// A worker dies before each of its writes in turn while people edit, connect, answer and resolve; the result is the
// same as without a crash.

import { connectionRequired, type Runtime, tool, type ToolContext } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { bea, worldOn } from '../../kit/approval-workers.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'

const world = worldOn('memory')
const ada = { principal: 'user:ada' }
const call = { id: 'a', name: 'big', input: { cents: 100 } }

const pick = tool({
  name: 'pick',
  description: 'd',
  input: z.object({ k: z.string() }),
  output: z.object({ path: z.string() }),
  client: true,
})
const big = (onCrash: 'rerun' | 'stop', runs: unknown[]) =>
  tool({
    name: 'big',
    description: 'd',
    input: z.object({ cents: z.number() }),
    approval: 'always',
    onCrash,
    ...(onCrash === 'stop' ? { onUnknown: 'ask' as const } : {}),
    prepare: ({ cents }: { cents: number }) => ({ payload: { half: cents / 2 } }),
    async execute({ cents }: { cents: number }, ctx: ToolContext) {
      if (!(await ctx.connection('github'))) return connectionRequired('github')
      runs.push({ cents, prepared: ctx.prepared })
      const picked = await ctx.call(pick, { k: `${cents}` })
      const path = picked.status === 'success' ? (picked.value as { path: string }).path : picked.status
      if (onCrash === 'stop') return { cents, path }
      const { answer } = await (await ctx.ask({ text: 'Sure?', choices: ['yes', 'no'] })).value
      return { cents, path, answer }
    },
  } as never)

/** Answers every request from another process until the call has settled. */
async function people(door: Runtime, quorum: boolean, rounds = 60): Promise<void> {
  const session = door.session('s', ada)
  for (let round = 0; round < rounds; round++) {
    await world.clock.advance(round < 20 ? 200 : '5s')
    if ((await session.calls.get('a'))?.state === 'settled') return
    for (const item of await door.inbox()) {
      if (item.kind === 'approval') {
        const mine = (item.args as { cents: number }).cents === 7
        await (mine
          ? door.decide(item.id, { approve: true, by: quorum ? 'user:cem' : 'user:bea' })
          : door.decide(item.id, { edit: { cents: 7 }, ...bea }))
      }
      if (item.kind === 'connection')
        await door.connections.set({ provider: 'github' }, { token: 'a long token', ...bea })
      if (item.kind === 'question') await door.decide(item.id, { answer: 'yes', ...bea })
      if (item.kind === 'finding') await door.decide(item.id, { approve: true, ...bea })
    }
    for (const { callId, batch, input } of await session.pendingClientCalls())
      await session.answer(callId, { value: { path: `/${(input as { k: string }).k}` } }, { batch })
  }
}

describe.each([
  ['rerun', 1],
  ['rerun', 2],
  ['stop', 1],
] as const)('POL-4, DUR-3: onCrash %s, quorum %i', (onCrash, quorum) => {
  test('the call survives a crash before every write', async () => {
    const policy = { rules: [{ tool: 'big', then: 'ask' as const, quorum }] }
    const options = { policy, budgets: { session: { calls: 2 } } } as never
    const wrong: unknown[] = []
    let at = 1
    for (let died = true; died; at++) {
      died = false
      const runs: unknown[] = []
      const tools = [big(onCrash, runs) as never, pick]
      let writes = 0
      const { runtime, life } = await world.doomed(tools, options, () => ++writes === at && (died = true))
      ignoreResult(runtime.session('s', ada).run([call]))
      const door = await world.start(tools, { ...(options as object), worker: false })
      await people(door, quorum === 2, 20)
      life.die()
      if (!(await world.store.callAt({ tenant: 'default', session: 's', batch: '', id: 'a', occurrence: 0 }))) {
        await door.close()
        continue // the call was not recorded yet
      }
      const next = await world.takeOver(tools, options)
      await people(door, quorum === 2)
      const found = await door.session('s', ada).calls.get('a')
      const outcome = found?.outcome as { status: string; value?: unknown; note?: string } | undefined
      const value = { cents: 7, path: '/7', ...(onCrash === 'rerun' ? { answer: 'yes' } : {}) }
      const good = outcome?.status === 'success' && JSON.stringify(outcome.value) === JSON.stringify(value)
      const left = [
        ...(await world.store.documentsOf({ of: 'inbox', after: '', limit: 9 })),
        ...(await world.store.documentsOf({ of: 'client', after: '', limit: 9 })),
      ]
      const bad = runs.some((run) => JSON.stringify(run) !== '{"cents":7,"prepared":{"half":3.5}}')
      const [usage] = await world.store.documentsOf({ of: 'usage', after: '', limit: 9 })
      const used = usage && (JSON.parse(usage.value) as { calls?: number }).calls
      if (!good || left.length > 0 || bad || used !== 2)
        wrong.push({ at, state: found?.state, outcome, left: left.length, runs, usage: usage?.value })
      await next.erase({ session: 's' }).catch((error: unknown) => wrong.push({ at, error: String(error) }))
      await next.connections.remove({ provider: 'github' })
      await Promise.all([next.close({ grace: 0 }), door.close()])
    }
    expect(at).toBeGreaterThan(8)
    expect(wrong).toEqual([])
  }, 60_000)
})

describe.each(['rerun', 'stop'] as const)('TIME-3, POL-6: onCrash %s', (onCrash) => {
  test.each(['cancel', 'supersede', 'die and cancel'] as const)(
    '%s at every write leaves nothing open',
    async (how) => {
      const options = { budgets: { session: { calls: 2 } } } as never
      const wrong: unknown[] = []
      let at = 1
      for (let done = true; done; at++) {
        done = false
        const runs: unknown[] = []
        const tools = [big(onCrash, runs) as never, pick]
        const door = await world.start(tools, { ...(options as object), worker: false })
        let writes = 0
        let stopping: Promise<unknown> = Promise.resolve()
        const stop = (): false => {
          done = true
          const session = door.session('s', ada)
          if (how === 'die and cancel') life.die()
          stopping = how === 'supersede' ? session.supersede('no') : session.cancel('no')
          return false
        }
        const { runtime, life } = await world.doomed(tools, options, () => ++writes === at && stop())
        ignoreResult(runtime.session('s', ada).run([call]))
        await people(door, false, 40)
        await stopping
        await people(door, false, 40)
        life.die()
        const next = await world.takeOver(tools, options)
        await people(door, false, 60)
        const record = await door.session('s', ada).calls.get('a')
        const left = [
          ...(await world.store.documentsOf({ of: 'inbox', after: '', limit: 9 })),
          ...(await world.store.documentsOf({ of: 'client', after: '', limit: 9 })),
        ]
        const open = await world.store.unsettled({ after: '', limit: 9 })
        if (left.length > 0 || open.length > 0 || (record && record.state !== 'settled'))
          wrong.push({ at, record, left, open: open.map(({ tool: of, state }) => [of, state]) })
        await next.erase({ session: 's' }).catch((error: unknown) => wrong.push({ at, error: String(error) }))
        await next.connections.remove({ provider: 'github' })
        await Promise.all([next.close({ grace: 0 }), door.close()])
      }
      expect(at).toBeGreaterThan(8)
      expect(wrong).toEqual([])
    },
    60_000,
  )
})
