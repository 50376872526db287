// Live events between a web process and a worker that share a store. Each runtime here has a store object of its own,
// as separate processes have.

import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime, type FeedEvent, type LiveEvent, type Model, type PawlError, type Runtime } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import { manualClock } from 'pawl/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { type LiveTable, TableLiveChannel } from '../../src/store/live-channel.ts'
import { sqliteLiveTable } from '../../src/store/sqlite/live-table.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { pushedModel } from '../kit/models/pushed-model.ts'
import { seeded } from '../kit/seeded-random.ts'
import { rerunTool } from '../kit/simple-tools.ts'
import { freshDir, quiet } from '../kit/stores/fresh-store.ts'
import { until } from '../kit/stores/all-stores.ts'
import { serverForFile } from '../kit/stores/postgres-for-file.ts'

const secret = randomBytes(32)
let databases = 0
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

interface Reading {
  readonly seen: (FeedEvent | LiveEvent)[]
  /** The text of the last answer as the reader shows it. */
  text(): string
  stop(): Promise<void>
}

function readLive(runtime: Runtime, session = 's'): Reading {
  const seen: (FeedEvent | LiveEvent)[] = []
  const abort = new AbortController()
  let failed: unknown
  const reading = (async () => {
    for await (const event of runtime.session(session).events({ live: true, signal: abort.signal })) seen.push(event)
  })().catch((error: unknown) => void (failed = error))
  const stop = async (): Promise<void> => {
    abort.abort()
    await reading
  }
  closers.push(stop)
  return {
    seen,
    stop,
    text() {
      if (failed) throw failed
      let text = ''
      for (const event of seen) {
        if (event.type === 'turn.retracted') text = ''
        if (event.type === 'turn.delta' && event.body.type === 'text') {
          expect(event.body.offset).toBe(text.length) // neither a gap nor a repeat
          text += event.body.delta
        }
      }
      return text
    },
  }
}

const server = serverForFile()

