// What the runner of a task tells of it (TASK-3, TASK-4): status, progress, output, artifacts, its end. Gathered, and written by whoever
// holds the call together with what else it writes, so that a worker which lost the call can write none of it.

import type { Execution, StepBeside, ToSettle } from '../../engine/engine.ts'
import { noticeOf } from '../../store/records/notice.ts'
import {
  logPath,
  newRun,
  noticeKey,
  type NoticeRow,
  resultPath,
  endOf,
  runName,
  taskName,
  type TaskRow,
  type TaskRun,
  type TaskUpdate,
  updated,
} from '../../store/records/task-record.ts'
import type { TaskTerms } from '../../store/records/task-terms.ts'
import type { TaskProgress } from '../../core/task-state.ts'
import { frame } from '../../core/ids.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { type Json, toRow } from '../../core/value.ts'
import type { CallHost } from '../ports.ts'
import { TaskLog } from './task-log.ts'

/** How soon what is told is on record, at the latest. */
const everyMs = 500

const runs = new WeakMap<Execution, RunOfTask>()

/** By place and id, of tasks that a runtime runs: what is called under one belongs to it. */
const open = new WeakMap<CallHost, Map<string, RunOfTask>>()
const placeOf = ({ position }: Execution['request'], id: string): string => frame(position.tenant, position.session, id)

/** Of the task that a call is, or runs under; null if it does not, or if that is taken up elsewhere. */
export const runUnder = (execution: Execution, host: CallHost): RunOfTask | null => {
  const { task, inTask } = execution.options
  return task
    ? runOf(execution)
    : inTask === undefined
      ? null
      : (open.get(host)?.get(placeOf(execution.request, inTask)) ?? null)
}

/** Of a call that is a task and was opened; null for others. */
export const runOf = (execution: Execution): RunOfTask | null =>
  execution.options.task ? (runs.get(execution) ?? null) : null

export const openRun = (execution: Execution, host: CallHost): Promise<RunOfTask> => RunOfTask.open(execution, host)

export class RunOfTask {
  readonly terms: TaskTerms
  readonly title: string
  readonly #execution: Execution
  readonly #host: CallHost
  readonly #log: TaskLog
  #run: TaskRun
  #told = false
  #callOff: (() => void) | null = null
  #notices = 0
  /** It may have started others: here, or in an execution before this one. */
  #starts: boolean

  /** As it stands on record: an earlier worker may have told something. */
  static async open(execution: Execution, host: CallHost): Promise<RunOfTask> {
    const terms = execution.options.task as TaskTerms
    const { position } = execution.request
    const [run, row] = await Promise.all([
      execution.attached.read(runName(position, terms.id)),
      execution.attached.read(taskName(position, terms.id)),
    ])
    const { title } = (row === null ? { title: terms.id } : JSON.parse(row)) as Pick<TaskRow, 'title'>
    const before = run === null ? newRun : (JSON.parse(run) as TaskRun)
    const log = await TaskLog.open(execution, logPath(terms.id), before, host.clock)
    const made = new RunOfTask(execution, host, terms, title, before, log)
    runs.set(execution, made)
    const others = open.get(host) ?? new Map<string, RunOfTask>()
    open.set(host, others.set(placeOf(execution.request, terms.id), made))
    return made
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
    this.#starts = execution.attempt > 0
    // Nothing more is told by an execution that no longer counts; one whose worker closes gives back what it had to tell.
    execution.onStop((why) => {
      if (!('over' in why)) return
      this.#closes()
      if (why.over.code === 'runtime_closed') this.gather()
      else this.#quiet()
    })
  }

  get run(): TaskRun {
    return this.#run
  }

  /** It, or what it has called, starts a task. */
  starts(): void {
    this.#starts = true
  }

