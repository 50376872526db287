// Interactions of worker deaths, deliveries, retention and encryption at rest.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Announce, createRuntime, type Tool, tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { mortal, type StoreKind } from '../kit/stores/killable-store.ts'
import { after, quiet } from '../kit/stores/fresh-store.ts'
import { fleetOn } from '../kit/worker-fleet.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'

const input = { type: 'object' } as const
const plain = (name: string, execute: (given: never, ctx: never) => unknown, more: object = {}): Tool =>
  tool({ name, description: name, input, timeout: { attempt: '1d' }, ...more, execute } as never)

/** A worker whose writes from the event-loop turn of its death never reach the store. */
function dying(store: Store): { store: Store; die: () => void } {
  let dead = false
  const own = mortal(store)
  return {
    store: {
      ...own.store,
      write: (change, heard, how) => void setImmediate(() => dead || store.write(change, heard, how)),
    },
    die: () => ((dead = true), own.die()),
  }
}

describe.each(['memory', 'sqlite'] as const)('worker deaths, deliveries and retention on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  const { start, settle } = fleetOn(kind, (has) => ({ clock, store } = has))

  test('DUR-8: a claimed call whose body kills the worker in its first line is counted', async () => {
    let runs = 0
    let die = (): void => {}
    const kill = plain('kill', () => (runs++, die(), new Promise(() => {})), { onCrash: 'rerun' })
    const asks = await start([kill], { worker: false })
    const run = asks.session('s').run([{ id: 'a', name: 'kill' }])
    run.catch(() => {})
    await settle()
    for (let worker = 0; worker < 6; worker++) {
      const own = dying(store)
      die = own.die
      // The worker dies while it opens, so this promise never resolves.
      createRuntime({ store: own.store, tools: [kill], clock, logger: quiet }).catch(() => {})
      await clock.advance('3m')
    }
    expect(runs).toBeLessThanOrEqual(3)
    const last = await start([kill])
    die = () => {}
    expect(await after(run, clock)).toMatchObject({ value: [{ failure: { code: 'poisoned' } }] })
    void last
  })

  test('DUR-8: an announcer that kills its worker does so at most three times', async () => {
    let runs = 0
    let die = (): void => {}
    const announce = (): Promise<void> => (runs++, die(), new Promise(() => {}))
    const ask = plain(
      'ask',
      (_, ctx) => (ctx as { later(o: object): unknown }).later({ announce: { type: 'q', payload: {} } }),
      {
        onCrash: 'rerun',
      },
    )
    const keys = { secret: new Uint8Array(32).fill(7) }
    const first = await start([ask], { keys })
    ignoreResult(first.session('s').run([{ id: 'a', name: 'ask' }]))
    await settle()
    for (let worker = 0; worker < 8; worker++) {
      const own = mortal(store)
      // The worker dies after the start of the delivery is on record.
      die = () => void clock.timer(100, () => own.die())
      createRuntime({ store: own.store, tools: [ask], clock, logger: quiet, announce, keys }).catch(() => {})
      await clock.advance('3m')
      await clock.advance('31s')
    }
    expect(runs).toBe(3)
  })

  test('TIME-3: a cancel is not lost while the claiming worker reads the journal', async () => {
    let began = 0
    const slow = plain('slow', () => (began++, new Promise(() => {})), { onCrash: 'rerun' })
    const asks = await start([slow], { worker: false })
    const run = asks.session('s').run([{ id: 'a', name: 'slow' }])
    run.catch(() => {})
    await settle()
    // As on a server, the answer to a read arrives late.
    const gate = Promise.withResolvers<void>()
    const reads: Store = {
      ...store,
      async steps(call) {
        const steps = await store.steps(call)
        await gate.promise
        return steps
      },
    }
    const opening = start([slow], { store: reads })
    await settle()
    expect(await asks.session('s').cancel('no more')).toBe(1)
    await settle()
    gate.resolve()
    await opening
    expect(await after(run, clock)).toMatchObject({ value: [{ status: 'cancelled' }] })
    expect(began).toBe(0)
  })

  test('DUR-10: erase keeps an attachment that a recorded but unclaimed call uses', async () => {
    const keeps = plain(
      'keeps',
      (_, ctx) =>
        (ctx as { attachments: { create(text: string, o: object): unknown } }).attachments.create('text', {
          mediaType: 'text/plain',
        }),
      { hints: { readOnly: true } },
    )
    const reads = plain(
      'reads',
      async ({ file }: never, ctx) =>
        Buffer.from(
          await (ctx as { attachments: { read(file: unknown): Promise<Uint8Array> } }).attachments.read(file),
        ).toString(),
      { hints: { readOnly: true } },
    )
    const maker = await start([keeps])
    const [made] = await maker.session('a').run([{ id: '1', name: 'keeps' }])
    const asks = await start([keeps, reads], { worker: false })
    const run = asks.session('b').run([{ id: '1', name: 'reads', input: { file: (made as { value: unknown }).value } }])
    run.catch(() => {})
    await settle()
    expect(await asks.erase({ session: 'a' })).toMatchObject({ calls: 1 })
    await start([reads])
    expect(await after(run, clock)).toMatchObject({ value: [{ status: 'success', value: 'text' }] })
  })

  test('DUR-10: prune removes completed deliveries while another one is still retried', async () => {
    const ask = plain(
      'ask',
      (_, ctx) => (ctx as { later(o: object): unknown }).later({ announce: { type: 'q', payload: {} } }),
      {
        onCrash: 'rerun',
        concurrency: 'parallel',
      },
    )
    let key = ''
    const announce: Announce = async (each) => {
      if (each.session === 'bad') throw new Error('The line is down')
      if (each.about === 'wait') key = each.key
    }
    const runtime = await start([ask], { announce })
    const run = runtime.session('good').run([{ id: 'a', name: 'ask' }])
    await settle()
    await runtime.resolve(key, { value: 1 })
    await run
    ignoreResult(runtime.session('bad').run([{ id: 'a', name: 'ask' }]))
    await settle()
    await clock.advance('2d')
    await runtime.prune({ olderThan: '1d' })
    const told = await store.events({ after: 0, limit: 1_000 })
    expect(told.filter(({ type, session }) => type === 'call.settled' && session.startsWith('pawl:'))).toEqual([])
  })

  test('DUR-10: a tenant can be erased although its announcements were not delivered', async () => {
    const ask = plain(
      'ask',
      (_, ctx) => (ctx as { later(o: object): unknown }).later({ announce: { type: 'q', payload: {} } }),
      {
        onCrash: 'rerun',
      },
    )
    const runtime = await start([ask])
    const run = runtime.session('s', { tenant: 't' }).run([{ id: 'a', name: 'ask' }])
    run.catch(() => {})
    await settle()
    const erasing = runtime.erase({ tenant: 't', open: 'cancel' })
    expect(await after(erasing, clock, 60_000, 1_000)).toMatchObject({ value: { calls: 2 } })
  })

  test('DUR-3: a caller whose call was settled and erased elsewhere does not hang', async () => {
    const quick = plain('quick', () => 1)
    let deaf = true
    const away: Store = {
      ...store,
      onHint: (listener) => store.onHint((hint) => void (deaf || listener(hint))),
    }
    const asks = await start([quick], { worker: false, store: away })
    const run = asks.session('s').run([{ id: 'a', name: 'quick' }])
    run.catch(() => {})
    await settle()
    const works = await start([quick])
    await settle()
    expect(await works.erase({ session: 's' })).toMatchObject({ calls: 1 })
    deaf = false
    await works.session('other').run([{ id: 'a', name: 'quick' }]) // a later commit sends a hint
    expect(await after(run, clock)).not.toBe('hangs')
  })

  test('DUR-3: a starting worker recovers all calls although a batch is longer than a page', async () => {
    const ran: string[] = []
    const note = plain('note', (_, ctx) => ran.push((ctx as { callId: string }).callId))
    const asks = await start([note], { worker: false })
    const ids = Array.from({ length: 80 }, (_, at) => ({ id: `${at}`, name: 'note' }))
    ignoreResult(asks.session('s').run(ids, { batch: 'm' }))
    await settle()
    ignoreResult(asks.session('t').run([{ id: 'alone', name: 'note' }]))
    await settle()
    // Without hints, as in a separate process: a store does not report its own writes.
    await start([note], { store: { ...store, onHint: () => () => {} }, lease: '1h' })
    while (ran.length < 80) await settle()
    expect(ran).toContain('alone')
  })
})

