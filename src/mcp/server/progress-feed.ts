// Progress of running calls for `notifications/progress`. One feed reader serves all requests of a session.

import type { LiveEvent, Session } from '../../index.ts'

export type ToolProgress = Extract<LiveEvent, { readonly type: 'call.progress' }>['body']
type Listener = (progress: ToolProgress) => void

interface Reader {
  readonly listeners: Map<string, Set<Listener>>
  readonly stop: AbortController
}

export class ProgressFeed {
  readonly #readers = new Map<string, Reader>()

  /** Reports the progress of a call until the returned function is called. */
  follow(session: Session, call: string, listener: Listener): () => void {
    const name = JSON.stringify([session.tenant, session.id])
    const reader = this.#readers.get(name) ?? this.#open(name, session)
    const listeners = reader.listeners.get(call) ?? new Set()
    reader.listeners.set(call, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && reader.listeners.get(call) === listeners) reader.listeners.delete(call)
      if (reader.listeners.size > 0) return
      reader.stop.abort()
      if (this.#readers.get(name) === reader) this.#readers.delete(name)
    }
  }

  #open(name: string, session: Session): Reader {
    const reader: Reader = { listeners: new Map(), stop: new AbortController() }
    this.#readers.set(name, reader)
    // Without the feed, calls run as well; only their progress is missing.
    this.#read(reader, session).catch(() => this.#readers.get(name) === reader && this.#readers.delete(name))
    return reader
  }

  async #read({ listeners, stop }: Reader, session: Session): Promise<void> {
    for await (const event of session.events({ live: true, after: 'now', signal: stop.signal }))
      if (event.live && event.type === 'call.progress')
        for (const listener of listeners.get(event.callId) ?? []) listener(event.body)
  }

  close(): void {
    for (const { stop } of this.#readers.values()) stop.abort()
    this.#readers.clear()
  }
}
