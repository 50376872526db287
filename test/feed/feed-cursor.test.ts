// Reading the feed from any cursor and then live, without gaps or repeats.

import type { FeedEvent, Runtime } from 'pawl'
import { expect, test } from 'vitest'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { rerunTool } from '../kit/simple-tools.ts'

const steps = rerunTool('steps', async (_, ctx) => {
  await ctx.step('a', () => 1)
  await ctx.step('b', () => 2)
  return 'done'
})

async function take(events: AsyncIterable<FeedEvent>, count: number): Promise<FeedEvent[]> {
  const taken: FeedEvent[] = []
  if (count === 0) return taken
  for await (const event of events) {
    taken.push(event)
    if (taken.length === count) break
  }
  return taken
}

onEachStore('the feed', (bench) => {
  const ask = (runtime: Runtime, session: string, id: string) => runtime.session(session).run([{ id, name: 'steps' }])

  test('FEED-1: the events of a call are in order, with sequence numbers and the outcome', async () => {
    const runtime = await bench.open([steps])
    await ask(runtime, 's', 'a')
    const events = await take(runtime.session('s').events(), 5)
    expect(events.map(({ type }) => type)).toEqual([
      'call.received',
      'call.started',
      'step.done',
      'step.done',
      'call.settled',
    ])
    expect(events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5])
    expect(events[4]).toMatchObject({
      outcome: { status: 'success', value: 'done' },
      body: { status: 'success', attempts: 1 },
    })
  })

  test('FEED-1: reading after any cursor returns the rest without gaps or repeats', async () => {
    const runtime = await bench.open([steps])
    await Promise.all([ask(runtime, 's', 'a'), ask(runtime, 't', 'b'), ask(runtime, 's', 'c')])
    const all = await take(runtime.events(), 15)
    expect(all.map(({ position }) => position)).toEqual(all.map((_, index) => index + 1))
    const mine = all.filter(({ session }) => session === 's')
    expect(mine.map(({ seq }) => seq)).toEqual(mine.map((_, index) => index + 1))
    for (const [index, { cursor }] of all.entries()) {
      expect(await take(runtime.events({ after: cursor }), all.length - index - 1)).toEqual(all.slice(index + 1))
      const rest = mine.filter(({ position }) => position > (all[index] as FeedEvent).position)
      expect(await take(runtime.session('s').events({ after: cursor }), rest.length)).toEqual(rest)
    }
  })

  test('FEED-1: a live reader sees the same events as a later reader', async () => {
    const runtime = await bench.open([steps])
    const live = take(runtime.session('s').events(), 50)
    for (let round = 0; round < 10; round++) await ask(runtime, 's', `r${round}`)
    expect(await live).toEqual(await take(runtime.session('s').events(), 50))
  })

  test('FEED-1: reading ends on abort or close, and a foreign cursor is rejected', async () => {
    const runtime = await bench.open([steps])
    const stop = new AbortController()
    const aborted = take(runtime.events({ signal: stop.signal }), 99)
    const closed = take(runtime.events(), 99)
    await ask(runtime, 's', 'a')
    stop.abort()
    expect((await aborted).length).toBeLessThanOrEqual(5)
    await runtime.close()
    expect((await closed).length).toBeLessThanOrEqual(5)
    expect(() => runtime.events({ after: 'x1' })).toThrow(expect.objectContaining({ code: 'cursor_invalid' }))
  })

  test('FEED-1 FEED-2: a cursor ahead of the store is rejected, with and without live events', async () => {
    const runtime = await bench.open([steps])
    await ask(runtime, 's', 'a')
    const { position } = (await take(runtime.events(), 5)).at(-1) as FeedEvent
    const ahead = `p${position + 1}`
    await expect(take(runtime.events({ after: ahead }), 1)).rejects.toMatchObject({ code: 'cursor_invalid' })
    const live = runtime.session('s').events({ after: ahead, live: true })[Symbol.asyncIterator]()
    await expect(live.next()).rejects.toMatchObject({ code: 'cursor_invalid' })
    // It is a cursor as soon as there is such an event.
    await ask(runtime, 's', 'b')
    expect(await take(runtime.events({ after: ahead }), 4)).toHaveLength(4)
  })
})