describe('unreadable encrypted rows', () => {
  let dir: string
  beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'pawl-adv-'))))
  afterEach(() => rmSync(dir, { recursive: true, force: true }))

  const broken = async (how: { due: boolean }) => {
    const clock = manualClock()
    const file = join(dir, 'agent.db')
    const parks = plain(
      'parks',
      (_, ctx) => (ctx as { later(o: object): unknown }).later({ deadline: '1h', onCancel: 'ignore' }),
      {
        onCrash: 'rerun',
      },
    )
    const options = { store: `sqlite:${file}`, encrypt: true, tools: [parks], clock, logger: quiet }
    const one = await createRuntime(options)
    for (const id of ['bad', 'good']) await one.session(id).run([{ id, name: 'parks' }], { until: 'waiting' })
    await one.close({ grace: 0 })
    const db = new DatabaseSync(file)
    db.exec(`UPDATE calls SET args = substr(args, 1, 30) WHERE id = 'bad'`)
    db.exec(`UPDATE waits SET terms = substr(terms, 1, 30) WHERE call = (SELECT uid FROM calls WHERE id = 'bad')`)
    db.close()
    if (how.due) await clock.advance('2h')
    return options
  }

  test('DUR-12: an unreadable row with an expired deadline does not prevent opening', async () => {
    const options = await broken({ due: true })
    const two = await createRuntime(options)
    await options.clock.advance('1m')
    const [good] = await two.session('good').run([{ id: 'good', name: 'parks' }])
    expect(good).toMatchObject({ status: 'failure', failure: { class: 'timeout' } })
    await two.close({ grace: 0 })
  })

  test('DUR-12: health() counts all rows, including unreadable ones', async () => {
    const options = await broken({ due: false })
    const two = await createRuntime(options)
    const told = await two.health().catch((error: unknown) => ({ error }))
    expect(told).toMatchObject({ open: { parked: 2 } })
    await two.close({ grace: 0 })
  })
})
