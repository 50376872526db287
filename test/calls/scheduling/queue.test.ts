import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Clock } from '../../../src/core/clock.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { tool } from '../../../src/tools/tool.ts'
import type { Limits } from '../../../src/calls/scheduling/limits.ts'
import { Queue } from '../../../src/calls/scheduling/queue.ts'
import { type QueueEntry, Slot } from '../../../src/calls/scheduling/slot.ts'

const input = z.object({})
const terms = {
  read: { hints: { readOnly: true } },
  keyed: { concurrency: { key: () => 'k' } },
  alone: { concurrency: 'exclusive' },
  one: { hints: { readOnly: true }, limits: { concurrent: 1 } },
  other: { hints: { readOnly: true }, limits: { concurrent: 1 } },
  rated: { hints: { readOnly: true }, limits: { rate: { count: 1, per: '1s' } } },
} as const
type Name = keyof typeof terms
const tools = new Map(
  Object.entries(terms).map(([name, more]) => [
    name,
    tool({ name, description: name, input, ...(more as object), execute: () => 1 }),
  ]),
)

let calls = 0
/** Enters a call into the queue; returns its result and a way to stop it. */
function ask(
  queue: Queue,
  name: Name,
  about: { tenant?: string; session?: string; key?: string; above?: string[]; uid?: string } = {},
) {
  const { tenant = 't', session = 's', key = null, above = [], uid = `u${++calls}` } = about
  let stop = (): void => {}
  let listening = 0
  const entry: QueueEntry = {
    uid,
    position: { tenant, session, batch: 'b', id: uid, occurrence: 0 },
    tool: tools.get(name) as QueueEntry['tool'],
    key,
    admitted: false,
    task: undefined,
    ancestors: above,
    onStop(hear) {
      listening++
      stop = hear
      return () => void listening--
    },
  }
  const asked = {
    uid,
    got: null as Slot | string | null,
    atOnce: false,
    stop: () => stop(),
    listening: () => listening,
  }
  const turn = queue.enter(entry)
  if (turn instanceof Promise) void turn.then((given) => (asked.got = given))
  else Object.assign(asked, { got: turn, atOnce: true })
  return asked
}
type Asked = ReturnType<typeof ask>
const runs = ({ got }: Asked): boolean => got instanceof Slot
const end = ({ got }: Asked): void => (got as Slot).release()
const turns = async (): Promise<void> => {
  for (let each = 0; each < 20; each++) await Promise.resolve()
}
const open = (limits: Limits = {}, clock: Clock = manualClock()): Queue => new Queue(clock, limits)

