// A worker_threads mock that counts live threads and can refuse to start new ones.

import type * as Threads from 'node:worker_threads'
import { vi } from 'vitest'

export const threads = { live: 0, most: 0, none: false }

/** Factory for vi.mock('node:worker_threads', countedThreads). */
export async function countedThreads(): Promise<typeof Threads> {
  const actual = await vi.importActual<typeof Threads>('node:worker_threads')
  class Worker extends actual.Worker {
    constructor(...given: ConstructorParameters<typeof actual.Worker>) {
      if (threads.none)
        throw Object.assign(new Error('Worker initialization failure: EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' })
      super(...given)
      threads.most = Math.max(threads.most, ++threads.live)
      this.once('exit', () => threads.live--)
    }
  }
  return { ...actual, Worker }
}
