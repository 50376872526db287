// Reports the state of a running task: status, progress, output, artifacts, end. Changes are collected and attached to
// the next write of the lease holder, so a worker that lost the call can write none of them.

import type { Execution, StepAttachedWrites, ToSettle } from '../../engine/engine.ts'
import { noticeOf } from '../../store/records/notice.ts'
import {
  logPath,
  newRun,
  noticeKey,
  type NoticeRow,
  resultPath,
  endOf,
  type TaskRun,
  type TaskUpdate,
  applyUpdate,
} from '../../store/records/task-record.ts'
import type { TaskTerms } from '../../store/records/task-terms.ts'
import type { TaskProgress } from '../../core/task-state.ts'
import { lengthPrefixed } from '../../core/ids.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { type Json, toRow } from '../../core/tool-value.ts'
import type { CallHost } from '../ports.ts'
import { TaskLog } from './task-log.ts'
import { collections } from '../../store/collections.ts'

/** Longest delay until a change is written. */
const flushIntervalMs = 500

const reporters = new WeakMap<Execution, TaskReporter>()

/** The running tasks of a runtime, so that nested calls find the task they belong to. */
const openReporters = new WeakMap<CallHost, Map<string, TaskReporter>>()
const taskKey = ({ position }: Execution['request'], id: string): string =>
  lengthPrefixed(position.tenant, position.session, id)

/** The reporter of the task that the call is or belongs to; null if there is none or it runs in another process. */
export const enclosingReporter = (execution: Execution, host: CallHost): TaskReporter | null => {
  const { task, inTask } = execution.options
  return task
    ? reporterOf(execution)
    : inTask === undefined
      ? null
      : (openReporters.get(host)?.get(taskKey(execution.request, inTask)) ?? null)
}

/** The reporter of a call that is itself a task, once opened; else null. */
export const reporterOf = (execution: Execution): TaskReporter | null =>
  execution.options.task ? (reporters.get(execution) ?? null) : null

export const openReporter = (execution: Execution, host: CallHost): Promise<TaskReporter> =>
  TaskReporter.load(execution, host)

export class TaskReporter {
  readonly terms: TaskTerms
  readonly title: string
  readonly #execution: Execution
  readonly #host: CallHost
  readonly #log: TaskLog
  #run: TaskRun
  #changed = false
  #cancelTimer: (() => void) | null = null
  #notices = 0
  /** The task may have started child tasks, in this or an earlier execution. */
  #startsTasks: boolean

  /** Starts from the recorded state, which an earlier worker may have written. */
  static async load(execution: Execution, host: CallHost): Promise<TaskReporter> {
    const terms = execution.options.task as TaskTerms
    const { position } = execution.request
    const [run, row] = await Promise.all([
      execution.attached.read(collections.taskRun.name(position, terms.id)),
      execution.attached.read(collections.task.name(position, terms.id)),
    ])
    const { title } = row === null ? { title: terms.id } : collections.task.parse(row)
    const recorded = run === null ? newRun : collections.taskRun.parse(run)
    const log = await TaskLog.open(execution, logPath(terms.id), recorded, host.clock)
    const reporter = new TaskReporter(execution, host, terms, title, recorded, log)
    reporters.set(execution, reporter)
    const running = openReporters.get(host) ?? new Map<string, TaskReporter>()
    openReporters.set(host, running.set(taskKey(execution.request, terms.id), reporter))
    return reporter
  }

  private constructor(
    execution: Execution,
    host: CallHost,
    terms: TaskTerms,
    title: string,
    run: TaskRun,
    log: TaskLog,
  ) {
    this.#execution = execution
    this.#host = host
    this.terms = terms
    this.title = title
    this.#run = run
    this.#log = log
    this.#startsTasks = execution.attempt > 0
    // An execution that lost the call reports nothing more. If the runtime is closing, pending changes go with its last
    // write.
    execution.onStop((why) => {
      if (!('over' in why)) return
      this.#close()
      if (why.over.code === 'runtime_closed') this.attachPending()
      else this.#cancelFlush()
    })
  }

  get run(): TaskRun {
    return this.#run
  }

  /** The task or one of its nested calls starts a task. */
  markStartsTasks(): void {
    this.#startsTasks = true
  }

