// Starts worker threads, and a worker thread with request/response messages, which the SQLite and PostgreSQL stores use.
// It keeps the process alive only while a request is pending. Every request is answered or rejected, even when the
// thread dies.

import { Worker, type WorkerOptions } from 'node:worker_threads'

interface Answer {
  readonly id: number
  readonly answer?: unknown
  readonly threw?: unknown
}

/**
 * The program of a thread. From source it is the URL of the `.ts` file beside the caller's. The build
 * (scripts/embed-threads.mjs) replaces each call of this function by the bundled JavaScript of that file as a string,
 * because bundlers of applications leave such files out.
 */
export const threadProgram = (url: string, name: string): URL | string => new URL(`./${name}.ts`, url)

/** The thread does not inherit the program's loaders and inspector flags. */
export const startThread = (program: URL | string, options: WorkerOptions): Worker =>
  new Worker(program, { ...options, execArgv: [], eval: typeof program === 'string' })

export class Thread {
  readonly #worker: Worker
  readonly #pending = new Map<number, { resolve: (answer: never) => void; reject: (reason: unknown) => void }>()
  readonly #ended: Promise<void>
  #next = 0
  #ending = false
  /** The thread has reported that it is ready. */
  ready = false
  dead = false
  /** Resolves when the thread is ready or has died. */
  readonly #started: Promise<void>

  constructor(program: URL | string, data: unknown) {
    this.#worker = startThread(program, { workerData: data, name: 'pawl' })
    this.#worker.unref()
    const started = Promise.withResolvers<void>()
    this.#started = started.promise
    this.#worker.on('message', (message: 'ready' | Answer) => {
      if (message !== 'ready') return this.#settle(message)
      this.ready = true
      started.resolve()
    })
    let reason: unknown = new Error('the store thread ended before it answered')
    this.#worker.on('error', (error) => (reason = error))
    this.#ended = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.dead = true
        this.ready = false
        for (const { reject } of this.#pending.values()) reject(reason)
        this.#pending.clear()
        started.resolve()
        resolve()
      })
    })
  }

  /** Waits until the thread is ready; false if it died. Keeps the process alive while waiting. */
  async start(): Promise<boolean> {
    if (!this.ready && !this.dead) {
      this.#worker.ref()
      await this.#started
      this.#unrefWhenIdle()
    }
    return this.ready
  }

  /**
   * Rejects if the thread dies first; the effect of the request is then unknown. Throws if the message cannot be
   * cloned, before anything is sent.
   */
  ask<T>(question: object): Promise<T> {
    const id = this.tell(question)
    if (this.#pending.size === 0) this.#worker.ref()
    return new Promise<T>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
    })
  }

  /**
   * Sends a message without waiting for the answer. A thread that is still starting receives it when it starts to
   * listen, even if the event loop is blocked by then.
   */
  tell(question: object): number {
    const id = this.#next++
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage({ id, question })
    return id
  }

  async end(): Promise<void> {
    this.#ending = true
    this.#worker.ref() // the process must stay alive until the thread has ended
    await this.#worker.terminate()
    await this.#ended
  }

  /** Lets the process exit if no request is pending. */
  #unrefWhenIdle(): void {
    if (this.#pending.size === 0 && !this.#ending) this.#worker.unref()
  }

  #settle({ id, answer, threw }: Answer): void {
    const pending = this.#pending.get(id)
    if (this.#pending.delete(id)) this.#unrefWhenIdle()
    if (threw === undefined) pending?.resolve(answer as never)
    else pending?.reject(threw)
  }
}
