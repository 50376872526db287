// call.events(): the events of the one call that session.call() started.

import { type FeedEvent, type LiveEvent, tool } from 'pawl'
import { expect, test } from 'vitest'
import { callEvents } from '../../src/sessions/call-events.ts'
import { onEachStore } from '../kit/stores/local-stores.ts'

const input = { type: 'object' } as const
const steps = tool({
  name: 'steps',
  description: 'd',
  input,
  onCrash: 'rerun',
  execute: (_, ctx) => ctx.step('one', () => 1),
})
const other = tool({ name: 'other', description: 'd', input, execute: () => 2 })

async function types(events: AsyncIterable<FeedEvent | LiveEvent>): Promise<string[]> {
  const found: string[] = []
  for await (const { type } of events) found.push(type)
  return found
}

onEachStore('events of a call', (bench) => {
  test('FEED-1: call.events() gives the events of that call and ends when it is settled', async () => {
    const runtime = await bench.open([steps, other])
    const session = runtime.session('s')
    await session.call(other, {}, { id: 'before' }).outcome
    const call = session.call(steps, {}, { id: 'a' })
    const beside = session.call(other, {}, { id: 'b' })
    const all = await types(call.events())
    await Promise.all([call.outcome, beside.outcome])
    expect(all).toEqual(['call.received', 'call.started', 'step.done', 'call.settled'])
    // Read again after the end, and for a call that an idempotency key identifies.
    expect(await types(call.events())).toEqual(all)
    const keyed = session.call(other, {}, { id: 'c', idempotencyKey: 'k' })
    await keyed.outcome
    expect(await types(keyed.events())).toEqual(['call.received', 'call.started', 'call.settled'])
  })

  test('FEED-1: call.events() ends for a call that is never recorded', async () => {
    const runtime = await bench.open([steps])
    const closed = runtime.session('s')
    await runtime.close()
    const call = closed.call(steps, {}, { id: 'a' })
    await expect(call.outcome).rejects.toMatchObject({ code: 'runtime_closed' })
    expect(await types(call.events()).catch(() => [])).toEqual([])
  })

  test('FEED-1: with live, call.events() includes progress of that call only', async () => {
    let go = (): void => {}
    const waits = new Promise<void>((resolve) => (go = resolve))
    const busy = tool({
      name: 'busy',
      description: 'd',
      input,
      hints: { readOnly: true },
      async execute(_, ctx) {
        await waits
        ctx.progress({ label: ctx.callId })
      },
    })
    const runtime = await bench.open([busy])
    const session = runtime.session('s')
    const call = session.call(busy, {}, { id: 'a' })
    const beside = session.call(busy, {}, { id: 'b' })
    const labels: unknown[] = []
    for await (const event of call.events({ live: true })) {
      if (event.type === 'call.started') go()
      if (event.live) labels.push((event.body as { label: string }).label)
    }
    await Promise.all([call.outcome, beside.outcome])
    expect(labels).toEqual(['a'])
  })
})

test('FEED-1: call.events() stops reading the feed once a call has ended without a record', async () => {
  let isReading = true
  /** A feed that ends only when its reader leaves. */
  async function* endless({ signal }: { signal: AbortSignal }): AsyncGenerator<never> {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    isReading = false
    yield* []
  }
  type Host = Parameters<typeof callEvents>[0]
  const host = { store: { callAt: () => undefined }, feed: { reader: () => endless } } as unknown as Host
  const { promise: outcome, reject } = Promise.withResolvers<never>()
  const position = { tenant: 'default', session: 's', batch: '', id: 'a', occurrence: 0 }
  const read = types(callEvents(host, position, outcome)())
  expect(isReading).toBe(true)
  reject(new Error('The store is away'))
  expect(await read).toEqual([])
  expect(isReading).toBe(false)
})