  status(text: string): void {
    this.update({ status: this.#host.redact.text(text).slice(0, this.#host.sizes.event).toWellFormed() })
  }

  progress(progress: TaskProgress): void {
    this.update({ progress })
  }

  /** `text` is already redacted. */
  output(text: string, stream: string): void {
    this.#log.add(text, stream, this.#execution.attempt)
    this.#scheduleFlush()
  }

  get takesOutput(): boolean {
    return !this.#log.full
  }

  /** The change is written with the next flush. */
  update(update: Omit<TaskUpdate, 'attempt'>): void {
    const next = applyUpdate(this.#run, { attempt: this.#execution.attempt, ...update }, this.#host.clock.now())
    if (next === this.#run) return
    this.#run = next
    this.#changed = true
    this.#scheduleFlush()
  }

  /** The writes for a notice to the session; empty if the `wake` setting of the task excludes it. */
  notice(about: NoticeRow['about'], text: string): StepAttachedWrites {
    if (!wantsNotice(this.terms.wake, about)) return { documents: [], events: [] }
    const at = this.#host.clock.now()
    const { position, uid } = this.#execution.request
    // A 'lost' notice is added before the next attempt begins; its own suffix keeps it from reusing a key of the dead
    // attempt.
    const writer = `${uid}:${this.#execution.attempt}${about === 'lost' ? ':lost' : ''}`
    const key = noticeKey(at, writer, ++this.#notices)
    const { row, added } = noticeOf(position, key, { at, about, task: this.terms.id, title: this.title, text })
    return {
      documents: [row, ...this.#host.wakes.rows(position, key)],
      events: [{ type: 'notice.added', body: added }],
    }
  }

  /** Attaches a notice to the next write. */
  addNotice(about: NoticeRow['about'], text: string): void {
    const { documents, events } = this.notice(about, text)
    this.#execution.attached.writeDocuments(...documents)
    for (const { type, body } of events) this.#execution.attached.appendEvent(type, body)
  }

  /** Writes all pending changes; durable when it resolves. */
  async flush(): Promise<void> {
    this.attachPending()
    await this.#execution.attached.flush()
  }

  /** Durable when it resolves. The next execution opens a new reporter. */
  async park(): Promise<void> {
    await this.flush()
    this.#close()
  }

  /** Attaches all pending changes to the next write. */
  attachPending(): void {
    this.#cancelFlush()
    const { attached, request, stopped } = this.#execution
    if (stopped && 'over' in stopped && stopped.over.code !== 'runtime_closed') return
    const log = this.#log.attachPending()
    if (log) {
      this.#run = applyUpdate(this.#run, { attempt: this.#run.attempt, log }, this.#host.clock.now())
      attached.appendEvent('task.output', { task: this.terms.id, characters: log.characters })
    }
    if (this.#changed) attached.appendEvent('task.updated', { task: this.terms.id, attempt: this.#run.attempt })
    if (log || this.#changed)
      attached.writeDocuments(collections.taskRun.write(this.#run, request.position, this.terms.id))
    this.#changed = false
  }

  /** Writes the end of the task together with the outcome. */
  end({ settle }: ToSettle): MaybePromise<void> {
    // Child tasks end with the task unless they were started to outlive it: an internal call ends them, even if this
    // worker dies. Looked up only if there may be children, because the slots are already free in memory but stay taken
    // in the store until the end is written.
    if (!this.#startsTasks) return this.#writeEnd(settle, null)
    return this.#host.endOfTask(this.#execution).then((endCall) => this.#writeEnd(settle, endCall))
  }

  #writeEnd(settle: Outcome, endCall: Awaited<ReturnType<CallHost['endOfTask']>>): void {
    this.attachPending()
    this.#execution.attached.deferToOutcome()
    if (settle.status === 'cancelled') this.#log.add(`${settle.cancellation.message}\n`, 'system', this.#run.attempt)
    this.update({ over: true })
    this.attachPending()
    const value: unknown =
      settle.status === 'success'
        ? settle.value
        : settle.status === 'failure'
          ? { status: 'failed', error: { code: settle.failure.code, message: settle.failure.message } }
          : settle.status === 'cancelled'
            ? { status: 'cancelled', message: settle.cancellation.message }
            : { status: 'abandoned', message: settle.unknown.message, evidence: settle.unknown.evidence }
    this.#log.file(resultPath(this.terms.id), resultText(value, this.#host))
    if (this.terms.wake !== 'silent')
      this.#execution.attached.writeDocuments(...this.#host.wakes.rows(this.#execution.request.position, this.terms.id))
    // The end itself serves as the notice. A silent task gets a notice only if it was abandoned.
    if (this.terms.wake === 'silent' && endOf(settle) === 'abandoned')
      this.addNotice(
        'lost',
        `It is abandoned. ${settle.status === 'failure' ? settle.failure.message : whyUnknown(settle)}`,
      )
    if (endCall) {
      this.#execution.attached.submit(endCall.call)
      this.#execution.attached.writeDocuments(...endCall.documents)
    }
    this.#close()
  }

  #cancelFlush(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
  }

  /** Unregisters the reporter, so that nested calls no longer find it. */
  #close(): void {
    const key = taskKey(this.#execution.request, this.terms.id)
    const running = openReporters.get(this.#host)
    if (running?.get(key) === this) running.delete(key)
  }

  #scheduleFlush(): void {
    const { stopped } = this.#execution
    if (this.#cancelTimer || (stopped && 'over' in stopped)) return
    this.#cancelTimer = this.#host.clock.timer(flushIntervalMs, () => {
      this.#cancelTimer = null
      // If the write is rejected, this execution is over and the attempt is stopped.
      this.flush().catch(() => {})
    })
  }
}

const whyUnknown = (settle: Outcome): string => (settle.status === 'unknown' ? settle.unknown.message : '')

/**
 * `on_terminal` also gets requests, because the task cannot end without a reply; `silent` gets only the notice that a
 * task was lost.
 */
const wantsNotice = (wake: TaskTerms['wake'], about: NoticeRow['about']): boolean =>
  wake === 'on_activity' || (wake === 'on_terminal' && about === 'request') || (wake === 'silent' && about === 'lost')

/** The result file, redacted because models may read it. */
function resultText(value: unknown, { redact }: CallHost): string {
  let recordedForm: Json
  try {
    recordedForm = toRow(value)
  } catch {
    recordedForm = null // the outcome cannot be encoded either, and the call reports that
  }
  return `${JSON.stringify(redact.active ? redact.deep(recordedForm) : recordedForm, null, 2)}\n`
}
