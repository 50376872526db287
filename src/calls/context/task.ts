// `ctx.task`: status, messages, artifacts, requests and signals of a body that runs as a task.
//
// The n-th signal of a name is received by the n-th wait for it. Both sides update one document by compare-and-set: the
// sender adds the signal and answers the open wait, the body takes the signal or registers its wait. So no signal is
// lost, in either order.

import { checkOptions, checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import { checkSignal, replySignal, signalWait } from '../../store/records/signal-names.ts'
import { receiveSignal, noSignals, parseReceiveResult } from '../../store/records/signals.ts'
import { type Duration, milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { utf8Bytes, fits } from '../../core/size-limits.ts'
import { filePath } from '../../storage/files/file-path.ts'
import type { InputRequest, TaskArtifact } from '../../core/task-state.ts'
import { decode, encode, fromRow, type Json, toRow } from '../../core/tool-value.ts'
import type { TaskContext, TaskMessage } from '../../tools/context/task-interfaces.ts'
import { WaitError } from '../../store/records/wait-resolution.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { reporterOf, type TaskReporter } from '../task-execution/task-run.ts'
import type { CallEnvironment } from './call-environment.ts'
import { collections } from '../../store/collections.ts'
import { stepKeys, messageSignal } from '../../store/journal-keys.ts'

const defaultDeadline = '7d'

const maxNameChars = 200
const maxUrlChars = 4_000

/** Validates an artifact: a file of the session, with a normalized path, or a link. */
function artifactOf(name: unknown, type: unknown, path: unknown, url: unknown): TaskArtifact {
  const isText = (value: unknown, maxChars: number): value is string =>
    typeof value === 'string' && value !== '' && value.length <= maxChars && value.isWellFormed()
  if (!isText(name, maxNameChars) || !isText(type, maxNameChars) || (path === undefined) === (url === undefined))
    throw new PawlError(
      'task_invalid',
      `An artifact needs \`name\` and \`type\` (strings of 1 to ${maxNameChars} characters) and a \`path\` or a \`url\`.`,
    )
  if (path !== undefined) return { name, type, path: filePath(path).path }
  if (!isText(url, maxUrlChars))
    throw new PawlError(
      'task_invalid',
      `The \`url\` of an artifact must be a string of 1 to ${maxUrlChars} characters.`,
    )
  return { name, type, url }
}

const artifactOptions = {
  name: option.required(option.string),
  type: option.string,
  path: option.string,
  url: option.string,
} satisfies OptionTable<Parameters<TaskContext['artifact']>[0]>
const waitOptions = { deadline: option.duration }
const requestOptions = { ...waitOptions, expected: option.anything } satisfies OptionTable<
  NonNullable<Parameters<TaskContext['request']>[1]>
>

export function task(context: CallEnvironment): Pick<ToolContext, 'task'> {
  const reporter = reporterOf(context.execution)
  return { task: reporter && taskContext(context, reporter) }
}

function taskContext(context: CallEnvironment, reporter: TaskReporter): TaskContext {
  const { execution, host } = context
  const { position } = execution.request
  const { id } = reporter.terms
  const counts = new Map<string, number>()
  const next = (kind: string): number => {
    const number = (counts.get(kind) ?? 0) + 1
    counts.set(kind, number)
    return number
  }

  const waitForSignal = async <T>(name: string, deadline: Duration | undefined): Promise<T> => {
    const number = next(name)
    context.countEntry()
    const deadlineMs = milliseconds(deadline ?? defaultDeadline, 'The deadline of a signal')
    const wait = await execution.openWait({
      name: signalWait(name, number),
      deadlineMs,
      terms: {},
    })
    const mark = await execution.updateCounters({
      key: stepKeys.signal(name, number),
      names: [collections.taskSignals.name(position, id, name)],
      count([document]) {
        const { signals, result: received } = receiveSignal(
          wait.id,
          document === null || document === undefined ? noSignals : collections.taskSignals.parse(document),
        )
        return { documents: [JSON.stringify(signals)], mark: JSON.stringify(received) }
      },
    })
    const received = parseReceiveResult(mark)
    if ('have' in received) return fromRow(received.have) as T
    const resolution = await context.whileWaiting(() => execution.awaitAnswer(wait, context.signal))
    if ('value' in resolution) return resolution.value as T
    throw new WaitError(resolution)
  }

  const requestOf = (message: string, prompt: string, expected: unknown): InputRequest => ({
    id: message,
    prompt: host.redact.text(prompt).toWellFormed(),
    ...(expected === undefined ? {} : { expected: host.redact.deep(decode(encode(expected))) }),
  })

  /** Sends the message once, however often the body runs. */
  const sendMessage = async (text: string, data: unknown, asks?: true): Promise<string> => {
    const number = next('message')
    context.countEntry()
    const message = `${id}.${number}`
    if (typeof text !== 'string') throw new PawlError('value_invalid', 'The `text` of a message must be a string.')
    await execution.runStep({ key: stepKeys.message(number), input: null, once: false }, async () => {
      // Checked again: if the step is not recorded, its attached writes must not be either.
      context.assertUsable('task.message')
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
          `A message has ${utf8Bytes(value)} bytes; the limit is ${host.sizes.step}.`,
        )
      if (asks) {
        reporter.update({ request: requestOf(message, text, data) })
        reporter.attachPending()
      }
      const document = {
        ...collections.taskMessage.name(position, id, at, `out.${String(number).padStart(6, '0')}`),
        value,
      }
      const notice = reporter.notice(asks ? 'request' : 'message', row.text)
      return {
        done: 'null',
        attached: {
          documents: [document, ...notice.documents],
          events: [
            { type: 'task.message', body: { task: id, message, direction: 'out', ...(asks ? { asks } : {}) } },
            ...notice.events,
          ],
        },
      }
    })
    return message
  }

  return {
    id,
    status(text) {
      if (!context.ended) reporter.status(text)
    },
    async artifact(artifact) {
      checkRequiredOptions(artifact, artifactOptions, 'ctx.task.artifact()', 'task_invalid')
      const { name, type = 'file', path, url } = artifact
      context.assertUsable('task.artifact')
      reporter.update({ artifact: artifactOf(name, type, path, url) })
      execution.attached.appendEvent('task.artifact', { task: id, artifacts: reporter.run.artifacts.length })
      await reporter.flush()
    },
    async link(remote) {
      context.assertUsable('task.link')
      if (typeof remote !== 'string' || remote === '' || remote.length > maxUrlChars || !remote.isWellFormed())
        throw new PawlError('task_invalid', `A link must be a string of 1 to ${maxUrlChars} characters.`)
      reporter.update({ links: { remote: [host.redact.text(remote)] } })
      await reporter.flush()
    },
    async message(text, data) {
      context.assertUsable('task.message')
      await sendMessage(text, data)
    },
    async request(prompt, options = {}) {
      checkOptions(options, requestOptions, 'ctx.task.request()', 'task_invalid')
      const { expected, deadline } = options
      context.assertUsable('task.request')
      context.requireRerun('ctx.task.request')
      const message = await sendMessage(prompt, expected, true)
      // The message was sent by an earlier attempt, and the open request was cleared when that attempt ended: show it
      // again.
      if (reporter.run.request?.id !== message) {
        reporter.update({ request: requestOf(message, prompt, expected) })
        await reporter.flush()
      }
      const reply = await waitForSignal<{ text: string; data?: Json }>(replySignal(message), deadline)
      if (reporter.run.request?.id === message) reporter.update({ request: null })
      return reply
    },
    async signal(name, options) {
      checkOptions(options, waitOptions, 'ctx.task.signal()', 'task_invalid')
      context.assertUsable('task.signal')
      context.requireRerun('ctx.task.signal')
      return waitForSignal(checkSignal(name), options?.deadline)
    },
    async receive(options) {
      checkOptions(options, waitOptions, 'ctx.task.receive()', 'task_invalid')
      context.assertUsable('task.receive')
      context.requireRerun('ctx.task.receive')
      return waitForSignal(messageSignal, options?.deadline)
    },
  }
}
