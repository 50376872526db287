// The definition of a remote tool changes, or its provider is unreachable, while a call waits for a decision.

import { describe, expect, test } from 'vitest'
import { ignoreResult } from '../kit/interrupted-calls.ts'
import { changed, Changing, mail } from '../kit/changing-provider.ts'
import { ada, bea, hang, worldOn } from '../kit/approval-workers.ts'

describe.each(['memory', 'sqlite'] as const)('remote definitions on %s', (kind) => {
  const world = worldOn(kind)
  const calls = [{ id: 'x', name: 'mail', input: {} }]
  const allow = { policy: { rules: [{ tool: '*', then: 'allow' as const }] } }

  test('POL-3, POL-9: a denial reaches the model even if the tool definition has changed', async () => {
    const source = new Changing([mail()])
    const runtime = await world.start([], { providers: [source] })
    const session = runtime.session('s', ada)
    await session.loadTools()
    const run = session.run(calls)
    const { id } = await world.item(runtime)
    await source.become(world.clock, mail(changed))
    expect(await runtime.decide(id, { deny: true, reason: 'Write a letter', ...bea })).toMatchObject({
      answer: 'accepted',
    })
    await world.clock.advance('1s')
    expect(await run).toMatchObject([{ failure: { code: 'denied_by_person' } }])
  })

  test('POL-3, POL-9: a denial applies on another worker while the provider is unreachable', async () => {
    const first = await world.start([], { providers: [new Changing([mail()])] })
    await first.session('s', ada).loadTools()
    await first.session('s', ada).run(calls, { until: 'waiting' })
    const { id } = await world.item(first)
    await first.close()
    const source = new Changing([mail()])
    source.resolves = () => Promise.reject(new Error('away'))
    const second = await world.start([], { providers: [source] })
    await world.clock.advance('1s')
    expect(await second.decide(id, { deny: true, reason: 'Write a letter', ...bea })).toMatchObject({
      answer: 'accepted',
    })
    await world.clock.advance('1m')
    expect((await second.session('s').calls.get('x'))?.outcome).toMatchObject({ failure: { code: 'denied_by_person' } })
  })

  test('DUR-3, POL-9: a denied rerun leaves the outcome unknown even if the tool has changed', async () => {
    const asks = { onUnknown: 'ask' as const }
    const { runtime, life } = await world.doomed([], {
      ...allow,
      providers: [new Changing([mail({ ...asks, execute: hang })])],
    })
    const first = runtime.session('s', ada)
    await first.loadTools()
    ignoreResult(first.run(calls))
    await world.clock.advance('1s')
    life.die()
    const source = new Changing([mail({ ...asks, execute: () => 'again' })])
    const second = await world.takeOver([], { ...allow, providers: [source] })
    const { id } = await world.item(second)
    await source.become(world.clock, mail({ ...changed, ...asks }))
    await second.decide(id, { deny: true, reason: 'No trace of it', ...bea })
    await world.clock.advance('1s')
    expect((await second.session('s').calls.get('x'))?.outcome).toMatchObject({ status: 'unknown' })
  })

  test('POL-2, POL-9: an approval given for the old definition does not run the newly accepted one', async () => {
    const ran: string[] = []
    const source = new Changing([mail({ execute: () => ran.push('old') })])
    const runtime = await world.start([], { providers: [source] })
    const session = runtime.session('s', ada)
    await session.loadTools()
    ignoreResult(session.run(calls))
    const { id } = await world.item(runtime)
    await source.become(world.clock, mail({ ...changed, execute: () => ran.push('new') }))
    await runtime.session('other').loadTools()
    const [listed] = await runtime.quarantine.list()
    await runtime.quarantine.accept({
      provider: 'post',
      tool: listed?.tool ?? '',
      fingerprint: listed?.now ?? '',
      by: 'user:ops',
    })
    await runtime.decide(id, { approve: true, ...bea })
    await world.clock.advance('1s')
    expect(ran).toEqual([])
    expect(await runtime.inbox()).toMatchObject([{ kind: 'approval', tool: 'mail' }])
  })
})

describe('approval option of a remote tool', () => {
  const world = worldOn('memory')
  test.each([
    ['never', 'never' as const],
    ['a function that says no', () => false],
  ])('TOOL-2, POL-1: an untrusted provider cannot waive approval (%s)', async (_, approval) => {
    const runtime = await world.start([], { providers: [new Changing([mail({ approval })])] })
    const session = runtime.session('s', ada)
    await session.loadTools()
    const [outcome] = await session.run([{ id: 'x', name: 'mail', input: {} }], { until: 'waiting' })
    expect(outcome).toMatchObject({ status: 'waiting', for: 'approval' })
  })
})