  status(text: string): void {
    this.update({ status: this.#host.redact.text(text).slice(0, this.#host.sizes.event).toWellFormed() })
  }

  progress(progress: TaskProgress): void {
    this.update({ progress })
  }

  /** Secrets are out of it. */
  output(text: string, stream: string): void {
    this.#log.add(text, stream, this.#execution.attempt)
    this.#soon()
  }

  get takesOutput(): boolean {
    return !this.#log.full
  }

  /** Told at the next moment; see `flushed`. */
  update(said: Omit<TaskUpdate, 'attempt'>): void {
    const next = updated(this.#run, { attempt: this.#execution.attempt, ...said }, this.#host.clock.now())
    if (next === this.#run) return
    this.#run = next
    this.#told = true
    this.#soon()
  }

  /** For the session, where its policy wants to hear of it: what is to be kept and told for that. */
  notice(about: NoticeRow['about'], text: string): StepBeside {
    if (!hears(this.terms.wake, about)) return { documents: [], tells: [] }
    const at = this.#host.clock.now()
    const { position, uid } = this.#execution.request
    // That it was lost is told before the next attempt has begun: it takes no number of the one that is gone.
    const writer = `${uid}:${this.#execution.attempt}${about === 'lost' ? ':lost' : ''}`
    const key = noticeKey(at, writer, ++this.#notices)
    const { row, added } = noticeOf(position, key, { at, about, task: this.terms.id, title: this.title, text })
    return { documents: [row, ...this.#host.wakes.rows(position, key)], tells: [{ type: 'notice.added', body: added }] }
  }

  /** The same, with what is written next. */
  tell(about: NoticeRow['about'], text: string): void {
    const { documents, tells } = this.notice(about, text)
    this.#execution.attached.keep(...documents)
    for (const { type, body } of tells) this.#execution.attached.tell(type, body)
  }

  /** Durable when it resolves. */
  async flushed(): Promise<void> {
    this.gather()
    await this.#execution.attached.flush()
  }

  /** Durable when it resolves; whoever takes it up opens it anew. */
  async parks(): Promise<void> {
    await this.flushed()
    this.#closes()
  }

  /** With what is written next. */
  gather(): void {
    this.#quiet()
    const { attached: beside, request, stopped } = this.#execution
    if (stopped && 'over' in stopped && stopped.over.code !== 'runtime_closed') return
    const log = this.#log.gather()
    if (log) {
      this.#run = updated(this.#run, { attempt: this.#run.attempt, log }, this.#host.clock.now())
      beside.tell('task.output', { task: this.terms.id, characters: log.characters })
    }
    if (this.#told) beside.tell('task.updated', { task: this.terms.id, attempt: this.#run.attempt })
    if (log || this.#told)
      beside.keep({ ...runName(request.position, this.terms.id), value: JSON.stringify(this.#run) })
    this.#told = false
  }

  /** The last word: what came of it is on record together with the outcome. */
  end({ settle }: ToSettle): MaybePromise<void> {
    // What it started does not outlive it, unless that was said: somebody sees to it, whatever becomes of this worker (TASK-10). Looked for only where
    // there may be some: its places are free by now, and whoever is next finds them taken until its end is on record.
    if (!this.#starts) return this.#ends(settle, null)
    return this.#host.endOfTask(this.#execution).then((chore) => this.#ends(settle, chore))
  }

  #ends(settle: Outcome, chore: Awaited<ReturnType<CallHost['endOfTask']>>): void {
    this.gather()
    this.#execution.attached.ends()
    if (settle.status === 'cancelled') this.#log.add(`${settle.cancellation.message}\n`, 'system', this.#run.attempt)
    this.update({ over: true })
    this.gather()
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
      this.#execution.attached.keep(...this.#host.wakes.rows(this.#execution.request.position, this.terms.id))
    // That it ended is told by its end, where that is told at all.
    if (this.terms.wake === 'silent' && endOf(settle) === 'abandoned')
      this.tell('lost', `It is abandoned. ${settle.status === 'failure' ? settle.failure.message : whyUnknown(settle)}`)
    if (chore) {
      this.#execution.attached.put(chore.asked)
      this.#execution.attached.keep(...chore.documents)
    }
    this.#closes()
  }

  #quiet(): void {
    this.#callOff?.()
    this.#callOff = null
  }

  /** Nothing runs under it here any more. */
  #closes(): void {
    const place = placeOf(this.#execution.request, this.terms.id)
    const all = open.get(this.#host)
    if (all?.get(place) === this) all.delete(place)
  }

  #soon(): void {
    const { stopped } = this.#execution
    if (this.#callOff || (stopped && 'over' in stopped)) return
    this.#callOff = this.#host.clock.timer(everyMs, () => {
      this.#callOff = null
      // Should it be refused, this execution is over, and the attempt hears of it.
      this.flushed().catch(() => {})
    })
  }
}

const whyUnknown = (settle: Outcome): string => (settle.status === 'unknown' ? settle.unknown.message : '')

/** Who is told of ends alone is told, too, when there will be none without a word of theirs; and of what is lost everybody is. */
const hears = (wake: TaskTerms['wake'], about: NoticeRow['about']): boolean =>
  wake === 'on_activity' || (wake === 'on_terminal' && about === 'request') || (wake === 'silent' && about === 'lost')

/** As a model may read it: without secrets. */
function resultText(value: unknown, { redact }: CallHost): string {
  let recordedForm: Json
  try {
    recordedForm = toRow(value)
  } catch {
    recordedForm = null // then it is no outcome either, and the call says so
  }
  return `${JSON.stringify(redact.active ? redact.deep(recordedForm) : recordedForm, null, 2)}\n`
}
