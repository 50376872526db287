// The methods of ctx. Enforces the rules for steps (no blank id, no duplicate id, no recorded operation inside a step)
// and converts values to their recorded form and back, so the first run sees what a replay will see.

import { milliseconds } from '../../core/duration.ts'
import { isStoreOrLeaseLost, PawlError } from '../../core/errors.ts'
import { isName } from '../../core/ids.ts'
import { abortsTurn } from '../../core/outcome.ts'
import { fits } from '../../core/size-limits.ts'
import { decode, encode } from '../../core/tool-value.ts'
import type {
  Attachments,
  Later,
  LaterOptions,
  Logger,
  NestedOutcome,
  StepOptions,
  ToolContext,
} from '../../tools/context/tool-context.ts'
import { onCrashOf } from '../../tools/tool-hints.ts'
import type { Tasks } from '../../tools/context/task-interfaces.ts'
import type { Tool } from '../../tools/tool.ts'
import { WaitError } from '../../store/records/wait-resolution.ts'
import type { CallEnvironment } from './context-dependencies.ts'
import { attachmentsOf } from './attachments.ts'
import { createEmit } from '../task-execution/emit-task-event.ts'
import type { ContextRules } from './context-dependencies.ts'
import { contextModels } from './ask-models.ts'
import { taskContext } from '../task-execution/task-context.ts'
import { reporterOf } from '../task-execution/task-run.ts'
import { contextTasks } from './session-tasks.ts'
import { waitTerms } from './wait-options.ts'
import { LaterHandle, registerWait } from './deferred-result.ts'
import { askQuestion } from '../authorization/ask-question.ts'
import { connectionOf } from '../authorization/request-connection.ts'
import { withoutUsedSecrets } from '../authorization/used-connections.ts'
import { scope } from '../async-context.ts'
import { contextSecrets, contextValues } from './values-and-secrets.ts'
import { runStep, stepError, stepTooLarge } from './run-step.ts'

const defaultDeadline = '7d'
const defaultWaitName = 'later'

type MethodName =
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
export type ContextMethods = Pick<ToolContext, MethodName> & { idempotencyKey(): string }

/** Tools about which a warning was already logged, by logger. */
const warned = new WeakMap<object, WeakSet<Tool>>()

