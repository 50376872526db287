// Credentials that were valid before, so that the limit on wrong tokens of an address does not lock out its other clients.
// They are only hashes, and each is verified again whenever it is used.

import { hash } from 'node:crypto'

const maxKnown = 10_000

export class KnownCredentials {
  readonly #hashes = new Set<string>()

  has(request: Request): boolean {
    const key = keyOf(request)
    return key !== null && this.#hashes.has(key)
  }

  add(request: Request): void {
    const key = keyOf(request)
    if (key === null || this.#hashes.has(key)) return
    const [oldest] = this.#hashes
    if (this.#hashes.size >= maxKnown && oldest !== undefined) this.#hashes.delete(oldest)
    this.#hashes.add(key)
  }

  delete(request: Request): void {
    const key = keyOf(request)
    if (key !== null) this.#hashes.delete(key)
  }
}

function keyOf({ headers }: Request): string | null {
  const given = headers.get('authorization') ?? headers.get('cookie')
  return given === null ? null : hash('sha256', given)
}
