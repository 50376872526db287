// Invariants of tasks after chaos: the record accepted output only from the attempt that held the lease, each item once
// and in order, and no task is left without a worker.

import type { EventRecord, Runtime, Task } from 'pawl'
import type { Store } from '../../src/store/store.ts'
import { allEvents } from '../kit/stores/all-events.ts'
import { readLedger, startsByEffect } from './effect-ledger.ts'

interface After {
  readonly door: Runtime
  readonly store: Store
  readonly asked: readonly { id: string; session: string; kind: string }[]
  readonly cancelled: ReadonlySet<string>
  readonly ledger: string
  readonly sessions: readonly string[]
}
interface From {
  readonly pid: number
  readonly attempt: number
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

export async function brokenTaskLaws({ door, store, asked, cancelled, ledger, sessions }: After): Promise<string[]> {
  const wrong: string[] = []
  const events = await allEvents(store)
  const ofCall = Map.groupBy(events, ({ call }) => call)
  const starts = startsByEffect(readLedger(ledger))
  for (const [effect, times] of starts)
    if (effect.endsWith('/once') && times > 1) wrong.push(`${effect} happened ${times} times`)
  for (const session of sessions) {
    const { tasks, notices } = door.session(session)
    const all = await tasks.list({ limit: 500 })
    const told = await notices.list()
    const wanted = asked.filter((each) => each.session === session).map(({ id }) => id)
    for (const id of wanted) if (!all.some((task) => task.id === id)) wrong.push(`${id} is not there`)
    for (const task of all) {
      const say = (what: string): void =>
        void wrong.push(`${task.id} (${task.state}, attempt ${task.attempt}): ${what}`)
      const may = new Set(['succeeded'])
      if (task.tool === 'once') may.add('abandoned')
      if (cancelled.has(task.id) || cancelled.has(task.parent ?? '')) may.add('cancelled')
      if (task.tool === 'endless') may.add('cancelled').delete('succeeded')
      if (!may.has(task.state)) say(`it should not end so: ${JSON.stringify(task.outcome)}`)
      const own = ofCall.get(task.call) ?? []
      for (const type of ['task.created', 'call.settled'] as const) {
        const times = own.filter((event) => event.type === type).length
        if (times !== 1) say(`${type} ${times} times`)
      }
      const ends = told.filter((notice) => notice.task === task.id && notice.about === 'end').length
      if (ends !== 1) say(`the session is told ${ends} times of its end`)
      for (const problem of await brokenTelling({ door, store, session, task, own })) say(problem)
    }
  }
  for (const call of await store.unsettled({ after: '', limit: 20 }))
    wrong.push(`${call.tool} ${call.position.id} is left ${call.state}`)
  for (const hold of await store.holds()) wrong.push(`a place is held: ${JSON.stringify(hold)}`)
  for (const { says } of (await door.health()).findings) wrong.push(`the doctor says: ${says}`)
  return wrong
}

interface Telling {
  readonly door: Runtime
  readonly store: Store
  readonly session: string
  readonly task: Task
  readonly own: readonly EventRecord[]
}

async function brokenTelling({ door, store, session, task, own }: Telling): Promise<string[]> {
  const wrong: string[] = []
  const { tasks, files } = door.session(session)
  const pids = new Map<number, number>()
  /** All output of one attempt comes from one process. */
  const by = (what: string, { pid, attempt }: From): void => {
    if ((pids.get(attempt) ?? pid) !== pid)
      wrong.push(`${what} of attempt ${attempt} is told by ${pid} and by ${pids.get(attempt)}`)
    pids.set(attempt, pid)
  }
  const messages = new Map((await tasks.messages(task.id, { limit: 500 })).map((message) => [message.id, message]))
  const said = [...messages.values()].filter(({ direction }) => direction === 'out')
  const kept = await store.documentsOf({
    of: 'task-event',
    tenant: 'default',
    session,
    after: `${task.id}:`,
    limit: 99,
  })
  const emitted = kept
    .filter(({ key }) => key.startsWith(`${task.id}:`))
    .map(({ value }) => (JSON.parse(value) as { payload: From & { n: number } }).payload)

  // In record order: output belongs to the attempt that began last, and none follows the end.
  let attempt = 0
  let over = false
  for (const event of own) {
    const isOurs =
      event.type.startsWith('task.') &&
      !(event.type === 'task.signal' || (event.type === 'task.message' && event.body.direction === 'in'))
    if (over && isOurs) wrong.push(`${event.type} after its end`)
    if (event.type === 'call.started') attempt = event.body.attempt
    else if (event.type === 'call.settled') over = true
    else if (event.type === 'task.updated' && event.body.attempt !== attempt)
      wrong.push(`an update of attempt ${event.body.attempt} in ${attempt}`)
    else if (event.type === 'task.message' && event.body.direction === 'out' && task.tool === 'tells') {
      const from = messages.get(event.body.message)?.data as unknown as From | undefined
      if (from?.attempt !== attempt) wrong.push(`a message of attempt ${from?.attempt} in ${attempt}`)
      if (from) by('a message', from)
    } else if (event.type === 'task.event') {
      const from = emitted[event.body.number - 1]
      if (from?.attempt !== attempt) wrong.push(`an event of attempt ${from?.attempt} in ${attempt}`)
      if (from) by('an event', from)
    }
  }
  if (attempt !== task.attempt) wrong.push(`the feed tells of ${attempt} attempts`)

  const succeeded = task.outcome?.status === 'success'
  const agrees = (what: string, have: readonly unknown[], all: readonly unknown[]): void => {
    if (!same(have, succeeded ? all : all.slice(0, have.length))) wrong.push(`${what}: ${JSON.stringify(have)}`)
  }
  if (task.tool === 'tells') {
    agrees(
      'messages',
      said.map(({ text }) => text),
      ['m1', 'm2', 'm3'],
    )
    agrees(
      'events',
      emitted.map(({ n }) => n),
      [1, 2, 3],
    )
    agrees(
      'artifacts',
      task.artifacts.map(({ name }) => name),
      ['a1', 'a2', 'a3'],
    )
    for (const { url = '' } of task.artifacts) {
      const [pid, of] = url.slice(7).split('/').map(Number) as [number, number]
      by('an artifact', { pid, attempt: of })
      if (succeeded && of !== task.attempt) wrong.push(`an artifact of attempt ${of}`)
    }
    if (succeeded && !same(task.progress, { current: 3 })) wrong.push(`progress is ${JSON.stringify(task.progress)}`)
  }
  const read = async (path: string | null): Promise<string> =>
    (await files.read(path ?? '').catch(() => ({ text: '' }))).text ?? ''
  let last = { attempt: 0, n: 0 }
  for (const line of (await read(task.logPath)).split('\n')) {
    const [, n, pid, of] = (/^\[stdout\] (\d) (\d+) (\d+)$/.exec(line) ?? []).map(Number) as [
      number,
      number?,
      number?,
      number?,
    ]
    if (n === undefined || pid === undefined || of === undefined) continue
    by('output', { pid, attempt: of })
    if (of < last.attempt || n !== (of === last.attempt ? last.n + 1 : 1))
      wrong.push(`output ${n} of attempt ${of} after ${last.n} of ${last.attempt}`)
    last = { attempt: of, n }
  }
  if (succeeded && task.tool === 'tells' && !same(last, { attempt: task.attempt, n: 3 }))
    wrong.push(`the log ends with ${JSON.stringify(last)}`)
  const result = await read(task.resultPath)
  if (result === '') wrong.push('it has no result')
  if (task.outcome?.status === 'success') {
    const value = task.outcome.value as unknown as From & { heard?: unknown; state?: string }
    if (!same(JSON.parse(result || 'null'), value)) wrong.push(`the result is ${result}`)
    by('the result', value)
    if (value.attempt !== task.attempt) wrong.push(`it ended with attempt ${value.attempt}`)
    if (task.tool === 'hears' && !same(value.heard, [1, 2, 'this']))
      wrong.push(`it heard ${JSON.stringify(value.heard)}`)
  }
  return wrong
}
