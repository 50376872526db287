// What a body can do with its ctx. The rules of steps are kept here (a blank id, an id used twice, nothing recorded inside a step),
// and values are turned into their recorded form and back, so the first run sees what a replay will see.

import { milliseconds } from '../../core/duration.ts'
import { isLoss, PawlError } from '../../core/errors.ts'
import { isName } from '../../core/ids.ts'
import { abortsTurn } from '../../core/outcome.ts'
import { fits } from '../../core/size-limits.ts'
import { decode, encode } from '../../core/value.ts'
import type {
  Attachments,
  Later,
  LaterOptions,
  Logger,
  NestedOutcome,
  StepOptions,
  ToolContext,
} from '../../tools/context/context.ts'
import { onCrashOf } from '../../tools/hints.ts'
import type { Tasks } from '../../tools/context/tasks.ts'
import type { Tool } from '../../tools/tool.ts'
import { WaitError } from '../../store/records/resolution.ts'
import type { Around } from './call-environment.ts'
import { attachmentsOf } from './attachments.ts'
import { emitting } from '../task-execution/emit-task-event.ts'
import type { Inside } from './call-environment.ts'
import { modelsInBody } from './models.ts'
import { taskContext } from '../task-execution/task-context.ts'
import { runOf } from '../task-execution/task-run.ts'
import { tasksInBody } from './tasks.ts'
import { waitTerms } from './wait-options.ts'
import { LaterHandle, parksOn } from './later.ts'
import { askQuestion } from '../authorization/question.ts'
import { connectionOf } from '../authorization/connection.ts'
import { untold } from '../authorization/known-connections.ts'
import { scope } from '../async-context.ts'
import { secretsInBody, valuesInBody } from './values.ts'
import { runStep, stepError, tooLarge } from './run-step.ts'

const defaultDeadline = '7d'
const defaultWaitName = 'later'

type Verb =
  | 'ask'
  | 'connection'
  | 'key'
  | 'step'
  | 'sleep'
  | 'later'
  | 'now'
  | 'random'
  | 'uuid'
  | 'run'
  | 'call'
  | 'progress'
  | 'output'
  | 'log'
  | 'attachments'
  | 'task'
  | 'tasks'
  | 'emit'
  | 'triggers'
  | 'complete'
  | 'turn'
  | 'values'
  | 'secrets'
export type Verbs = Pick<ToolContext, Verb> & { idempotencyKey(): string }

/** Tools that were warned about, by whose logger was told: once is enough. */
const warned = new WeakMap<object, WeakSet<Tool>>()

