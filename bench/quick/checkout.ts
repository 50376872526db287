// The process that measures one checkout, seen from the parent.

import { type ChildProcess, fork } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Answer, Measure, Question } from './child.ts'

export class Checkout {
  readonly #child: ChildProcess
  /** Rejects when the process ends, so that no question waits forever. */
  readonly #ended: Promise<never>
  names: readonly string[] = []

  constructor(checkout: string, dir: string, cache: string, url: string | undefined) {
    mkdirSync(dir, { recursive: true })
    const args = [checkout, dir, ...(url === undefined ? [] : [url])]
    this.#child = fork(join(import.meta.dirname, 'child.ts'), args, {
      execArgv: ['--conditions=@pawl/source'],
      env: { ...process.env, NODE_COMPILE_CACHE: cache },
    })
    this.#ended = new Promise((_, reject) => {
      this.#child.once('exit', (code, signal) =>
        reject(new Error(`The process of ${checkout} ended (${signal ?? code}).`)),
      )
    })
    this.#ended.catch(() => {}) // it may also end while no question is open
  }

  async ready(): Promise<void> {
    const answer = await this.#next()
    if ('names' in answer) this.names = answer.names
  }

  async measure(question: Question): Promise<Measure> {
    this.#child.send(question)
    const answer = await this.#next()
    if ('measured' in answer) return answer.measured
    throw new Error('The process answered that it is ready twice.')
  }

  async #next(): Promise<Answer> {
    const next = new Promise<Answer>((resolve) => this.#child.once('message', (message) => resolve(message as Answer)))
    const answer = await Promise.race([next, this.#ended])
    if ('error' in answer) throw new Error(answer.error)
    return answer
  }

  async end(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended.catch(() => {})
  }
}
