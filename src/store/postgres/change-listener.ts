// Hears what other processes wrote: by NOTIFY at once, and by a poll beneath it, because a notification can be lost and a connection can
// break. Every group raises one number; whoever has seen it has missed nothing.

import type { Client } from 'pg'
import type { Clock } from '../../core/clock.ts'

/** How often to look for what a lost notification would have said, and to connect again. */
const pollMs = 500

export interface ListenerOptions {
  connect(): Client
  /** The number now. */
  version(): Promise<number>
  /** When our own write that is under way, if one is, has told its number to `own`. */
  written(): Promise<void>
  heard(): void
  readonly clock: Clock
  readonly channel: string
  /** Who writes here: our own writes are no news. */
  readonly self: string
}

export class Listener {
  readonly #options: ListenerOptions
  #client: Client | null = null
  #connecting: Promise<void> | null = null
  #seen = 0
  #closed = false
  readonly #callOffPoll: () => void

  private constructor(options: ListenerOptions) {
    this.#options = options
    this.#callOffPoll = options.clock.every(pollMs, () => void this.#look())
  }

  static async open(options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(options)
    try {
      await listener.#listen()
      listener.#seen = await options.version()
      return listener
    } catch (error) {
      await listener.close()
      throw error
    }
  }

  /** Whether notifications can come. */
  get listening(): boolean {
    return this.#client !== null
  }

  /** We wrote. If nothing of others lies between, there is nothing to look for. */
  own(version: number): void {
    if (this.#seen === version - 1) this.#seen = version
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#callOffPoll()
    await this.#connecting?.catch(() => {})
    await this.#client?.end().catch(() => {})
  }

  async #listen(): Promise<void> {
    const { connect, channel, self, heard } = this.#options
    const client = connect()
    const broken = (): void => {
      if (this.#client === client) this.#client = null
    }
    client.on('error', broken)
    client.on('end', broken)
    client.on('notification', ({ payload = '' }) => {
      const [from, version] = payload.split(' ')
      if (from === self) return
      this.#seen = Math.max(this.#seen, Number(version ?? 0))
      heard()
    })
    await client.connect()
    await client.query(`LISTEN ${channel}`)
    this.#client = client
  }

  /** A look that fails is made up for by the next. */
  async #look(): Promise<void> {
    try {
      if (!this.#client && !this.#closed)
        await (this.#connecting ??= this.#listen().finally(() => (this.#connecting = null)))
      const version = await this.#options.version()
      // It may be our own, whose answer is still on its way: no news.
      if (version > this.#seen) await this.#options.written()
      if (this.#closed || version <= this.#seen) return
      this.#seen = version
      this.#options.heard()
    } catch {
      // the database is away: the next look tries again
    }
  }
}
