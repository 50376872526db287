// What a body that is a task can do besides: ctx.task and ctx.emit (TASK-7, TASK-8).
//
// The n-th signal of a name meets the n-th wait for it. Both sides change one thing that is kept, by compare-and-set: the sender adds a
// signal and answers the wait that stands for it, the body takes the signal or leaves its wait there. So whoever is first, none is lost.

import { checkSignal, messageSignal, replySignal, signalMark, signalWait } from '../../store/records/signal-names.ts'
import { type Heard, heardBy, noSignals, type Signals } from '../../store/records/signals.ts'
import { messageName, signalsName } from '../../store/records/task-record.ts'
import { type Duration, milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { bytesIn, fits } from '../../core/size-limits.ts'
import { filePath } from '../../storage/files/file-path.ts'
import type { InputRequest, TaskArtifact } from '../../core/task-state.ts'
import { decode, encode, fromRow, type Json, toRow } from '../../core/value.ts'
import type { TaskContext, TaskMessage } from '../../tools/context/tasks.ts'
import { WaitError } from '../../store/records/resolution.ts'
import type { Around } from '../context/call-environment.ts'
import type { Inside } from '../context/call-environment.ts'
import type { RunOfTask } from './task-run.ts'

const defaultDeadline = '7d'

const longestName = 200
const longestUrl = 4_000

/** A file of the session, in the one form of its path; or a link. */
function artifactOf(name: unknown, type: unknown, path: unknown, url: unknown): TaskArtifact {
  const isText = (value: unknown, most: number): value is string =>
    typeof value === 'string' && value !== '' && value.length <= most && value.isWellFormed()
  if (!isText(name, longestName) || !isText(type, longestName) || (path === undefined) === (url === undefined))
    throw new PawlError(
      'task_invalid',
      `An artifact has a name and a type of 1 to ${longestName} characters, and a path or a url.`,
    )
  if (path !== undefined) return { name, type, path: filePath(path).path }
  if (!isText(url, longestUrl))
    throw new PawlError('task_invalid', `The url of an artifact is a text of 1 to ${longestUrl} characters.`)
  return { name, type, url }
}

export function taskContext(around: Around, run: RunOfTask, inside: Inside): TaskContext {
  const { execution, host } = around
  const { position } = execution.request
  const { id } = run.terms
  const counts = new Map<string, number>()
  const next = (what: string): number => {
    const number = (counts.get(what) ?? 0) + 1
    counts.set(what, number)
    return number
  }

  const awaited = async <T>(name: string, deadline: Duration | undefined): Promise<T> => {
    const number = next(name)
    inside.entry()
    const deadlineMs = milliseconds(deadline ?? defaultDeadline, 'The deadline of a signal')
    const wait = await execution.wait({
      name: signalWait(name, number),
      deadlineMs,
      terms: {},
    })
    const mark = await execution.tally({
      key: signalMark(name, number),
      names: [signalsName(position, id, name)],
      count([kept]) {
        const { signals, heard } = heardBy(
          wait.id,
          kept === null || kept === undefined ? noSignals : (JSON.parse(kept) as Signals),
        )
        return { documents: [JSON.stringify(signals)], mark: JSON.stringify(heard) }
      },
    })
    const heard = JSON.parse(mark) as Heard
    if ('have' in heard) return fromRow(heard.have) as T
    const resolution = await inside.outside(() => execution.answer(wait, around.signal))
    if ('value' in resolution) return resolution.value as T
    throw new WaitError(resolution)
  }

  const requestOf = (message: string, prompt: string, expected: unknown): InputRequest => ({
    id: message,
    prompt: host.redact.text(prompt).toWellFormed(),
    ...(expected === undefined ? {} : { expected: host.redact.deep(decode(encode(expected))) }),
  })

  /** Once, however often the body runs. */
  const sent = async (text: string, data: unknown, asks?: true): Promise<string> => {
    const number = next('message')
    inside.entry()
    const message = `${id}.${number}`
    if (typeof text !== 'string') throw new PawlError('value_invalid', 'The text of a message must be a string.')
    await execution.run({ key: `message:${number}`, input: null, once: false }, async () => {
      inside.leaf('task.message') // what is not recorded is not kept beside it either
      const at = host.clock.now()
      const row: TaskMessage = {
        id: message,
        direction: 'out',
        text: host.redact.text(text).toWellFormed(),
        ...(data === undefined ? {} : { data: toRow(host.redact.deep(decode(encode(data)))) }),
        ...(asks ? { asks } : {}),
        at,
      }
      const value = JSON.stringify(row)
      if (!fits(value, host.sizes.step))
        throw new PawlError(
          'step_too_large',
          `A message has ${bytesIn(value)} bytes; at most ${host.sizes.step} are kept.`,
        )
      if (asks) {
        run.update({ request: requestOf(message, text, data) })
        run.gather()
      }
      const kept = { ...messageName(position, id, at, `out.${String(number).padStart(6, '0')}`), value }
      const notice = run.notice(asks ? 'request' : 'message', row.text)
      return {
        done: 'null',
        beside: {
          documents: [kept, ...notice.documents],
          tells: [
            { type: 'task.message', body: { task: id, message, direction: 'out', ...(asks ? { asks } : {}) } },
            ...notice.tells,
          ],
        },
      }
    })
    return message
  }

  return {
    id,
    status(text) {
      if (!around.over) run.status(text)
    },
    async artifact({ name, type = 'file', path, url }) {
      inside.leaf('task.artifact')
      run.update({ artifact: artifactOf(name, type, path, url) })
      execution.attached.tell('task.artifact', { task: id, artifacts: run.run.artifacts.length })
      await run.flushed()
    },
    async link(remote) {
      inside.leaf('task.link')
      if (typeof remote !== 'string' || remote === '' || remote.length > longestUrl || !remote.isWellFormed())
        throw new PawlError('task_invalid', `A link is a text of 1 to ${longestUrl} characters.`)
      run.update({ links: { remote: [host.redact.text(remote)] } })
      await run.flushed()
    },
    async message(text, data) {
      inside.leaf('task.message')
      await sent(text, data)
    },
    async request(prompt, { expected, deadline } = {}) {
      inside.leaf('task.request')
      inside.needsRerun('ctx.task.request')
      const message = await sent(prompt, expected, true)
      // Asked in an earlier attempt: what that asked ended with it, and it is asked still.
      if (run.run.request?.id !== message) {
        run.update({ request: requestOf(message, prompt, expected) })
        await run.flushed()
      }
      const reply = await awaited<{ text: string; data?: Json }>(replySignal(message), deadline)
      if (run.run.request?.id === message) run.update({ request: null })
      return reply
    },
    async signal(name, { deadline } = {}) {
      inside.leaf('task.signal')
      inside.needsRerun('ctx.task.signal')
      return awaited(checkSignal(name), deadline)
    },
    async receive({ deadline } = {}) {
      inside.leaf('task.receive')
      inside.needsRerun('ctx.task.receive')
      return awaited(messageSignal, deadline)
    },
  }
}
