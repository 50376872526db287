// A subject in its own process: starts it, requests slices, suspends it (SIGSTOP) while others run, and kills it by
// process id.

import { type ChildProcess, fork } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Asked, openers, Told } from './child.ts'
import type { Measure, Shape } from './workload.ts'

export interface Entry {
  readonly opener: keyof typeof openers
  readonly name: string
  readonly on: 'file' | 'folder' | 'postgres'
  /** The floor with the same durability guarantee. */
  readonly floor: 'sqlite-full' | 'sqlite-normal' | 'postgres-bare'
}

const quiet = {
  DO_NOT_TRACK: '1',
  LANGSMITH_TRACING: 'false',
  LANGCHAIN_TRACING_V2: 'false',
  NO_COLOR: '1',
  NODE_NO_WARNINGS: '1',
}

export class Contender {
  readonly entry: Entry
  readonly #log: string
  readonly #child: ChildProcess
  /** Process ids started by the subject; null until it is ready. */
  #others: readonly number[] | null = null

  private constructor(entry: Entry, place: string, dir: string) {
    this.entry = entry
    mkdirSync(dir, { recursive: true })
    this.#log = join(dir, 'log')
    const log = openSync(this.#log, 'a')
    this.#child = fork(join(import.meta.dirname, 'child.ts'), [entry.opener, place], {
      cwd: dir,
      execArgv: [],
      env: { ...process.env, ...quiet },
      stdio: ['ignore', log, log, 'ipc'],
    })
    closeSync(log)
  }

  /** Calls `born` before the subject is ready, so that it can be ended at any time. */
  static async start(
    entry: Entry,
    place: string,
    dir: string,
    born: (contender: Contender) => void,
  ): Promise<Contender> {
    const contender = new Contender(entry, place, dir)
    born(contender)
    const told = await contender.#hear(90_000)
    if ('ready' in told) contender.#others = told.ready
    return contender
  }

  get gone(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  async measure(shape: Shape, ms: number): Promise<Measure> {
    this.#signal('SIGCONT')
    try {
      await this.#ask({ shape: { steps: 1, callers: 1 }, ms: ms / 20 }) // a moment to resume
      return await this.#ask({ shape, ms })
    } finally {
      this.#signal('SIGSTOP')
    }
  }

  async #ask(asked: Asked): Promise<Measure> {
    this.#child.send(asked)
    const told = await this.#hear(120_000)
    if ('measure' in told) return told.measure
    throw new Error('It said that it is ready, twice.')
  }

  #hear(ms: number): Promise<Exclude<Told, { error: string }>> {
    return new Promise((resolve, reject) => {
      const done = (): void => {
        clearTimeout(timer)
        this.#child.off('message', heard).off('exit', exited)
      }
      const fail = (why: string): void => {
        done()
        reject(new Error(`${why}${this.#lastLines()}`))
      }
      const heard = (message: unknown): void => {
        const told = message as Told
        if ('error' in told) return fail(told.error)
        done()
        resolve(told)
      }
      const exited = (code: number | null, signal: string | null): void => fail(`It ended (${signal ?? code}).`)
      const timer = setTimeout(() => fail(`No answer within ${ms / 1000} s.`), ms)
      this.#child.once('message', heard).once('exit', exited)
    })
  }

  #lastLines(): string {
    const lines = stripVTControlCharacters(readFileSync(this.#log, 'utf8')).trim().split('\n')
    return lines[0] === '' ? '' : `\n  log: ${lines.slice(-3).join('\n       ').slice(-600)}`
  }

  /**
   * Before it is ready, only the child knows the processes it started; it ends them and exits when its parent
   * disconnects.
   */
  end(): void {
    if (this.#others) this.#signal('SIGKILL')
    else if (this.#child.connected) this.#child.disconnect()
  }

  #signal(signal: NodeJS.Signals): void {
    if (!this.gone) this.#child.kill(signal)
    for (const pid of this.#others ?? []) {
      try {
        process.kill(pid, signal)
      } catch {
        // The process has already ended.
      }
    }
    if (signal === 'SIGKILL') this.#others = []
  }
}