export function createContextMethods(context: CallEnvironment): ContextMethods {
  const { execution, tool, host, control } = context
  const { request, callId: id } = execution
  const mayRerun = onCrashOf(tool) === 'rerun'
  const usedStepIds = new Set<string>()
  const counts = { sleep: 0, now: 0, random: 0, uuid: 0, run: 0, trigger: 0 }
  let entries = 0
  /** Pauses the clocks of the attempt and releases its slot in the queue while it waits. */
  const whileWaiting = async <T>(wait: () => Promise<T>): Promise<T> => {
    control?.pause()
    try {
      return await wait()
    } finally {
      await control?.resume()
    }
  }

  const assertUsable = (what: string): void => {
    if (context.ended) throw new PawlError('attempt_over')
    const step = scope.getStore()?.step
    if (step !== undefined) throw new PawlError('step_nested', `ctx.${what} was called in step '${step}'.`)
  }
  const countEntry = (): void => {
    const most = host.sizes.journal
    if (++entries > most) throw new PawlError('journal_full', `The limit is ${most} entries.`)
  }
  const warnIfStop = (what: string): void => {
    if (mayRerun) return
    const warnedTools = warned.get(host.logger) ?? new WeakSet<Tool>()
    if (warnedTools.has(tool)) return
    warned.set(host.logger, warnedTools.add(tool))
    host.logger.warn(
      `Tool '${tool.name}' uses ctx.${what} but is not rerun after a crash, so its records are never replayed. Set onCrash: 'rerun'.`,
      { tool: tool.name },
    )
  }
  const requireRerun = (what: string): void => {
    if (!mayRerun) throw new PawlError('wait_needs_rerun', `Tool '${tool.name}' used ${what}.`)
  }

  const step = async (stepId: string, ...rest: unknown[]): Promise<unknown> => {
    const withInput = typeof rest[0] !== 'function'
    const [run, options] = (withInput ? rest.slice(1) : rest) as [(input?: unknown) => unknown, StepOptions | undefined]
    if (typeof stepId !== 'string' || stepId.trim() === '') throw new PawlError('step_id_empty')
    if (!isName(stepId))
      throw new PawlError('step_id_invalid', `The id is ${JSON.stringify(String(stepId).slice(0, 60))}.`)
    assertUsable('step')
    control?.assertInTime()
    if (usedStepIds.has(stepId)) throw new PawlError('step_id_duplicate', `The id is '${stepId}'.`)
    usedStepIds.add(stepId)
    countEntry()
    warnIfStop('step')
    const input = withInput ? encode(rest[0]) : null
    if (input !== null && !fits(input, host.sizes.step)) throw stepTooLarge(stepId, 'input', input, host)
    const spec = { key: `step:${stepId}`, input, once: options?.once ?? false }
    const about = { tool: tool.name, callId: id, call: request.uid, logger: host.logger, step: stepId }
    const end = await execution.runStep(spec, () =>
      scope.run(about, () => runStep(() => run(input === null ? undefined : decode(input)), stepId, options, context)),
    )
    if ('done' in end) return decode(end.done)
    throw stepError(stepId, end.failed)
  }

  const later = async <T>(options: LaterOptions = {}): Promise<Later<T>> => {
    const name = options.name ?? defaultWaitName
    if (name.trim() === '') throw new PawlError('wait_name_empty')
    // The prefix 'pawl:' is reserved for waits of the runtime.
    if (name.startsWith('pawl:') || !isName(name))
      throw new PawlError('wait_name_invalid', `The name is ${JSON.stringify(name.slice(0, 60))}.`)
    assertUsable('later')
    countEntry()
    warnIfStop('later')
    const deadlineMs = milliseconds(options.deadline ?? defaultDeadline, 'The deadline of a wait')
    const wait = await execution.openWait({ name, deadlineMs, terms: waitTerms(options, tool, host.sizes) })
    const handle = new LaterHandle<T>(wait, async () => {
      assertUsable('later')
      requireRerun('await later.value')
      const resolution = await whileWaiting(() => execution.awaitAnswer(wait, context.signal))
      if ('value' in resolution) return resolution.value as T
      throw new WaitError(resolution)
    })
    return registerWait(handle, wait, request.uid)
  }

  const runNested = async (
    calls: readonly { id: string; name: string; input?: unknown }[],
  ): Promise<NestedOutcome[]> => {
    const outcomes = await host.nested(execution, withoutUsedSecrets(calls, context.usedConnections), {
      name: `run:${++counts.run}`,
      control,
      signal: context.signal,
    })
    const abort = outcomes.map(abortsTurn).find((each) => each !== null)
    if (abort) control?.abort(abort)
    return outcomes
  }

  const deriveBytes = (purpose: string, bytes: number): Buffer =>
    Buffer.from(execution.derive(purpose)).subarray(0, bytes)

  const rules: ContextRules = { assertUsable, countEntry, requireRerun, whileWaiting }
  const taskReporter = reporterOf(execution)
  const task = taskReporter && taskContext(context, taskReporter, rules)
  let tasks: Tasks | undefined
  let values: ToolContext['values'] | undefined
  let secrets: ToolContext['secrets'] | undefined
  let log: Logger | undefined
  let attachments: Attachments | undefined
  return {
    idempotencyKey: () => deriveBytes('call', 24).toString('base64url'),
    key: (name) => deriveBytes(`key:${name}`, 24).toString('base64url'),
    step: step as ToolContext['step'],
    async sleep(duration) {
      const ms = milliseconds(duration, 'The duration of ctx.sleep')
      assertUsable('sleep')
      requireRerun('ctx.sleep')
      countEntry()
      const key = `sleep:${++counts.sleep}`
      await whileWaiting(() => execution.sleep(key, ms, context.signal))
    },
    later,
    async ask(question) {
      assertUsable('ask')
      countEntry()
      return askQuestion(context, question, {
        awaited() {
          assertUsable('ask')
          requireRerun('the answer to ctx.ask')
        },
        async outside(wait) {
          control?.setDeciding(true)
          try {
            return await whileWaiting(wait)
          } finally {
            control?.setDeciding(false)
          }
        },
      })
    },
    async connection(provider) {
      if (context.ended) throw new PawlError('attempt_over')
      return connectionOf(context, provider)
    },
    async now() {
      assertUsable('now')
      countEntry()
      return execution.now(`now:${++counts.now}`)
    },
    random() {
      assertUsable('random')
      return deriveBytes(`random:${++counts.random}`, 6).readUIntBE(0, 6) / 2 ** 48
    },
    uuid() {
      assertUsable('uuid')
      return uuidFrom(deriveBytes(`uuid:${++counts.uuid}`, 16))
    },
    async run(calls) {
      assertUsable('run')
      return runNested(calls)
    },
    async call(other, input) {
      assertUsable('call')
      const [outcome] = await runNested([{ id: other.name, name: other.name, input }])
      return outcome as never
    },
    progress(progress) {
      if (context.ended) return
      control?.progress()
      context.live.progress(progress)
    },
    output(text, stream) {
      if (context.ended) return
      control?.progress()
      context.live.output(text, stream ?? 'stdout')
    },
    task,
    get tasks() {
      tasks ??= contextTasks(context, rules)
      return tasks
    },
    get values() {
      return (values ??= contextValues(context, rules))
    },
    get secrets() {
      return (secrets ??= contextSecrets(context, rules))
    },
    emit: createEmit(context, taskReporter, rules),
    ...contextModels(context, rules),
    triggers: {
      async emit(event, payload, how = {}) {
        assertUsable('triggers.emit')
        countEntry()
        const key = how?.key ?? deriveBytes(`trigger:${++counts.trigger}`, 24).toString('base64url')
        try {
          await host.trigger(execution, event, payload, {
            ...how,
            key,
            session: how?.session,
            placed: how?.key === undefined,
          })
        } catch (error) {
          if (isStoreOrLeaseLost(error)) execution.end(error) // the call is claimed again and emits again
          throw error
        }
      },
    },
    get log() {
      log ??= callLogger(host.logger, { tool: tool.name, callId: id, call: request.uid, attempt: execution.attempt })
      return log
    },
    get attachments() {
      attachments ??= attachmentsOf(execution, host.sizes, assertUsable)
      return attachments
    },
  }
}

function uuidFrom(bytes: Buffer): string {
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80 // UUID version 8: derived, not random
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
