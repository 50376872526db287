// runtime.inbox({ id }): one item, by one wait and one document.

import { manualClock, memoryStore } from 'pawl/testing'
import { createRuntime } from 'pawl'
import { expect, test } from 'vitest'
import { bea, ask, Ledger, only, onGround, refunding, session, waiting } from '../kit/refund-workers.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

onGround('one inbox item', (ground) => {
  test('POL-3: inbox({ id }) returns the item that the list contains, until it is decided', async () => {
    const runtime = await ground.open([refunding(ground.ledger)])
    const run = session(runtime).run([ask(1, 'a'), ask(2, 'b')], { batch: 'm' })
    const items = await waiting(runtime, 2)
    for (const item of items) expect(await runtime.inbox({ id: item.id })).toEqual([item])
    const [first, second] = items as [(typeof items)[0], (typeof items)[0]]
    await runtime.decide(first.id, { approve: true, ...bea })
    expect(await runtime.inbox({ id: first.id })).toEqual([])
    expect(await runtime.inbox({ id: second.id })).toEqual([second])
    await runtime.decide(second.id, { deny: true, ...bea })
    await run
    for (const id of [second.id, 'none', '']) expect(await runtime.inbox({ id })).toEqual([])
  })

  test('POL-3: inbox({ id }) respects tenant, session, kind and `after`', async () => {
    const runtime = await ground.open([refunding(ground.ledger)])
    const run = session(runtime).run([ask(1, 'a')], { batch: 'm' })
    const item = await only(runtime)
    const { id } = item
    for (const query of [{ tenant: 'acme' }, { tenant: 'acme', session: 'chat' }, { kind: 'approval' } as const])
      expect(await runtime.inbox({ id, ...query })).toEqual([item])
    for (const query of [
      { tenant: 'other' },
      { tenant: 'other', session: 'chat' },
      { tenant: 'acme', session: 'other' },
      { kind: 'question' } as const,
      { after: id },
    ])
      expect(await runtime.inbox({ id, ...query })).toEqual([])
    await expect(runtime.inbox({ id, session: 'chat' })).rejects.toMatchObject({ code: 'config_invalid' })
    await runtime.decide(id, { deny: true, ...bea })
    await run
  })
})

test('POL-3: inbox({ id }) reads one wait and one document, however many items there are', async () => {
  const reads: string[] = []
  const store = memoryStore({ clock: manualClock() })
  const counted = Object.fromEntries(
    Object.entries(store).map(([name, value]) => [
      name,
      typeof value === 'function'
        ? (...args: unknown[]) => (reads.push(name), (value as (...all: unknown[]) => unknown)(...args))
        : value,
    ]),
  ) as unknown as typeof store
  const runtime = await createRuntime({ store: counted, logger: quiet, tools: [refunding(new Ledger())] })
  const run = session(runtime).run(
    Array.from({ length: 20 }, (_, n) => ask(n, `c${n}`)),
    { batch: 'm' },
  )
  const items = await waiting(runtime, 20)
  reads.length = 0
  const found = await runtime.inbox({ id: items[7]?.id as string })
  const during = reads.filter((name) => /^(?:wait|call|document)/.test(name))
  expect(found).toEqual([items[7]])
  expect(during.toSorted()).toEqual(['call', 'document', 'wait'])
  await session(runtime).cancel('over')
  await run
  await runtime.close({ grace: 0 })
})
