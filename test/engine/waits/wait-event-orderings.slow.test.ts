// All events of a wait in every order: the call begins to wait, two answers, the deadline, a cancel, a crash. The first
// one wins, every caller gets the same result, and nothing hangs.

import { setTimeout as passes } from 'node:timers/promises'
import type { CallDetails, Runtime } from 'pawl'
import { expect, test } from 'vitest'
import { type Ground, onEveryStore, until, type Worker } from '../../kit/stores/all-stores.ts'
import { rerunTool } from '../../kit/simple-tools.ts'

const happenings = ['waits', 'A', 'B', 'deadline', 'cancel', 'crash'] as const
type Happening = (typeof happenings)[number]

const orders = <T>(of: readonly T[]): T[][] =>
  of.length === 0
    ? [[]]
    : of.flatMap((first) => orders(of.filter((each) => each !== first)).map((rest) => [first, ...rest]))

interface Case {
  key: string
  readonly letsWait: PromiseWithResolvers<void>
  /** Number of times that the body began to wait. */
  waiting: number
  readonly cancelled: string[]
}

/** Cases by session. */
const cases = new Map<string, Case>()

const asks = (name: 'parks' | 'inside') =>
  rerunTool(
    name,
    {
      timeout: '30d',
      cancel({ key, name: wait, input }, ctx) {
        expect({ wait, input }).toEqual({ wait: 'later', input: {} })
        cases.get(ctx.session)?.cancelled.push(key)
      },
    },
    async (_, ctx) => {
      const own = cases.get(ctx.session) as Case
      const later = await ctx.later<string>({ deadline: '1h' })
      own.key = later.key
      await Promise.race([
        own.letsWait.promise,
        new Promise((_resolve, reject) =>
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error)),
        ),
      ])
      own.waiting++
      return name === 'parks' ? later : await later.value
    },
  )
const tools = [asks('parks'), asks('inside')]

/** The expected result of an order. */
function expected(order: readonly Happening[]): { terminal: object; outcome: object; answers: Record<string, object> } {
  const isBefore = (a: Happening, b: Happening): boolean => order.indexOf(a) < order.indexOf(b)
  const terminals = {
    A: { value: 'A' },
    B: { value: 'B' },
    deadline: { timeout: true },
    cancel: { cancelled: 'Not needed' },
  } as const
  const first = order.find((each) => each in terminals) as keyof typeof terminals
  const terminal = terminals[first]
  // A cancel stops a body that does not wait yet, although an answer is ready.
  const cancelled = first === 'cancel' || isBefore('cancel', 'waits')
  const outcome = cancelled
    ? { status: 'cancelled', cancellation: { message: 'Not needed' } }
    : first === 'deadline'
      ? { status: 'failure', failure: { code: 'wait_timeout' } }
      : { status: 'success', value: first }
  const answer = (who: 'A' | 'B'): object =>
    first === who ? { answer: 'accepted' } : { answer: 'already_resolved', terminal }
  return { terminal, outcome, answers: { A: answer('A'), B: answer('B') } }
}

async function play(
  ground: Ground,
  name: string,
  session: string,
  order: readonly Happening[],
  first: Worker,
): Promise<Worker> {
  const { clock } = ground
  const own: Case = { key: '', letsWait: Promise.withResolvers(), waiting: 0, cancelled: [] }
  cases.set(session, own)
  let worker = first
  const ask = (runtime: Runtime) => runtime.session(session).run([{ id: 'a', name }])
  let run = ask(worker.runtime)
  run.catch(() => {})
  const call = async (): Promise<CallDetails> => (await worker.runtime.session(session).calls.get('a')) as CallDetails
  await until(() => own.key !== '')
  const answers: Record<string, object> = {}
  for (const each of order) {
    // A body with its answer continues and could still be cancelled: let it finish first.
    if (each === 'cancel' && own.waiting > 0 && (await call()).waits[0]?.state !== 'open')
      await until(async () => (await call()).state === 'settled')
    if (each === 'A' || each === 'B') answers[each] = await worker.runtime.resolve(own.key, { value: each })
    else if (each === 'cancel') await worker.runtime.session(session).cancel('Not needed', 'user:ada')
    else if (each === 'deadline') {
      await clock.advance('1h')
      await until(async () => (await call()).waits[0]?.state !== 'open')
    } else if (each === 'waits') {
      own.letsWait.resolve()
      await until(
        async () =>
          (own.waiting > 0 && (await call()).state !== 'running') ||
          name === 'inside' ||
          (await call()).state === 'settled',
      )
    } else {
      await worker.die()
      worker = await ground.worker({ tools })
      run = ask(worker.runtime)
    }
  }
  const want = expected(order)
  expect(await run, order.join(' ')).toMatchObject([want.outcome])
  expect(answers, order.join(' ')).toEqual(want.answers)
  expect(await worker.runtime.resolve(own.key, { value: 'too late' }), order.join(' ')).toEqual({
    answer: 'already_resolved',
    terminal: want.terminal,
  })
  // The tool's cancel runs if and only if the cancel was first.
  expect([...new Set(own.cancelled)], order.join(' ')).toEqual('cancelled' in want.terminal ? [own.key] : [])
  cases.delete(session)
  return worker
}

/** A safety net in real time: the work itself uses the manual clock. */
async function within<T>(work: Promise<T>, otherwise: string): Promise<T> {
  const limit = new AbortController()
  try {
    return await Promise.race([
      work,
      passes(10_000, null, { signal: limit.signal }).then(() => Promise.reject(new Error(otherwise))),
    ])
  } finally {
    limit.abort()
  }
}

/** All orders in memory; every fifth on the slower stores. PAWL_SEED selects others, PAWL_ALL selects all. */
const seed = Number(process.env.PAWL_SEED ?? 1)
const chosen = (kind: string): Happening[][] =>
  orders(happenings).filter(
    (_, index) => kind === 'memory' || process.env.PAWL_ALL !== undefined || index % 5 === seed % 5,
  )

onEveryStore('wait events in every order', (ground) => {
  const played = chosen(ground.kind)

  test.for(['parks', 'inside'])(
    `WAIT-2 WAIT-4: %s: in all ${played.length} orders the first event decides the outcome`,
    { timeout: 240_000 },
    async (name) => {
      let worker = await ground.worker({ tools })
      for (const order of played) {
        const playing = play(ground, name, `${name} ${order.join(' ')}`, order, worker)
        worker = await within(playing, `It hangs: ${order.join(' ')}`)
      }
      await worker.die()
    },
  )
})
