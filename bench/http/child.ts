// A process of http.ts, and its answers to questions. Both sides are here.

import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import type { Answers, LoadQuestion, ServerQuestion } from './protocol.ts'

type Question = ServerQuestion | LoadQuestion

export class Child {
  readonly #child: ChildProcess
  readonly #ended: Promise<never>

  /** PROFILE=<dir> writes CPU profiles of the server there. */
  constructor(file: 'server-child.ts' | 'load-child.ts', ...args: string[]) {
    const dir = process.env.PROFILE
    const profile = dir !== undefined && file === 'server-child.ts' ? ['--cpu-prof', `--cpu-prof-dir=${dir}`] : []
    this.#child = fork(join(import.meta.dirname, file), args, {
      execArgv: ['--conditions=@pawl/source', ...profile],
    })
    this.#ended = new Promise((_, reject) => {
      this.#child.once('exit', (code, signal) => reject(new Error(`${file} ended (${signal ?? code}).`)))
    })
    this.#ended.catch(() => {}) // it also ends while no question is open
  }

  async next<T>(): Promise<T> {
    const next = new Promise<unknown>((resolve) => this.#child.once('message', resolve))
    const answer = (await Promise.race([next, this.#ended])) as T | { readonly error: string }
    if (typeof answer === 'object' && answer !== null && 'error' in answer) throw new Error(answer.error)
    return answer
  }

  ask<A extends Question['ask']>(question: Extract<Question, { ask: A }>): Promise<Answers[A]> {
    this.#child.send(question)
    return this.next()
  }

  async end(): Promise<void> {
    if (this.#child.exitCode === null) this.#child.send('end')
    await this.#ended.catch(() => {})
  }
}

/** In the child: answers questions until the parent ends it. */
export function answerQuestions<Q extends Question>(
  reply: (question: Q) => Promise<Answers[Q['ask']]>,
  close: () => Promise<void>,
): void {
  const answer = async (question: Q): Promise<void> => {
    try {
      process.send?.(await reply(question))
    } catch (error) {
      process.send?.({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  }
  process.on('message', (question: Q | 'end') => {
    // Not by a signal, so that --cpu-prof writes its file.
    if (question === 'end') void close().finally(() => process.exit(0))
    else void answer(question)
  })
}
