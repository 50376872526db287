// What live events cost the store: readers look for recorded events only if there are new ones.

import { join } from 'node:path'
import { createRuntime, type FeedEvent, type Runtime } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { TableLiveChannel } from '../../src/store/live-channel.ts'
import { sqliteLiveTable } from '../../src/store/sqlite/live-table.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { pushedModel } from '../kit/models/pushed-model.ts'
import { closedAfterEach } from '../kit/open-runtime.ts'
import { simpleTool } from '../kit/simple-tools.ts'
import { until } from '../kit/stores/all-stores.ts'
import { freshDir, quiet } from '../kit/stores/fresh-store.ts'

const runtimes = closedAfterEach()

test('FEED-2: readers of live events share one look at the store, and read events only if there are new ones', async () => {
  const reads = { events: 0, lastPosition: 0 }
  const store = sqliteStore({ file: join(freshDir(), 'a.db'), clock: systemClock, commit: 'process' })
  const { events, lastPosition } = store
  const counted = {
    ...store,
    events: (query: Parameters<typeof events>[0]) => (reads.events++, events(query)),
    lastPosition: () => (reads.lastPosition++, lastPosition()),
  }
  const { model, push, finish, asked } = pushedModel()
  const runtime: Runtime = await createRuntime({ store: counted, models: [model], logger: quiet })
  runtimes.push(runtime)
  const texts: string[] = []
  const reading = Array.from({ length: 20 }, async (_, index) => {
    texts.push('')
    for await (const event of runtime.session(index < 10 ? 's' : 'other').events({ live: true })) {
      if (event.type === 'turn.delta' && event.body.type === 'text') texts[index] += event.body.delta
      if (event.type === 'turn.ended') return
    }
  })
  const turn = runtime.session('s').turn({ model: 'm', message: 'Hi' })
  await until(() => asked() === 1)
  push('0')
  const isRead = (text: string): boolean => texts.slice(0, 10).every((each) => each === text)
  await until(() => isRead('0'))
  Object.assign(reads, { events: 0, lastPosition: 0 })
  let text = '0'
  for (let n = 1; n <= 50; n++) {
    push(`,${n}`)
    text += `,${n}`
    await until(() => isRead(text))
  }
  expect(reads.events).toBeLessThanOrEqual(40) // for what was recorded at the start
  expect(reads.lastPosition).toBeLessThanOrEqual(150) // 500 deltas were delivered
  finish()
  await turn.outcome
  await Promise.all(reading.slice(0, 10))
})

test('FEED-2: the first live entry is written at once, those that follow in batches', async () => {
  const clock = manualClock()
  const table = sqliteLiveTable(join(freshDir(), 'a.db-live'), clock)
  const writes: number[] = []
  const append: typeof table.append = (entries, ms) => {
    writes.push(entries.length)
    return table.append(entries, ms)
  }
  const of = { tenant: 't', session: 's' }
  await table.putReader({ id: 'other:1', ...of, asked: 1 }, 60_000)
  const channel = new TableLiveChannel({ ...table, append }, clock, 'publisher')
  channel.publish(of, 'first')
  expect(writes).toEqual([1])
  for (let n = 0; n < 30; n++) {
    await clock.advance(3)
    channel.publish(of, `${n}`)
  }
  await clock.advance(100)
  expect(writes.reduce((sum, count) => sum + count, 0)).toBe(31)
  expect(writes.length).toBeLessThanOrEqual(8) // 90 ms
  channel.publish(of, 'after a pause')
  expect(writes.at(-1)).toBe(1)
  await channel.close()
})

test('FEED-2: an answer that no other process reads costs one look at the readers and no write', async () => {
  const clock = manualClock()
  const table = sqliteLiveTable(join(freshDir(), 'a.db-live'), clock)
  const looks = { readers: 0, timers: 0 }
  const readers: typeof table.readers = () => (looks.readers++, table.readers())
  const unexpected = (): never => {
    throw new Error('nothing is to be written')
  }
  const every: typeof clock.every = (ms, chore) => (looks.timers++, clock.every(ms, chore))
  const watched = { ...table, readers, append: unexpected, putReader: unexpected, purge: unexpected }
  const channel = new TableLiveChannel(watched, { ...clock, every }, 'publisher')
  const of = { tenant: 't', session: 's' }
  for (let answer = 0; answer < 10; answer++) {
    const stop = channel.onSubscribed(() => {})
    for (let delta = 0; delta < 5; delta++) channel.publish(of, `${delta}`)
    stop()
  }
  expect(looks).toEqual({ readers: 10, timers: 1 })
  await clock.advance(1_000) // nothing is under way, so nothing is polled
  expect(looks.readers).toBe(10)
  await channel.close()
})

test('FEED-2: a look at the readers that fails is repeated, and its error stays inside', async () => {
  const clock = manualClock()
  const table = sqliteLiveTable(join(freshDir(), 'a.db-live'), clock)
  for (const reportsReaders of [true, false]) {
    let looks = 0
    const found = [{ id: 'other:1', tenant: 't', session: 's', asked: 1 }]
    const readers: typeof table.readers = async () => {
      if (++looks <= 3) throw new Error('the connection is lost')
      return found
    }
    const channel = new TableLiveChannel({ ...table, readers, reportsReaders }, clock, 'publisher')
    let subscribed = 0
    channel.onSubscribed(() => subscribed++)
    expect(channel.hasReaders({ tenant: 't', session: 's' })).toBe(false)
    for (let polls = 0; polls < 100 && subscribed === 0; polls++) await clock.advance(table.pollMs)
    expect({ reportsReaders, looks, subscribed }).toMatchObject({ subscribed: 1 })
    expect(channel.hasReaders({ tenant: 't', session: 's' })).toBe(true)
    await channel.close()
  }
})

test('FEED-1: readers of one session that look at the same time share the read and get all events in order', async () => {
  const reads = { events: 0, erased: 0 }
  const store = sqliteStore({ file: join(freshDir(), 'a.db'), clock: systemClock, commit: 'process' })
  const { events, erased } = store
  const counted = {
    ...store,
    events: (query: Parameters<typeof events>[0]) => (reads.events++, events(query)),
    erased: (of?: Parameters<typeof erased>[0]) => (reads.erased++, erased(of)),
  }
  const runtime: Runtime = await createRuntime({ store: counted, tools: [simpleTool('echo', () => 1)], logger: quiet })
  runtimes.push(runtime)
  const cursors: string[][] = []
  const objects = new Set<object>()
  for (let reader = 0; reader < 40; reader++) {
    const seen: string[] = []
    cursors.push(seen)
    void (async () => {
      for await (const event of runtime.session('s').events({ live: (reader % 2 === 0) as true })) {
        seen.push((event as FeedEvent).cursor)
        if (event.type === 'call.settled' && event.callId === 'c9') objects.add(event)
      }
    })()
  }
  await runtime.session('s').run([{ id: 'c0', name: 'echo' }])
  await until(() => cursors.every((seen) => seen.length >= 3))
  Object.assign(reads, { events: 0, erased: 0 })
  const before = cursors[0]?.length ?? 0
  for (let n = 1; n < 10; n++) await runtime.session('s').run([{ id: `c${n}`, name: 'echo' }])
  await until(() => cursors.every((seen) => seen.length >= before * 10))
  for (const seen of cursors) expect(seen).toEqual(cursors[0])
  expect(new Set(cursors[0]).size).toBe(before * 10)
  expect(reads.events + reads.erased).toBeLessThan(40 * 9) // each alone would read as often as that at least twice
  expect(objects.size).toBeLessThan(10) // shared, so that a server encodes them once
})
