// Notices writes of other processes: through NOTIFY at once, and through a poll as a fallback, because notifications
// and connections can be lost. Every group increments a version number; a reader that has seen the latest
// number has missed nothing.

import type { Client } from 'pg'
import type { Clock } from '../../core/clock.ts'

/** How often to poll for a lost notification and to reconnect. */
const pollMs = 500

export interface ListenerOptions {
  connect(): Client
  /** The current version number. */
  version(): Promise<number>
  /** Resolves when our own write in progress, if any, has called `recordOwnWrite`. */
  pendingWrite(): Promise<void>
  onChange(): void
  readonly clock: Clock
  readonly channel: string
  /** Carries notifications about live events, which are no changes of the store. */
  readonly liveChannel: string
  /** Id of this writer: its own notifications are ignored. */
  readonly self: string
}

export class ChangeListener {
  readonly #options: ListenerOptions
  #client: Client | null = null
  #connecting: Promise<void> | null = null
  #seen = 0
  #closed = false
  #onLive: (what: 'entries' | 'readers') => void = () => {}
  readonly #cancelPoll: () => void

  private constructor(options: ListenerOptions) {
    this.#options = options
    this.#cancelPoll = options.clock.every(pollMs, () => void this.#poll())
  }

  static async open(options: ListenerOptions): Promise<ChangeListener> {
    const listener = new ChangeListener(options)
    try {
      await listener.#listen()
      listener.#seen = await options.version()
      return listener
    } catch (error) {
      await listener.close()
      throw error
    }
  }

  /** Whether the listening connection is up. */
  get listening(): boolean {
    return this.#client !== null
  }

  /** Calls the listener when another process wrote live events or subscribed to them. */
  onLive(listener: (what: 'entries' | 'readers') => void): void {
    this.#onLive = listener
  }

  /** Records our own write. If no other write happened in between, there is nothing to look for. */
  recordOwnWrite(version: number): void {
    if (this.#seen === version - 1) this.#seen = version
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#cancelPoll()
    await this.#connecting?.catch(() => {})
    await this.#client?.end().catch(() => {})
  }

  async #listen(): Promise<void> {
    const { connect, channel, liveChannel, self, onChange } = this.#options
    const client = connect()
    const broken = (): void => {
      if (this.#client === client) this.#client = null
    }
    client.on('error', broken)
    client.on('end', broken)
    client.on('notification', ({ channel: heardOn, payload = '' }) => {
      const [from, version] = payload.split(' ')
      if (from === self) return
      if (heardOn === liveChannel) return this.#onLive(version === 'readers' ? 'readers' : 'entries')
      this.#seen = Math.max(this.#seen, Number(version ?? 0))
      onChange()
    })
    await client.connect()
    await client.query(`LISTEN ${channel}; LISTEN ${liveChannel}`)
    this.#client = client
    this.#onLive('readers') // notifications may have been missed
  }

  /** A failed poll is repeated at the next interval. */
  async #poll(): Promise<void> {
    try {
      if (!this.#client && !this.#closed)
        await (this.#connecting ??= this.#listen().finally(() => (this.#connecting = null)))
      const version = await this.#options.version()
      // The change may be our own write whose answer has not arrived yet.
      if (version > this.#seen) await this.#options.pendingWrite()
      if (this.#closed || version <= this.#seen) return
      this.#seen = version
      this.#options.onChange()
    } catch {
      // The database is unreachable: the next poll tries again.
    }
  }
}