describe.each(['sqlite', 'postgres'])('on %s', (kind) => {
  /** A database that several store objects share. */
  async function database(): Promise<() => Promise<Store>> {
    const [file, schema] = [join(freshDir(), 'agent.db'), `live_${++databases}`]
    return async () => {
      const store =
        kind === 'sqlite'
          ? sqliteStore({ file, clock: systemClock, commit: 'process' })
          : await postgresStore({ connection: { ...server.connection }, schema })
      closers.push(() => store.close())
      return store
    }
  }
  async function split(...models: Model[]): Promise<{ web: Runtime; worker: Runtime; another(): Promise<Runtime> }> {
    const open = await database()
    const start = async (more: { worker?: false } = {}): Promise<Runtime> => {
      const options = { models, tools: [report], logger: quiet, keys: { secret }, ...more }
      const runtime = await createRuntime({ ...options, store: await open() })
      closers.push(() => runtime.close({ grace: 0 }))
      return runtime
    }
    return { worker: await start(), web: await start({ worker: false }), another: () => start() }
  }
  const report = rerunTool('report', async (_, ctx) => {
    // The worker hears of a reader in another process after a moment.
    for (let current = 0; !ctx.signal.aborted; current++) {
      ctx.progress({ current })
      ctx.output('line\n')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })

  test('FEED-2: deltas reach a reader in another process, between the recorded events', async () => {
    const { model, push, finish } = pushedModel()
    const { web } = await split(model)
    const reading = readLive(web)
    const turn = web.session('s').turn({ model: 'm', message: 'Hi' })
    await turn.accepted
    await until(async () => {
      push('x')
      return reading.text().length > 0
    })
    push('Hel', 'lo')
    await until(() => reading.text().endsWith('Hello'))
    finish()
    await turn.outcome
    await until(() => reading.seen.some(({ type }) => type === 'turn.ended'))
    const types = reading.seen.map(({ type }) => type)
    expect(types.indexOf('message.added')).toBeLessThan(types.indexOf('turn.delta'))
    expect(types.lastIndexOf('turn.delta')).toBeLessThan(types.indexOf('turn.answered'))
  })

  test('FEED-2: a reader gets an answer that begins while the worker streams another one', async () => {
    const [first, second] = [pushedModel(), pushedModel('second')]
    const { web } = await split(first.model, second.model)
    const [reading, other] = [readLive(web, 's'), readLive(web, 'other')]
    const turn = web.session('s').turn({ model: 'm', message: 'Hi' })
    await until(() => first.asked() === 1)
    first.push('One')
    await until(() => reading.text() === 'One')
    // The worker knows the reader of this session already.
    const otherTurn = web.session('other').turn({ model: 'second', message: 'Hi' })
    await until(() => second.asked() === 1)
    second.push('Two')
    await until(() => other.text() === 'Two')
    for (const { finish } of [first, second]) finish()
    await Promise.all([turn.outcome, otherTurn.outcome])
  })

  test('FEED-2: a reader that joins in mid-answer gets the answer so far, then the rest', async () => {
    const { model, push, finish, asked } = pushedModel()
    const { web, worker } = await split(model)
    const turn = web.session('s').turn({ model: 'm', message: 'Hi' })
    await until(() => asked() === 1)
    push('Once upon ', 'a time')
    const first = readLive(web)
    const local = readLive(worker)
    await until(() => first.text() === 'Once upon a time' && local.text() === 'Once upon a time')
    push(' there was')
    const second = readLive(web)
    await until(() => [first, second, local].every((each) => each.text() === 'Once upon a time there was'))
    push('.')
    finish()
    expect(await turn.outcome).toMatchObject({ value: { text: 'Once upon a time there was.' } })
    await until(() => [first, second, local].every((each) => each.text() === 'Once upon a time there was.'))
  })

  test('FEED-2 CALL-10: progress and output reach a reader in another process', async () => {
    const { web } = await split(pushedModel().model)
    const reading = readLive(web)
    await web.session('s').run([{ id: 'a', name: 'report' }]).accepted
    for (const live of ['call.progress', 'call.output'])
      await until(() => reading.seen.some(({ type }) => type === live))
    const live = reading.seen.filter((event): event is LiveEvent => event.live === true)
    expect(live.find(({ type }) => type === 'call.progress')).toMatchObject({
      callId: 'a',
      body: { current: expect.any(Number) },
    })
  })

  test('FEED-2 SESS-2: when another worker takes the turn over, the partial answer is retracted', async () => {
    const { model, push, finish, asked } = pushedModel()
    const { web, worker, another } = await split(model)
    const reading = readLive(web)
    const turn = web.session('s').turn({ model: 'm', message: 'Hi' })
    await until(() => asked() === 1)
    push('Half an ans')
    await until(() => reading.text() === 'Half an ans')
    await worker.close({ grace: 0 })
    await another()
    await until(() => asked() === 2)
    await until(() => reading.text() === '')
    push('Whole.')
    await until(() => reading.text() === 'Whole.')
    finish()
    expect(await turn.outcome).toMatchObject({ value: { text: 'Whole.' } })
  })

  test('FEED-2: readers that join and leave at random points see no gap and no repeat', async () => {
    const random = seeded(7)
    const { model, push, finish, asked } = pushedModel()
    const { web, worker } = await split(model)
    const turn = web.session('s').turn({ model: 'm', message: 'Hi' })
    await until(() => asked() === 1)
    let whole = ''
    const readings: Reading[] = []
    for (let round = 0; round < (kind === 'sqlite' ? 100 : 30); round++) {
      const delta = `${round} `
      whole += delta
      push(delta)
      if (round === 0 || random() < 0.4) readings.push(readLive(random() < 0.8 ? web : worker))
      if (random() < 0.3) await readings.splice(Math.floor(random() * readings.length), 1)[0]?.stop()
      if (random() < 0.3) await new Promise((resolve) => setImmediate(resolve))
      if (random() < 0.1) await until(() => readings.every((each) => each.text() === whole))
    }
    await until(() => readings.every((each) => each.text() === whole))
    finish()
    expect(await turn.outcome).toMatchObject({ value: { text: whole } })
  })

  test('FEED-2: a reader that takes nothing is cut off with a cursor to go on from', async () => {
    const { model, push, finish, asked } = pushedModel()
    const { web } = await split(model)
    const events = web.session('s').events({ live: true })[Symbol.asyncIterator]()
    const first = events.next() // joins, and takes one event
    const turn = web.session('s').turn({ model: 'm', message: 'Hi' })
    await until(() => asked() === 1)
    await first
    const other = readLive(web)
    for (let characters = 128 * 1024; characters <= 5 * 1024 * 1024; characters += 128 * 1024) {
      push('x'.repeat(128 * 1024))
      await until(() => other.text().length === characters)
    }
    finish()
    await turn.outcome
    const read = async (): Promise<unknown> => {
      for (;;) await events.next()
    }
    const error = (await read().catch((cause: unknown) => cause)) as PawlError
    expect(error).toMatchObject({ code: 'reader_too_slow', details: { cursor: expect.stringMatching(/^p\d+$/) } })
    const { cursor } = error.details as { cursor: string }
    const types: string[] = []
    for await (const { type } of web.session('s').events({ after: cursor })) {
      types.push(type)
      if (type === 'turn.ended') break
    }
    expect(types).toContain('turn.answered')
  })
})

test('FEED-2: after a failed write readers get the answer so far again', async () => {
  const clock = manualClock()
  const file = join(freshDir(), 'a.db-live')
  const [writing, reading] = [sqliteLiveTable(file, clock), sqliteLiveTable(file, clock)]
  let fails = false
  const append: LiveTable['append'] = (entries, ms) => {
    if (fails) throw new Error('the disk is full')
    return writing.append(entries, ms)
  }
  const publisher = new TableLiveChannel({ ...writing, append }, clock, 'publisher')
  const subscriber = new TableLiveChannel(reading, clock, 'subscriber')
  const of = { tenant: 't', session: 's' }
  const received: string[] = []
  subscriber.subscribe(of, (entry) => received.push(entry))
  let asked = 0
  publisher.onSubscribed(() => asked++)
  await clock.advance(40)
  expect(asked).toBe(1)
  fails = true
  publisher.publish(of, 'lost')
  await clock.advance(40)
  expect(asked).toBe(2)
  fails = false
  publisher.publish(of, 'whole')
  await clock.advance(40)
  expect(received).toEqual(['whole'])
  await publisher.close()
  await subscriber.close()
})

test('FEED-2: entries and readers expire, and entries are erased with their session', async () => {
  const clock = manualClock()
  const table = sqliteLiveTable(join(freshDir(), 'a.db-live'), clock)
  await table.putReader({ id: 'p:1', tenant: 't', session: 's', asked: 1 }, 30_000)
  await table.append([{ tenant: 't', session: 's', entry: 'x' }], 60_000)
  await table.append([{ tenant: 't', session: 'other', entry: 'y' }], 60_000)
  expect(await table.readers()).toHaveLength(1)
  expect(await table.entriesAfter(0)).toMatchObject([{ entry: 'x' }, { entry: 'y' }])
  await table.erase({ tenant: 't', session: 's' })
  expect(await table.entriesAfter(0)).toMatchObject([{ entry: 'y' }])
  await clock.advance('31s')
  expect(await table.readers()).toEqual([])
  await clock.advance('31s')
  expect(await table.entriesAfter(0)).toEqual([])
  await table.purge()
  await table.close()
})

test('FEED-2 DUR-12: live events are sealed, and nothing is written if no other process reads', async () => {
  const file = join(freshDir(), 'agent.db')
  const { model, push, asked } = pushedModel()
  const options = { store: `sqlite:${file}`, models: [model], logger: quiet }
  const worker = await createRuntime(options)
  const web = await createRuntime({ ...options, worker: false })
  closers.push(
    () => web.close({ grace: 0 }),
    () => worker.close({ grace: 0 }),
  )
  await web.session('s').turn({ model: 'm', message: 'Hi' }).accepted
  await until(() => asked() === 1)
  push('The weather is fine.')
  expect(existsSync(`${file}-live`)).toBe(false)
  const reading = readLive(web)
  await until(() => reading.text() !== '')
  for (const name of readdirSync(join(file, '..')).filter((each) => each.includes('-live')))
    expect(readFileSync(join(file, '..', name), 'latin1')).not.toContain('weather')
})
