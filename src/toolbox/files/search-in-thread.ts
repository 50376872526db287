// Runs grep patterns in worker threads. A pattern may backtrack forever and cannot be interrupted from its own thread,
// so it runs in a worker that is killed at the deadline; the event loop never blocks. The pool is small; its threads
// are reused, do not keep a program alive, and end after an idle time.

import type { Worker } from 'node:worker_threads'
import { systemClock } from '../../core/clock.ts'
import { startThread, threadProgram } from '../../store/worker-thread.ts'
import type { SearchAnswer, SearchQuestion } from './search-lines.ts'

export type SearchOutcome =
  | SearchAnswer
  /** Killed after this many ms. */
  | { readonly late: number }
  /** The thread crashed, most often because it ran out of memory. */
  | { readonly broken: unknown }
  /** The thread could not be started. */
  | { readonly absent: unknown }

const maxThreads = 2
const idleMs = 30_000
/** Limit for the start of a thread. It does not count toward the deadline of the pattern. */
const startMs = 20_000
/** Memory of a thread: texts of 5 MiB and their lines fit many times over. */
const resourceLimits = { maxOldGenerationSizeMb: 192, stackSizeMb: 4 }

/** Thrown when the signal aborts a search. Carries no reason: the code that aborted the signal knows it. */
export class SearchCancelled extends Error {}

class SearchThread {
  readonly #worker: Worker
  readonly #ready: Promise<void>
  readonly ended: Promise<unknown>
  #cancelIdle = (): void => {}
  /** True once the thread has ended or is being terminated. */
  gone = false

  constructor() {
    const program = threadProgram(import.meta.url, 'search-thread-entry')
    this.#worker = startThread(program, { name: 'pawl-search', resourceLimits })
    const ready = Promise.withResolvers<void>()
    this.#ready = ready.promise
    this.#worker.once('message', () => ready.resolve())
    let why: unknown = new Error('The search thread ended')
    this.#worker.on('error', (error) => (why = error))
    this.ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.gone = true
        this.#cancelIdle()
        resolve(why)
        ready.resolve()
      })
    })
  }

  /** Runs one search at a time. A thread that misses the deadline is killed. */
  async ask(question: SearchQuestion, deadlineMs: number, signal: AbortSignal): Promise<SearchOutcome> {
    this.#cancelIdle()
    this.#worker.ref()
    const stop = (): void => this.#end()
    let cancelTimer = systemClock.timer(startMs, stop)
    signal.addEventListener('abort', stop)
    const answer = Promise.withResolvers<SearchOutcome>()
    try {
      if (signal.aborted) throw new SearchCancelled()
      await this.#ready
      cancelTimer()
      if (this.gone && !signal.aborted) return { absent: await this.ended }
      const late = Promise.withResolvers<SearchOutcome>()
      cancelTimer = systemClock.timer(deadlineMs, () => {
        stop()
        late.resolve({ late: deadlineMs })
      })
      this.#worker.once('message', answer.resolve)
      const broken = this.ended.then((why): SearchOutcome => {
        if (signal.aborted) throw new SearchCancelled()
        return { broken: why }
      })
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      this.#worker.postMessage(question)
      return await Promise.race([late.promise, answer.promise, broken])
    } finally {
      cancelTimer()
      signal.removeEventListener('abort', stop)
      this.#worker.off('message', answer.resolve)
      // A thread that is being terminated stays referenced: waiters need its slot.
      if (!this.gone) this.#worker.unref()
    }
  }

  /** Ends the thread after the idle time, unless it is used before. */
  endWhenIdle(over: () => void): void {
    this.#cancelIdle = systemClock.timer(idleMs, () => {
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
const waiters: (() => void)[] = []
let threadsInUse = 0

/** Runs a search and waits for a thread if all are busy. Throws only when the signal is aborted. */
export async function runSearch(
  question: SearchQuestion,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<SearchOutcome> {
  await acquireThread(signal)
  let thread: SearchThread
  try {
    thread = idle.pop() ?? new SearchThread()
  } catch (absent) {
    // The system could not create a thread: give the slot back.
    passSlot()
    return { absent }
  }
  try {
    return await thread.ask(question, deadlineMs, signal)
  } finally {
    // The slot of a killed thread is freed only when the thread is gone; otherwise there would be too many threads.
    void releaseThread(thread)
  }
}

async function acquireThread(signal: AbortSignal): Promise<void> {
  if (signal.aborted) throw new SearchCancelled()
  if (threadsInUse < maxThreads) {
    threadsInUse++
    return
  }
  await new Promise<void>((resolve, reject) => {
    const wake = (): void => {
      signal.removeEventListener('abort', leave)
      resolve()
    }
    const leave = (): void => {
      const at = waiters.indexOf(wake)
      if (at !== -1) waiters.splice(at, 1)
      reject(new SearchCancelled())
    }
    waiters.push(wake)
    signal.addEventListener('abort', leave, { once: true })
  })
}

async function releaseThread(thread: SearchThread): Promise<void> {
  if (thread.gone) await thread.ended
  else {
    idle.push(thread)
    thread.endWhenIdle(() => void idle.splice(idle.indexOf(thread), 1))
  }
  passSlot()
}

/** Hands the slot to the next waiter, or frees it. */
function passSlot(): void {
  const next = waiters.shift()
  if (next) next()
  else threadsInUse--
}
