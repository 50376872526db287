// Matching beside the event loop (BOX-3). A pattern may backtrack for ever and nothing in a regular expression can be interrupted from its own
// thread, so it runs in another one: that one is killed at the deadline, and the event loop has never waited. Threads are few, are used
// again, never keep a program alive, and end when nobody has needed them for a while.

import { extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { systemClock } from '../../core/clock.ts'
import type { SearchAnswer, SearchQuestion } from './search-lines.ts'

export type Matched =
  | SearchAnswer
  /** It was stopped after so many ms. */
  | { readonly late: number }
  /** It has taken the thread down: that has had too little memory. */
  | { readonly broken: unknown }
  /** There is no thread: its file was lost on the way here. */
  | { readonly absent: unknown }

const mostThreads = 2
const idleMs = 30_000
/** Until it says that it is there. Not a part of the deadline: that is the pattern's. */
const startMs = 20_000
/** Of the thread: texts of 5 MiB and their lines fit many times. */
const resourceLimits = { maxOldGenerationSizeMb: 192, stackSizeMb: 4 }

/** As in a stopped search: whoever cancelled knows why. */
export class Unwanted extends Error {}

class SearchThread {
  readonly #worker: Worker
  readonly #ready: Promise<void>
  readonly ended: Promise<unknown>
  #forget = (): void => {}
  /** It has ended or is about to. */
  gone = false

  constructor() {
    const file = new URL(`./search-thread${extname(new URL(import.meta.url).pathname)}`, import.meta.url)
    // Flags of the program (loaders, inspectors) are none of its business.
    this.#worker = new Worker(file, { execArgv: [], name: 'pawl-search', resourceLimits })
    const ready = Promise.withResolvers<void>()
    this.#ready = ready.promise
    this.#worker.once('message', () => ready.resolve())
    let why: unknown = new Error('The search thread ended')
    this.#worker.on('error', (error) => (why = error))
    this.ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.gone = true
        this.#forget()
        resolve(why)
        ready.resolve()
      })
    })
  }

  /** One question at a time. What does not answer in time is killed. */
  async ask(question: SearchQuestion, deadlineMs: number, signal: AbortSignal): Promise<Matched> {
    this.#forget()
    this.#worker.ref()
    const stop = (): void => this.#end()
    let callOff = systemClock.timer(startMs, stop)
    signal.addEventListener('abort', stop)
    const answer = Promise.withResolvers<Matched>()
    try {
      if (signal.aborted) throw new Unwanted()
      await this.#ready
      callOff()
      if (this.gone && !signal.aborted) return { absent: await this.ended }
      const late = Promise.withResolvers<Matched>()
      callOff = systemClock.timer(deadlineMs, () => {
        stop()
        late.resolve({ late: deadlineMs })
      })
      this.#worker.once('message', answer.resolve)
      const broken = this.ended.then((why): Matched => {
        if (signal.aborted) throw new Unwanted()
        return { broken: why }
      })
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#worker.postMessage(question)
      return await Promise.race([late.promise, answer.promise, broken])
    } finally {
      callOff()
      signal.removeEventListener('abort', stop)
      this.#worker.off('message', answer.resolve)
      // One that is about to end is waited for: others may want its place.
      if (!this.gone) this.#worker.unref()
    }
  }

  /** Ends by itself if nobody asks for a while. */
  rest(over: () => void): void {
    this.#forget = systemClock.timer(idleMs, () => {
      over()
      this.#end()
    })
  }

  #end(): void {
    this.gone = true
    void this.#worker.terminate()
  }
}

const idle: SearchThread[] = []
const waiting: (() => void)[] = []
let taken = 0

/** Waits for a thread if all are taken. Never throws but when the signal is aborted. */
export async function matched(question: SearchQuestion, deadlineMs: number, signal: AbortSignal): Promise<Matched> {
  await turn(signal)
  let thread: SearchThread
  try {
    thread = idle.pop() ?? new SearchThread()
  } catch (absent) {
    // The system has no thread left, and this place is not to be lost with it.
    pass()
    return { absent }
  }
  try {
    return await thread.ask(question, deadlineMs, signal)
  } finally {
    // The place of one that is killed is free when it is gone: else there would be more of them than there may.
    void free(thread)
  }
}

async function turn(signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw new Unwanted()
  if (taken < mostThreads) {
    taken++
    return
  }
  await new Promise<void>((resolve, reject) => {
    const wake = (): void => {
      signal.removeEventListener('abort', leave)
      resolve()
    }
    const leave = (): void => {
      const at = waiting.indexOf(wake)
      if (at !== -1) waiting.splice(at, 1)
      reject(new Unwanted())
    }
    waiting.push(wake)
    signal.addEventListener('abort', leave, { once: true })
  })
}

async function free(thread: SearchThread): Promise<void> {
  if (thread.gone) await thread.ended
  else {
    idle.push(thread)
    thread.rest(() => void idle.splice(idle.indexOf(thread), 1))
  }
  pass()
}

/** To who waits for a thread. */
function pass(): void {
  const next = waiting.shift()
  if (next) next()
  else taken--
}