export function verbsOf(context: Around): Verbs {
  const { execution, tool, host, pace } = context
  const { request, callId: id } = execution
  const mayRerun = onCrashOf(tool) === 'rerun'
  const used = new Set<string>()
  const counts = { sleep: 0, now: 0, random: 0, uuid: 0, run: 0, trigger: 0 }
  let entries = 0
  /** Waiting for the outside: the clocks of the attempt stand still and its place in the queue is free. */
  const outside = async <T>(wait: () => Promise<T>): Promise<T> => {
    pace?.pause()
    try {
      return await wait()
    } finally {
      await pace?.resume()
    }
  }

  const leaf = (what: string): void => {
    if (context.over) throw new PawlError('attempt_over')
    const step = scope.getStore()?.step
    if (step !== undefined) throw new PawlError('step_nested', `ctx.${what} was called in step '${step}'.`)
  }
  const entry = (): void => {
    const most = host.sizes.journal
    if (++entries > most) throw new PawlError('journal_full', `It may be ${most} entries long.`)
  }
  const warnIfStop = (what: string): void => {
    if (mayRerun) return
    const told = warned.get(host.logger) ?? new WeakSet<Tool>()
    if (told.has(tool)) return
    warned.set(host.logger, told.add(tool))
    host.logger.warn(
      `Tool '${tool.name}' uses ctx.${what} but stops after a crash, so what it records is never replayed. Set onCrash: 'rerun'.`,
      {
        tool: tool.name,
      },
    )
  }
  const needsRerun = (what: string): void => {
    if (!mayRerun) throw new PawlError('wait_needs_rerun', `Tool '${tool.name}' used ${what}.`)
  }

  const step = async (stepId: string, ...rest: unknown[]): Promise<unknown> => {
    const withInput = typeof rest[0] !== 'function'
    const [run, options] = (withInput ? rest.slice(1) : rest) as [(input?: unknown) => unknown, StepOptions | undefined]
    if (typeof stepId !== 'string' || stepId.trim() === '') throw new PawlError('step_id_empty')
    if (!isName(stepId))
      throw new PawlError('step_id_invalid', `The id is ${JSON.stringify(String(stepId).slice(0, 60))}.`)
    leaf('step')
    pace?.look()
    if (used.has(stepId)) throw new PawlError('step_id_duplicate', `The id is '${stepId}'.`)
    used.add(stepId)
    entry()
    warnIfStop('step')
    const input = withInput ? encode(rest[0]) : null
    if (input !== null && !fits(input, host.sizes.step)) throw tooLarge(stepId, 'input', input, host)
    const spec = { key: `step:${stepId}`, input, once: options?.once ?? false }
    const about = { tool: tool.name, callId: id, call: request.uid, logger: host.logger, step: stepId }
    const end = await execution.run(spec, () =>
      scope.run(about, () => runStep(() => run(input === null ? undefined : decode(input)), stepId, options, context)),
    )
    if ('done' in end) return decode(end.done)
    throw stepError(stepId, end.failed)
  }

  const later = async <T>(options: LaterOptions = {}): Promise<Later<T>> => {
    const name = options.name ?? defaultWaitName
    if (name.trim() === '') throw new PawlError('wait_name_empty')
    // Those that begin like this are ours.
    if (name.startsWith('pawl:') || !isName(name))
      throw new PawlError('wait_name_invalid', `The name is ${JSON.stringify(name.slice(0, 60))}.`)
    leaf('later')
    entry()
    warnIfStop('later')
    const deadlineMs = milliseconds(options.deadline ?? defaultDeadline, 'The deadline of a wait')
    const wait = await execution.wait({ name, deadlineMs, terms: waitTerms(options, tool, host.sizes) })
    const handle = new LaterHandle<T>(wait, async () => {
      leaf('later')
      needsRerun('await later.value')
      const resolution = await outside(() => execution.answer(wait, context.signal))
      if ('value' in resolution) return resolution.value as T
      throw new WaitError(resolution)
    })
    return parksOn(handle, wait, request.uid)
  }

  const nested = async (calls: readonly { id: string; name: string; input?: unknown }[]): Promise<NestedOutcome[]> => {
    const outcomes = await host.nested(execution, untold(calls, context.told), {
      name: `run:${++counts.run}`,
      pace,
      signal: context.signal,
    })
    const abort = outcomes.map(abortsTurn).find((each) => each !== null)
    if (abort) pace?.abort(abort)
    return outcomes
  }

  const derived = (purpose: string, bytes: number): Buffer => Buffer.from(execution.derive(purpose)).subarray(0, bytes)

  const inside: Inside = { leaf, entry, needsRerun, outside }
  const taskRun = runOf(execution)
  const task = taskRun && taskContext(context, taskRun, inside)
  let tasks: Tasks | undefined
  let values: ToolContext['values'] | undefined
  let secrets: ToolContext['secrets'] | undefined
  let log: Logger | undefined
  let attachments: Attachments | undefined
  return {
    idempotencyKey: () => derived('call', 24).toString('base64url'),
    key: (name) => derived(`key:${name}`, 24).toString('base64url'),
    step: step as ToolContext['step'],
    async sleep(duration) {
      const ms = milliseconds(duration, 'A sleep')
      leaf('sleep')
      needsRerun('ctx.sleep')
      entry()
      const key = `sleep:${++counts.sleep}`
      await outside(() => execution.sleep(key, ms, context.signal))
    },
    later,
    async ask(question) {
      leaf('ask')
      entry()
      return askQuestion(context, question, {
        awaited() {
          leaf('ask')
          needsRerun('the answer to ctx.ask')
        },
        async outside(wait) {
          pace?.deciding(true)
          try {
            return await outside(wait)
          } finally {
            pace?.deciding(false)
          }
        },
      })
    },
    async connection(provider) {
      if (context.over) throw new PawlError('attempt_over')
      return connectionOf(context, provider)
    },
    async now() {
      leaf('now')
      entry()
      return execution.now(`now:${++counts.now}`)
    },
    random() {
      leaf('random')
      return derived(`random:${++counts.random}`, 6).readUIntBE(0, 6) / 2 ** 48
    },
    uuid() {
      leaf('uuid')
      return uuidFrom(derived(`uuid:${++counts.uuid}`, 16))
    },
    async run(calls) {
      leaf('run')
      return nested(calls)
    },
    async call(other, input) {
      leaf('call')
      const [outcome] = await nested([{ id: other.name, name: other.name, input }])
      return outcome as never
    },
    progress(progress) {
      if (context.over) return
      pace?.progress()
      context.live.progress(progress)
    },
    output(text, stream) {
      if (context.over) return
      pace?.progress()
      context.live.output(text, stream ?? 'stdout')
    },
    task,
    get tasks() {
      tasks ??= tasksInBody(context, inside)
      return tasks
    },
    get values() {
      return (values ??= valuesInBody(context, inside))
    },
    get secrets() {
      return (secrets ??= secretsInBody(context, inside))
    },
    emit: emitting(context, taskRun, inside),
    ...modelsInBody(context, inside),
    triggers: {
      async emit(event, payload, how = {}) {
        leaf('triggers.emit')
        entry()
        const key = how?.key ?? derived(`trigger:${++counts.trigger}`, 24).toString('base64url')
        try {
          await host.trigger(execution, event, payload, {
            ...how,
            key,
            session: how?.session,
            placed: how?.key === undefined,
          })
        } catch (error) {
          if (isLoss(error)) execution.end(error) // it is taken up again, and tells again
          throw error
        }
      },
    },
    get log() {
      log ??= callLogger(host.logger, { tool: tool.name, callId: id, call: request.uid, attempt: execution.attempt })
      return log
    },
    get attachments() {
      attachments ??= attachmentsOf(execution, host.sizes, leaf)
      return attachments
    },
  }
}

function uuidFrom(bytes: Buffer): string {
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80 // version 8: derived
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

function callLogger(logger: Logger, about: Record<string, unknown>): Logger {
  const at =
    (level: keyof Logger) =>
    (message: string, fields?: Record<string, unknown>): void =>
      logger[level](message, { ...fields, ...about })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
