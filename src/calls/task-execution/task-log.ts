// The log of a task: the output of its body, each line prefixed with its stream, in a session file that grows up to a
// limit while the task runs.

import { readGrowingLog, type GrowingLog, appendRows, newLogRows } from '../../storage/files/append-only-log.ts'
import { newFileRows } from '../../storage/files/file-rows.ts'
import type { Execution } from '../../engine/engine.ts'
import type { TaskRun } from '../../store/records/task-record.ts'
import type { Clock } from '../../core/clock.ts'
import { truncateToLength } from '../../core/size-limits.ts'

/** Output beyond this many characters is dropped. */
export const maxLogChars = 262_144
const truncatedLine = `\n[system] background output truncated at ${maxLogChars} characters\n`

export class TaskLog {
  readonly #execution: Execution
  readonly #path: string
  readonly #clock: Clock
  #log: GrowingLog | null
  #characters: number
  #truncated: boolean
  #pending = ''
  /** Attempt and stream of the last output, and whether its line is unfinished. */
  #attempt: number
  #stream = ''
  #open = false

  /** Continues the log of earlier attempts. */
  static async open(execution: Execution, path: string, run: TaskRun, clock: Clock): Promise<TaskLog> {
    const { position } = execution.request
    const readDocument = async (name: Parameters<Execution['attached']['read']>[0]) => {
      const value = await execution.attached.read(name)
      return value === null ? undefined : { ...name, revision: 0, value }
    }
    const log = run.log.characters > 0 ? await readGrowingLog({ document: readDocument }, position, path) : undefined
    return new TaskLog(execution, path, run, clock, log ?? null)
  }

  private constructor(execution: Execution, path: string, run: TaskRun, clock: Clock, log: GrowingLog | null) {
    this.#execution = execution
    this.#path = path
    this.#clock = clock
    this.#log = log
    this.#characters = run.log.characters
    this.#truncated = run.log.cut
    this.#attempt = run.attempt
    this.#open = log !== null && !log.tail.endsWith('\n')
  }

  get full(): boolean {
    return this.#truncated
  }

  add(text: string, stream: string, attempt: number): void {
    if (this.#truncated || text === '') return
    const newAttempt = attempt > this.#attempt && this.#characters > 0
    this.#attempt = attempt
    if (newAttempt) this.#append(`${this.#open ? '\n' : ''}[system] attempt ${attempt}\n`, '')
    this.#append(this.#prefixLines(text, stream), stream)
  }

  /** Attaches the pending output to the next write and returns the new state of the log. Null if nothing is pending. */
  attachPending(): TaskRun['log'] | null {
    if (this.#pending === '') return null
    const at = this.#clock.now()
    const { position, uid } = this.#execution.request
    const created = this.#log
      ? { documents: [], log: this.#log }
      : newLogRows(position, this.#path, { at, version: `${uid}.log` })
    const grown = appendRows(position, created.log, this.#pending, at)
    this.#log = grown.log
    this.#pending = ''
    // For a new log, both statements write the same document, and the second write wins.
    this.#execution.attached.writeDocuments(...created.documents)
    this.#execution.attached.writeDocuments(...grown.documents)
    return { characters: this.#characters, cut: this.#truncated }
  }

  /** Writes a complete file next to the log. */
  file(path: string, text: string): void {
    const { position, uid } = this.#execution.request
    const { documents } = newFileRows(position, path, text, { at: this.#clock.now(), version: `${uid}.file` })
    this.#execution.attached.writeDocuments(...documents)
  }

  /** Prefixes every line with its stream; output of another stream ends an unfinished line. */
  #prefixLines(text: string, stream: string): string {
    const prefix = this.#open && this.#stream === stream ? '' : `${this.#open ? '\n' : ''}[${stream}] `
    const endsLine = text.endsWith('\n')
    const body = (endsLine ? text.slice(0, -1) : text).replaceAll('\n', `\n[${stream}] `)
    return `${prefix}${body}${endsLine ? '\n' : ''}`
  }

  #append(text: string, stream: string): void {
    if (this.#truncated) return
    const room = Math.max(0, maxLogChars - this.#characters)
    const added = text.length > room ? `${truncateToLength(text, room)}${truncatedLine}` : text
    this.#truncated = text.length > room
    this.#pending += added
    this.#characters += added.length
    this.#stream = stream
    this.#open = !added.endsWith('\n')
  }
}
