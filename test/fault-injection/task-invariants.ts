// Invariants of tasks at the end of a scenario, whatever failed before.

import type { Runtime, Task } from 'pawl'
import type { EventRecord } from '../../src/store/records/event.ts'
import type { Store } from '../../src/store/store.ts'
import { allEvents } from '../kit/stores/all-events.ts'
import { collections } from '../../src/store/collections.ts'

/** Expected result of one task. */
export interface Expected {
  readonly id: string
  /** The final state is one of these. */
  readonly states: readonly string[]
  /** All of these if the task succeeded, otherwise a prefix of them. */
  readonly messages?: readonly string[]
  readonly events?: readonly string[]
  readonly artifacts?: readonly string[]
  /** Output lines of one execution of the body. */
  readonly lines?: readonly string[]
  /** Notices that the session receives about the task. */
  readonly notices?: readonly string[]
  /** A call that was moved to the background has no files. */
  readonly moved?: true
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

export async function brokenLaws(runtime: Runtime, store: Store, expected: readonly Expected[]): Promise<string[]> {
  const wrong: string[] = []
  const { tasks, notices, files } = runtime.session('s')
  const all = await allEvents(store)
  const told = await notices.list()
  for (const want of expected) {
    const task = await tasks.get(want.id)
    if (!task) {
      wrong.push(`${want.id} is not there`)
      continue
    }
    const say = (what: string): void => void wrong.push(`${want.id} (${task.state}): ${what}`)
    const of = (type: string): EventRecord[] => all.filter((event) => event.call === task.call && event.type === type)
    if (!want.states.includes(task.state))
      say(`should be one of ${want.states.join()}: ${JSON.stringify(task.outcome)}`)
    if (of('task.created').length !== 1) say(`was created ${of('task.created').length} times`)
    if (of('call.settled').length !== 1) say(`ended ${of('call.settled').length} times`)
    const agrees = (what: string, have: readonly string[], wanted: readonly string[] = []): void => {
      const due = task.state === 'succeeded' ? wanted : wanted.slice(0, have.length)
      if (!same(have, due)) say(`${what}: ${JSON.stringify(have)} instead of ${JSON.stringify(wanted)}`)
    }
    const said = (await tasks.messages(want.id)).filter(({ direction }) => direction === 'out')
    agrees(
      'messages',
      said.map(({ text }) => text),
      want.messages,
    )
    if (of('task.message').filter(({ body }) => direction(body) === 'out').length !== said.length)
      say('the feed tells of other messages')
    const emitted = await store.documentsOf({
      of: 'task-event',
      tenant: 'default',
      session: 's',
      after: `${want.id}:`,
      limit: 99,
    })
    const own = emitted.filter(({ key }) => key.startsWith(`${want.id}:`))
    agrees(
      'events',
      own.map(({ value }, n) =>
        value.startsWith('~') ? (want.events?.[n] ?? '') : (JSON.parse(value) as { type: string }).type,
      ), // sealed
      want.events,
    )
    const numbers = of('task.event').map(({ body }) => (body as unknown as { number: number }).number)
    if (
      !same(
        numbers,
        own.map((_, n) => n + 1),
      )
    )
      say(`events are told as ${numbers.join()}`)
    agrees(
      'artifacts',
      task.artifacts.map(({ name }) => name),
      want.artifacts,
    )
    agrees(
      'notices',
      // A lost worker adds its own notice.
      told.filter((notice) => notice.task === want.id && notice.about !== 'lost').map(({ about }) => about),
      want.notices ?? ['end'],
    )
    if (task.state !== 'succeeded' && !told.some((notice) => notice.task === want.id && notice.about === 'end'))
      if (want.notices === undefined || want.notices.includes('end')) say('nobody is told of its end')
    if (task.inputRequest !== null) say('it still asks')
    const run = await store.document({ of: 'task-run', tenant: 'default', session: 's', key: want.id })
    const characters = !run || run.value.startsWith('~') ? null : collections.taskRun.parse(run.value).log.characters
    if (!want.moved) for (const problem of await brokenFiles(files, task, want.lines, characters)) say(problem)
    if ((await store.waitsOf(task.call)).some(({ resolution }) => resolution === null) && task.state === 'cancelled')
      say('a wait of it is open')
  }
  const ids = (await tasks.list()).map(({ id }) => id)
  if (!same(ids.toSorted(), expected.map(({ id }) => id).toSorted())) wrong.push(`there are ${ids.join()}`)
  const inbox = await runtime.inbox()
  if (inbox.length > 0) wrong.push(`in the inbox: ${inbox.map(({ kind }) => kind).join()}`)
  // Findings about the store are expected: its clock is not the manual one.
  for (const { kind, says } of (await runtime.health()).findings)
    if (kind !== 'store') wrong.push(`the doctor says: ${says}`)
  return wrong
}

const direction = (body: unknown): unknown => (body as { direction?: unknown } | undefined)?.direction

/**
 * Checks the files of a task: the log has one section per execution with output, the last one complete if the task
 * succeeded, and the result file matches the outcome.
 */
async function brokenFiles(
  files: ReturnType<Runtime['session']>['files'],
  task: Task,
  lines: readonly string[] = [],
  characters: number | null = null,
): Promise<string[]> {
  const wrong: string[] = []
  const read = async (path: string | null): Promise<string | null> => {
    try {
      return (await files.read(path ?? '')).text ?? null
    } catch (error) {
      if ((error as { code: string }).code === 'file_not_found') return null
      throw error
    }
  }
  const result = await read(task.resultPath)
  const { outcome } = task
  if (result === null) wrong.push('no result')
  else if (outcome?.status === 'success' && !same(JSON.parse(result), outcome.value))
    wrong.push(`the result is ${result}`)
  else if (
    outcome?.status === 'cancelled' &&
    !same(JSON.parse(result), { status: 'cancelled', message: outcome.cancellation.message })
  )
    wrong.push(`the result is ${result}`)
  const log = (await read(task.logPath)) ?? ''
  if (characters !== null && log.length !== characters)
    wrong.push(`the log has ${log.length} characters, not ${characters}`)
  if (log.startsWith('[system] attempt')) wrong.push('the log has lost its beginning')
  const sections = log.split(/^\[system\] attempt \d+\n/m).map((section) =>
    section
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('[system]'))
      .map((line) => line.replace(/^\[\w+\] /, '')),
  )
  for (const [n, section] of sections.entries()) {
    const whole = task.state === 'succeeded' && n === sections.length - 1
    if (!same(section, whole ? lines : lines.slice(0, section.length))) wrong.push(`the log: ${JSON.stringify(log)}`)
  }
  return wrong
}
