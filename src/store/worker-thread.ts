// A thread beside the event loop, and questions to it. It never keeps the program alive but while a question is open, and what it was asked
// is answered or rejected: a thread that dies leaves nobody waiting.

import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'

interface Answer {
  readonly id: number
  readonly answer?: unknown
  readonly threw?: unknown
}

/** A file beside the one that asks: `.ts` where this runs from source, `.js` where it is built. */
export function besides(url: string, name: string): URL {
  const { pathname } = new URL(url)
  return new URL(`./${name}${extname(pathname)}`, url)
}

export class Thread {
  readonly #worker: Worker
  readonly #open = new Map<number, { resolve: (answer: never) => void; reject: (why: unknown) => void }>()
  readonly #ended: Promise<void>
  #next = 0
  #ending = false
  /** It has said that it is there. */
  ready = false
  dead = false
  /** When it is ready, or never will be. */
  readonly #started: Promise<void>

  constructor(file: URL, data: unknown) {
    // Flags of the program (loaders, inspectors) are none of its business.
    this.#worker = new Worker(file, { workerData: data, execArgv: [], name: 'pawl' })
    this.#worker.unref()
    const started = Promise.withResolvers<void>()
    this.#started = started.promise
    this.#worker.on('message', (message: 'ready' | Answer) => {
      if (message !== 'ready') return this.#heard(message)
      this.ready = true
      started.resolve()
    })
    let why: unknown = new Error('The thread ended')
    this.#worker.on('error', (error) => (why = error))
    this.#ended = new Promise((resolve) => {
      this.#worker.on('exit', () => {
        this.dead = true
        this.ready = false
        for (const { reject } of this.#open.values()) reject(why)
        this.#open.clear()
        started.resolve()
        resolve()
      })
    })
  }

  /** Whether it has come to be ready. Somebody waits for it, so the program does not end meanwhile. */
  async start(): Promise<boolean> {
    if (!this.ready && !this.dead) {
      this.#worker.ref()
      await this.#started
      this.#rest()
    }
    return this.ready
  }

  /** Rejects if the thread dies first: then nobody knows what it did. Throws what cannot travel, before anything is sent. */
  ask<T>(question: object): Promise<T> {
    const id = this.tell(question)
    if (this.#open.size === 0) this.#worker.ref()
    return new Promise<T>((resolve, reject) => {
      this.#open.set(id, { resolve, reject })
    })
  }

  /** Nobody waits for the answer. A thread that is still starting hears of it as soon as it listens, whatever the event loop does then. */
  tell(question: object): number {
    const id = this.#next++
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage({ id, question })
    return id
  }

  async end(): Promise<void> {
    this.#ending = true
    this.#worker.ref() // who waits for the end must live to see it
    await this.#worker.terminate()
    await this.#ended
  }

  /** If nobody waits for anything. */
  #rest(): void {
    if (this.#open.size === 0 && !this.#ending) this.#worker.unref()
  }

  #heard({ id, answer, threw }: Answer): void {
    const asked = this.#open.get(id)
    if (this.#open.delete(id)) this.#rest()
    if (threw === undefined) asked?.resolve(answer as never)
    else asked?.reject(threw)
  }
}
