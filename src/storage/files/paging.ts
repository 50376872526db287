// FILES: how much of a list is asked for.

import { PawlError } from '../../core/errors.ts'
import { type FilePath, filePath } from './file-path.ts'
import type { FileStat, PageOptions } from '../../core/session-files.ts'

export function pageOf({ limit = 200, after }: PageOptions): {
  readonly limit: number
  readonly after: FilePath | undefined
} {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1000)
    throw new PawlError('config_invalid', `limit is ${String(limit)}; it must be a whole number from 1 to 1000.`)
  return { limit, after: after === undefined ? undefined : filePath(after) }
}

/** Sorted out together, not one by one. */
const spare = 100

/** The first by path of many that come in any order, after one of them. How many are held does not grow with how many come. */
export class FirstByPath {
  readonly #most: number
  readonly #after: string | undefined
  #found: FileStat[] = []
  /** What comes after it is none of the first. */
  #last: string | undefined

  constructor(most: number, after: string | undefined) {
    this.#most = most
    this.#after = after
  }

  /** Whether neither what is at this path nor anything below it can be one of them. */
  excludes(path: string): boolean {
    if (this.#last !== undefined && path > this.#last) return true
    // 0 follows the slash: all that is below a path comes before it.
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