describe('queue', () => {
  test('free slots are granted synchronously, and nothing remains after their release', () => {
    const queue = open({ perTenant: 5 })
    const names: Name[] = ['read', 'keyed', 'alone', 'one']
    const all = names.map((name) => ask(queue, name, name === 'keyed' ? { key: 'k' } : {}))
    expect(all.map(({ atOnce }) => atOnce)).toEqual([true, true, true, true])
    expect(queue.size).toBeGreaterThan(0)
    for (const each of all) end(each)
    expect(queue.size).toBe(0)
  })

  test('a slot goes to the first waiting call, and stopped calls are removed', async () => {
    const queue = open({ perWorker: 1 })
    const [a, b, c, d] = [ask(queue, 'read'), ask(queue, 'read'), ask(queue, 'read'), ask(queue, 'read')]
    b.stop()
    await turns()
    expect(b.got).toBe('stopped')
    end(a)
    await turns()
    expect([runs(c), runs(d)]).toEqual([true, false])
    expect(c.listening()).toBe(0)
    c.stop() // too late: it already has its slot
    end(c)
    await turns()
    expect(runs(d)).toBe(true)
    end(d)
    expect(queue.size).toBe(0)
  })

  test('a key goes to the first call that still waits for it', async () => {
    const queue = open()
    const [a, b, c] = [
      ask(queue, 'keyed', { key: 'k' }),
      ask(queue, 'keyed', { key: 'k' }),
      ask(queue, 'keyed', { key: 'k' }),
    ]
    b.stop()
    end(a)
    await turns()
    expect([b.got, runs(c)]).toEqual(['stopped', true])
    end(c)
    expect(queue.size).toBe(0)
  })

  test('keys are scoped to the tenant, exclusive calls to the session', () => {
    const queue = open()
    const t1 = { tenant: 't1', key: 'k' }
    const at = (name: Name, about: object): boolean => runs(ask(queue, name, about))
    expect([at('keyed', t1), at('keyed', { ...t1, session: 'z' }), at('keyed', { ...t1, tenant: 't2' })]).toEqual([
      true,
      false,
      true,
    ])
    expect([at('alone', {}), at('alone', {}), at('alone', { session: 'z' }), at('alone', { tenant: 't2' })]).toEqual([
      true,
      false,
      true,
      true,
    ])
  })

  test('a call waiting for a slot holds no key, and a call waiting for a key no slot', async () => {
    const queue = open({ perSession: 1 })
    const a = ask(queue, 'read', { session: 's1' })
    const b = ask(queue, 'keyed', { session: 's1', key: 'k' }) // waits for the slot
    const c = ask(queue, 'keyed', { session: 's2', key: 'k' })
    expect([runs(b), runs(c)]).toEqual([false, true])
    end(a)
    await turns()
    const d = ask(queue, 'read', { session: 's1' }) // b waits for the key now
    expect([runs(b), runs(d)]).toEqual([false, true])
    end(c)
    await turns()
    expect(runs(b)).toBe(false)
    end(d)
    await turns()
    expect(runs(b)).toBe(true)
    end(b)
    expect(queue.size).toBe(0)
  })

  test('a call that could not use its turn stays ahead of later calls', async () => {
    const queue = open({ perSession: 1 })
    const a = ask(queue, 'read')
    const b = ask(queue, 'keyed', { key: 'k' })
    const other = ask(queue, 'keyed', { key: 'k', session: 'z' })
    end(a) // b could have the slot, but not the key
    await turns()
    const c = ask(queue, 'read')
    const d = ask(queue, 'read') // waits behind c
    end(other) // b could have the key, but not the slot
    await turns()
    expect([runs(b), runs(c), runs(d)]).toEqual([false, true, false])
    end(c)
    await turns()
    expect([runs(b), runs(d)]).toEqual([true, false])
  })

  test('a rate counts starts only, and waiting calls are not overtaken', async () => {
    let now = 0
    const timers: (() => void)[] = []
    const clock: Clock = {
      ...manualClock(),
      now: () => now,
      monotonic: () => now,
      timer: (_, fire) => (timers.push(fire), () => {}),
    }
    const queue = open({ perSession: 1 }, clock)
    const a = ask(queue, 'rated', { session: 's1' })
    const b = ask(queue, 'rated', { session: 's2' })
    const c = ask(queue, 'rated', { session: 's3' })
    expect([runs(a), runs(b), runs(c)]).toEqual([true, false, false])
    b.stop()
    now = 1_000 // the window is over, but its timer is late
    expect(runs(ask(queue, 'rated', { session: 's4' }))).toBe(false)
    timers.shift()?.()
    await turns()
    expect([b.got, runs(c)]).toEqual(['stopped', true])
    // A call without a slot returns its start to the rate.
    now = 2_000
    const d = ask(queue, 'read', { session: 's5' })
    const waits = ask(queue, 'rated', { session: 's5' })
    timers.shift()?.()
    await turns()
    now = 3_000
    const e = ask(queue, 'rated', { session: 's6' })
    expect([runs(waits), runs(e)]).toEqual([false, true])
    end(d)
    await turns()
    expect(runs(waits)).toBe(false) // its start was used by another call
  })

  test('an unused rate is removed when its window is over', async () => {
    const clock = manualClock()
    const queue = open({}, clock)
    end(ask(queue, 'rated'))
    await clock.advance(500)
    expect(queue.size).toBe(1)
    await clock.advance(600)
    expect(queue.size).toBe(0)
  })

  test('a closed call passes on the slot that it waited to reacquire', async () => {
    const queue = open({ perWorker: 1 })
    const a = ask(queue, 'read')
    const slot = a.got as Slot
    slot.leave()
    const b = ask(queue, 'read')
    const both = [slot.enter(), slot.enter()]
    await turns()
    const c = ask(queue, 'read')
    end(b) // passes its slot to a
    slot.close()
    expect(await Promise.all(both)).toEqual([false, false])
    await turns()
    expect([runs(c), await slot.enter()]).toEqual([true, false])
    end(c)
    slot.release()
    expect(queue.size).toBe(0)
  })

  test('the number of waiting calls is bounded', () => {
    const queue = open({ perWorker: 1, waiting: 1 })
    const [a, b, c] = [ask(queue, 'read'), ask(queue, 'read'), ask(queue, 'read')]
    expect([runs(a), b.got, c.got]).toEqual([true, null, 'overloaded'])
  })
})

