// events({ until: 'now' }) ends at the newest recorded event; runtime.events({ tenant }) shows one tenant only.

import { createRuntime, type FeedEvent, type LiveEvent } from 'pawl'
import { memoryStore } from 'pawl/testing'
import { expect, test } from 'vitest'
import { Feed } from '../../src/feed/event-feed.ts'
import type { Foundation } from '../../src/engine/foundation.ts'
import { echo } from '../kit/feed-reader.ts'
import { rerunTool } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { type Bench, onEachStore } from '../kit/stores/local-stores.ts'
import { change, eventRecord } from '../../src/testing/store-cases/record-builders.ts'

async function readAll<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const event of events) all.push(event)
  return all
}
const positions = (events: readonly FeedEvent[]): number[] => events.map(({ position }) => position)

onEachStore('bounded and tenant reads', (bench: Bench) => {
  const runIn = async (runtime: Awaited<ReturnType<Bench['open']>>, tenant: string, id: string): Promise<void> =>
    void (await runtime.session('s', { tenant }).run([{ id, name: 'echo' }]))

  test("FEED-1: until 'now' ends at the newest event, and `after` continues without gaps", async () => {
    const runtime = await bench.open([echo])
    expect(await readAll(runtime.events({ until: 'now' }))).toEqual([])
    for (const id of ['a', 'b', 'c']) await runIn(runtime, 't', id)
    const first = await readAll(runtime.events({ until: 'now' }))
    expect(positions(first)).toEqual(first.map((_, at) => at + 1))
    expect(first.filter(({ type }) => type === 'call.settled')).toHaveLength(3)
    const { cursor } = first.at(-1) as FeedEvent
    expect(await readAll(runtime.events({ until: 'now', after: cursor }))).toEqual([])
    expect(await readAll(runtime.events({ until: 'now', after: 'now' }))).toEqual([])
    await runIn(runtime, 't', 'd')
    const second = await readAll(runtime.session('s', { tenant: 't' }).events({ until: 'now', after: cursor }))
    expect(positions([...first, ...second])).toEqual([...first, ...second].map((_, at) => at + 1))
  })

  test("FEED-1: until 'now' leaves out events recorded after the read began", async () => {
    const runtime = await bench.open([echo])
    await runIn(runtime, 't', 'a')
    const before = await readAll(runtime.events({ until: 'now' }))
    const read: FeedEvent[] = []
    for await (const event of runtime.session('s', { tenant: 't' }).events({ until: 'now' })) {
      if (read.push(event) === 1) await runIn(runtime, 't', 'later')
    }
    expect(read).toEqual(before)
  })

  test("FEED-1: until 'now' with live events is refused", async () => {
    const runtime = await bench.open([echo])
    const options = { until: 'now', live: true } as never
    for (const read of [() => runtime.events(options), () => runtime.session('s').events(options)])
      expect(read).toThrow(/`until: 'now'` and `live` are both set/)
  })

  test('FEED-1 FEED-2: a reader of one tenant gets its recorded and live events, no others', async () => {
    const shows = rerunTool('shows', (_, ctx) => {
      ctx.progress({ current: 1, total: 2 })
      return 'shown'
    })
    const runtime = await bench.open([echo, shows])
    const seen: (FeedEvent | LiveEvent)[] = []
    const reading = (async () => {
      for await (const event of runtime.events({ tenant: 'mine', live: true })) {
        seen.push(event)
        if (event.type === 'call.settled' && event.callId === 'last') return
      }
    })()
    for (const [tenant, id] of [
      ['theirs', 'x'],
      ['mine', 'first'],
      ['theirs', 'y'],
      ['mine', 'last'],
    ] as const)
      await runtime.session('s', { tenant }).run([{ id, name: 'shows' }])
    await reading
    expect(new Set(seen.map(({ tenant }) => tenant))).toEqual(new Set(['mine']))
    expect(seen.filter(({ live }) => live).map(({ type }) => type)).toEqual(['call.progress', 'call.progress'])
    const recorded = await readAll(runtime.events({ tenant: 'mine', until: 'now' }))
    expect(seen.filter(({ live }) => !live)).toEqual(recorded)
    expect(recorded).toEqual((await readAll(runtime.events({ until: 'now' }))).filter((e) => e.tenant === 'mine'))
    expect(await readAll(runtime.events({ tenant: 'none', until: 'now' }))).toEqual([])
    expect(() => runtime.session('s').events({ tenant: 'mine' } as never)).toThrow(/has no option `tenant`/)
  })
})

test("FEED-1: until 'now' leaves out events recorded between its two reads", async () => {
  const store = memoryStore()
  let newest: number | undefined
  const behind = { ...store, lastPosition: () => newest ?? store.lastPosition() }
  const runtime = await createRuntime({ store: behind, tools: [echo], logger: quiet })
  await runtime.session('s').run([{ id: 'a', name: 'echo' }])
  newest = 2
  expect(positions(await readAll(runtime.events({ until: 'now' })))).toEqual([1, 2])
  await runtime.close()
})

test('FEED-1: abort ends a reader of one tenant among many events of another', async () => {
  const store = memoryStore()
  await store.commit(change({ events: Array.from({ length: 256 }, (_, n) => eventRecord(n)) }))
  // The store returns full pages of another tenant's events, and after 400 pages an event that the reader would show.
  const page = await store.events({ after: 0, limit: 256 })
  const endless = {
    ...store,
    events: ({ after }: { after: number }) =>
      page.map((event, index) => ({
        ...event,
        position: after + index + 1,
        tenant: after > 100_000 ? 'mine' : 'theirs',
      })) as typeof page,
  }
  const feed = new Feed({ store: endless } as unknown as Foundation, () => Promise.resolve({}))
  const stop = new AbortController()
  setImmediate(() => stop.abort())
  expect(await readAll(feed.readAll()({ tenant: 'mine', signal: stop.signal }))).toEqual([])
})
