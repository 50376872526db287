// The streams of a server: how many each token has open, and the signal that ends them when their token is revoked or
// the server closes.

import type { Clock } from '../../core/clock.ts'

/** Why the server ends a stream. */
export type StreamEnd = 'server_closing' | 'unauthorized'

export interface StreamLease {
  /** Aborts with a StreamEnd as its reason. */
  readonly signal: AbortSignal
  /** The stream has ended. */
  release(): void
}

/** The token of a stream; see Authenticated. */
interface StreamOwner {
  readonly holder: string
  readonly credential: string
  readonly verify: () => Promise<boolean>
}

interface OpenStream {
  /** Streams with the same credential are verified together. */
  readonly credential: string
  readonly stop: AbortController
  readonly isValid: () => Promise<boolean>
}

export class OpenStreams {
  readonly #streams = new Map<OpenStream, string>()
  readonly #counts = new Map<string, number>()
  readonly #limit: number
  readonly #stopChecking: () => void
  #isClosed = false

  /** Every `heartbeatMs` the tokens of all streams are verified again, each token once. */
  constructor(limit: number, heartbeatMs: number, clock: Pick<Clock, 'every'>) {
    this.#limit = limit
    this.#stopChecking = clock.every(heartbeatMs, () => void this.#check())
  }

  get size(): number {
    return this.#streams.size
  }

  /** Null if the holder has too many streams open. */
  open({ holder, credential, verify }: StreamOwner): StreamLease | null {
    const count = this.#counts.get(holder) ?? 0
    if (count >= this.#limit) return null
    this.#counts.set(holder, count + 1)
    const stream: OpenStream = { credential, stop: new AbortController(), isValid: verify }
    this.#streams.set(stream, holder)
    if (this.#isClosed) stream.stop.abort('server_closing')
    return { signal: stream.stop.signal, release: () => this.#release(stream) }
  }

  #release(stream: OpenStream): void {
    const holder = this.#streams.get(stream)
    if (holder === undefined) return
    this.#streams.delete(stream)
    const left = (this.#counts.get(holder) ?? 1) - 1
    if (left === 0) this.#counts.delete(holder)
    else this.#counts.set(holder, left)
  }

  async #check(): Promise<void> {
    const byCredential = Map.groupBy(this.#streams, ([{ credential }]) => credential)
    // All at once: an authentication of the host that is slow for one must not delay the others.
    const checks = [...byCredential.values()].map(async (streams) => {
      const [first] = streams
      // A store that does not answer says nothing about the token.
      const isValid = await first?.[0].isValid().catch(() => true)
      if (isValid === false) for (const [{ stop }] of streams) stop.abort('unauthorized')
    })
    await Promise.all(checks)
  }

  /** Ends all streams, and new ones at once. */
  close(): void {
    this.#isClosed = true
    this.#stopChecking()
    for (const { stop } of this.#streams.keys()) stop.abort('server_closing')
  }
}
