// Sends `notifications/progress` for one request: the progress of its tool, and signs of life while the call waits.

import type { ProgressToken, ServerContext } from '@modelcontextprotocol/server'
import type { Clock } from '../../core/clock.ts'
import { escapeLine } from './escape-text.ts'
import type { ToolProgress } from './progress-feed.ts'

/** The smallest step: progress must increase, also when nothing but time has passed. */
const smallStep = 1e-6
const maxMessage = 500

export class ProgressReporter {
  readonly #notify: ServerContext['mcpReq']['notify']
  readonly #token: ProgressToken
  #last = 0
  #message = 'Running'
  readonly #stopBeats: () => void

  constructor({ notify }: ServerContext['mcpReq'], token: ProgressToken, clock: Clock, everyMs: number) {
    this.#notify = notify
    this.#token = token
    this.#stopBeats = clock.every(everyMs, () => this.#send(this.#last + smallStep))
  }

  waitingFor(message: string): void {
    this.#message = message
    this.#send(this.#last + smallStep)
  }

  tool({ current, total, label }: ToolProgress): void {
    if (label !== undefined) this.#message = escapeLine(label).slice(0, maxMessage)
    const given = Number.isFinite(current) ? Number(current) : 0
    this.#send(Math.max(given, this.#last + smallStep), total)
  }

  #send(progress: number, total?: number): void {
    this.#last = progress
    const params = {
      progressToken: this.#token,
      progress,
      ...(typeof total === 'number' && Number.isFinite(total) ? { total } : {}),
      message: this.#message,
    }
    // The client may have left; its call continues.
    this.#notify({ method: 'notifications/progress', params }).catch(() => {})
  }

  stop(): void {
    this.#stopBeats()
  }
}
