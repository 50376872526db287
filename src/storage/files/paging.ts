// Paging of file listings.

import type { FileStat } from '../../core/session-files-interface.ts'

/** Surplus entries collected before sorting and truncating, to amortize the sort. */
const spare = 100

/** Collects the first `most` entries by path after `after`, from entries in any order, in bounded memory. */
export class FirstByPath {
  readonly #most: number
  readonly #after: string | undefined
  #found: FileStat[] = []
  /** Set once enough entries are known: entries after this path are not part of the result. */
  #last: string | undefined

  constructor(most: number, after: string | undefined) {
    this.#most = most
    this.#after = after
  }

  /** Whether neither this path nor anything below it can be part of the result. */
  excludes(path: string): boolean {
    if (this.#last !== undefined && path > this.#last) return true
    // '0' follows '/' in byte order, so everything below `path` sorts before `${path}0`.
    return this.#after !== undefined && `${path}0` <= this.#after
  }

  add(...stats: readonly FileStat[]): void {
    for (const stat of stats) if (this.#after === undefined || stat.path > this.#after) this.#found.push(stat)
    if (this.#found.length >= this.#most + spare) this.#last = this.entries().at(-1)?.path
  }

  entries(): readonly FileStat[] {
    this.#found = this.#found.toSorted((a, b) => (a.path < b.path ? -1 : 1)).slice(0, this.#most)
    return this.#found
  }
}
