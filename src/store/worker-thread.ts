// A worker thread with request/response messages. Used by the SQLite and PostgreSQL stores. The thread keeps the
// process alive only while a request is pending. Every request is answered or rejected, even when the thread dies.

import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'

interface Answer {
  readonly id: number
  readonly answer?: unknown
  readonly threw?: unknown
}

/** URL of a module next to the caller's: `.ts` when run from source, `.js` when built. */
export function siblingModule(url: string, name: string): URL {
  const { pathname } = new URL(url)
  return new URL(`./${name}${extname(pathname)}`, url)
}

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

  constructor(file: URL, data: unknown) {
    // The thread must not inherit the program's loaders and inspector flags.
    this.#worker = new Worker(file, { workerData: data, execArgv: [], name: 'pawl' })
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
