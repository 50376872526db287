// The log of a task: what its body put out, line by line with the stream it came from, in a file of its session that grows while it runs and
// has an end (TASK-4).

import { growingLog, type GrowingLog, rowsOfAppend, rowsOfLog } from '../../storage/files/growing-log.ts'
import { rowsOfNew } from '../../storage/files/file-rows.ts'
import type { Execution } from '../../engine/engine.ts'
import type { TaskRun } from '../../store/records/task-record.ts'
import type { Clock } from '../../core/clock.ts'

/** Characters. */
export const longestLog = 262_144
const cutLine = `\n[system] background output truncated at ${longestLog} characters\n`

export class TaskLog {
  readonly #execution: Execution
  readonly #path: string
  readonly #clock: Clock
  #log: GrowingLog | null
  #characters: number
  #cut: boolean
  #waiting = ''
  /** The attempt that spoke last, the stream, and whether its line is open. */
  #attempt: number
  #stream = ''
  #open = false

  /** As far as an earlier attempt has come with it. */
  static async open(execution: Execution, path: string, run: TaskRun, clock: Clock): Promise<TaskLog> {
    const { position } = execution.request
    const kept = async (name: Parameters<Execution['attached']['read']>[0]) => {
      const value = await execution.attached.read(name)
      return value === null ? undefined : { ...name, revision: 0, value }
    }
    const log = run.log.characters > 0 ? await growingLog({ document: kept }, position, path) : undefined
    return new TaskLog(execution, path, run, clock, log ?? null)
  }

  private constructor(execution: Execution, path: string, run: TaskRun, clock: Clock, log: GrowingLog | null) {
    this.#execution = execution
    this.#path = path
    this.#clock = clock
    this.#log = log
    this.#characters = run.log.characters
    this.#cut = run.log.cut
    this.#attempt = run.attempt
    this.#open = log !== null && !log.tail.endsWith('\n')
  }

  get full(): boolean {
    return this.#cut
  }

  add(text: string, stream: string, attempt: number): void {
    if (this.#cut || text === '') return
    const again = attempt > this.#attempt && this.#characters > 0
    this.#attempt = attempt
    if (again) this.#take(`${this.#open ? '\n' : ''}[system] attempt ${attempt}\n`, '')
    this.#take(this.#lines(text, stream), stream)
  }

  /** Puts what came since with what is written next; how long it is then. Null if nothing came. */
  gather(): TaskRun['log'] | null {
    if (this.#waiting === '') return null
    const at = this.#clock.now()
    const { position, uid } = this.#execution.request
    const made = this.#log
      ? { documents: [], log: this.#log }
      : rowsOfLog(position, this.#path, { at, version: `${uid}.log` })
    const grown = rowsOfAppend(position, made.log, this.#waiting, at)
    this.#log = grown.log
    this.#waiting = ''
    // Of a new log both say what it is: the last word counts.
    this.#execution.attached.keep(...made.documents)
    this.#execution.attached.keep(...grown.documents)
    return { characters: this.#characters, cut: this.#cut }
  }

  /** A whole file beside the log. */
  file(path: string, text: string): void {
    const { position, uid } = this.#execution.request
    const { documents } = rowsOfNew(position, path, text, { at: this.#clock.now(), version: `${uid}.file` })
    this.#execution.attached.keep(...documents)
  }

  /** Every line says its stream; one that is open is ended by another stream. */
  #lines(text: string, stream: string): string {
    const begins = this.#open && this.#stream === stream ? '' : `${this.#open ? '\n' : ''}[${stream}] `
    const ends = text.endsWith('\n')
    const body = (ends ? text.slice(0, -1) : text).replaceAll('\n', `\n[${stream}] `)
    return `${begins}${body}${ends ? '\n' : ''}`
  }

  #take(text: string, stream: string): void {
    if (this.#cut) return
    const room = Math.max(0, longestLog - this.#characters)
    const taken = text.length > room ? `${text.slice(0, room).toWellFormed()}${cutLine}` : text
    this.#cut = text.length > room
    this.#waiting += taken
    this.#characters += taken.length
    this.#stream = stream
    this.#open = !taken.endsWith('\n')
  }
}