describe('nested calls', () => {
  const above = (...asked: Asked[]): { above: string[] } => ({ above: asked.map(({ uid }) => uid) })

  test('parents lend their slots and keys to one nested call at a time, at any depth', async () => {
    const queue = open({ perWorker: 1 })
    const root = ask(queue, 'keyed', { key: 'k' })
    const middle = ask(queue, 'read', above(root))
    const one = ask(queue, 'keyed', { key: 'k', ...above(root, middle) })
    const two = ask(queue, 'keyed', { key: 'k', ...above(root) })
    const below = ask(queue, 'keyed', { key: 'k', ...above(root, middle, one) })
    const stranger = ask(queue, 'keyed', { key: 'k', above: ['x'] })
    expect([middle, one, two, below, stranger].map(runs)).toEqual([true, true, false, true, false])
    end(below)
    end(one)
    await turns()
    expect([runs(two), runs(stranger)]).toEqual([true, false])
    end(root) // two still has the key
    await turns()
    expect(runs(stranger)).toBe(false)
    end(two)
    await turns()
    expect(runs(stranger)).toBe(true)
    end(stranger)
    end(middle)
    expect(queue.size).toBe(0)
  })

  test('the tool limit holds for nested calls; a tool that calls itself borrows its slot', async () => {
    const queue = open()
    const root = ask(queue, 'one')
    const again = ask(queue, 'one', above(root))
    const beside = ask(queue, 'one', above(root))
    const another = ask(queue, 'one')
    expect([root, again, beside, another].map(runs)).toEqual([true, true, false, false])
    end(again)
    await turns()
    expect([runs(beside), runs(another)]).toEqual([true, false])
  })

  test('cycles of keys and slots are rejected only while they exist', async () => {
    for (const [one, two] of [
      [
        ['keyed', 'k1'],
        ['keyed', 'k2'],
      ],
      [
        ['one', undefined],
        ['other', undefined],
      ],
      [
        ['one', undefined],
        ['keyed', 'k'],
      ],
    ] as const) {
      const queue = open()
      const want = ([name, key]: readonly [Name, string | undefined], more: object = {}): Asked =>
        ask(queue, name, { ...(key ? { key } : {}), ...more })
      const [a, b] = [want(one), want(two)]
      const first = want(two, above(a))
      first.stop()
      await turns()
      const called = want(one, above(b)) // no call waits for b any more
      await turns()
      expect([first.got, called.got]).toEqual(['stopped', null])
      const refused = want(two, above(a))
      await turns()
      expect(refused.got).toBe('would_deadlock')
      end(a)
      await turns()
      expect(runs(called)).toBe(true)
    }
  })
})

describe('batch order', () => {
  const at = (id: string, batch = 'b') => ({ tenant: 't', session: 's', batch, id, occurrence: 0 })

  test('SCHED-1: a call lost to a store failure keeps its batch order until it ends or is gone', () => {
    for (const ends of ['comes back', 'is gone'] as const) {
      const queue = new Queue(manualClock())
      const line = queue.batches.orderOf('b')
      const [lost, behind] = ['1', '2'].map((id) => queue.batches.expect(line, at(id), 'barrier', true)) as [
        never,
        never,
      ]
      queue.batches.executionLost(at('1'), null)
      queue.batches.outcomeUnobserved(lost, [lost, behind])
      expect(line.mayRun(behind, null)).toBe(false)
      if (ends === 'comes back') {
        queue.batches.expectRecovered(line, at('1'), 'barrier')
        expect(line.mayRun(behind, null)).toBe(false)
        queue.batches.pipelineDone(at('1'), null, null)
      } else queue.batches.willNotReturn(at('1'))
      expect(line.mayRun(behind, null)).toBe(true)
      queue.batches.releaseRun(behind)
      expect(queue.size).toBe(0)
    }
  })

  test('batch orders and positions are removed after their calls', () => {
    const queue = open()
    const line = queue.batches.orderOf('b')
    const places = ['1', '2', '3'].map((id) => queue.batches.expect(line, at(id), 'barrier'))
    expect(queue.batches.orderOf('b')).toBe(line)
    const joined = queue.batches.expect(queue.batches.orderOf('other'), at('1'), 'barrier')
    for (const place of [...places, joined]) queue.batches.releaseRun(place)
    expect(queue.size).toBe(0)
    queue.batches.expectRecovered(queue.batches.orderOf('b'), at('1'), 'barrier')
    queue.batches.pipelineDone(at('1'), null, null)
    expect(queue.size).toBe(0)
  })

  test('a call in two batches leaves both together, and a conflicting call leaves neither', () => {
    const queue = open()
    const [one, two] = [queue.batches.orderOf('one'), queue.batches.orderOf('two')]
    const first = queue.batches.expect(one, at('x'), 'barrier')
    const same = queue.batches.expect(two, at('x'), 'barrier')
    const conflict = queue.batches.expect(one, at('x'), 'barrier')
    const behind = [queue.batches.expect(one, at('y'), 'barrier'), queue.batches.expect(two, at('z'), 'barrier')]
    const free = (): boolean[] => behind.map((place) => place.order.mayRun(place, null))
    expect(conflict).toBe(first)
    queue.batches.releaseRun(conflict)
    expect(free()).toEqual([false, false])
    queue.batches.pipelineDone(at('x'), null, null)
    expect(free()).toEqual([true, true])
    queue.batches.releaseRun(same)
    queue.batches.releaseRun(first)
    for (const place of behind) queue.batches.releaseRun(place)
    expect(queue.size).toBe(0)
  })

  test('keyed calls get their keys in batch order, and equal keys run one after the other', () => {
    const queue = open()
    const line = queue.batches.orderOf('b')
    const [a, b, c] = ['a', 'b', 'c'].map((id) => queue.batches.expect(line, at(id), 'keyed')) as [never, never, never]
    expect([line.mayRun(c, 'l'), line.mayRun(b, 'k'), line.mayRun(a, 'k')]).toEqual([false, false, true])
    expect([line.mayRun(b, 'k'), line.mayRun(c, 'l')]).toEqual([false, true])
    queue.batches.leave(a)
    expect(line.mayRun(b, 'k')).toBe(true)
  })
})
