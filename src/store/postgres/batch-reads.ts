// Reads of one kind that are asked for at once go to the database as one: fifty callers who each look for a call of their own cost one
// round trip and not fifty. One query per turn of the event loop and two under way at most; who asks meanwhile is in the next.

/** How many keys go into one query; and how many queries of a kind are under way, so that a long answer does not hold up the others. */
const mostKeys = 500
const mostQueries = 2

interface Asker<T> {
  resolve(found: T[]): void
  reject(error: unknown): void
}

export interface Kind<Row, T> {
  /** Answers for all of the keys, in any order. */
  query(keys: readonly string[]): Promise<readonly Row[]>
  /** Whom a row is for. */
  keyOf(row: Row): string
  of(row: Row): T
}

export class Together<Row, T> {
  readonly #kind: Kind<Row, T>
  readonly #askers = new Map<string, Asker<T>[]>()
  #scheduled = false
  #underWay = 0

  constructor(kind: Kind<Row, T>) {
    this.#kind = kind
  }

  /** What is there under this key, read after this was asked. */
  all(key: string): Promise<T[]> {
    return new Promise((resolve, reject) => {
      const askers = this.#askers.get(key)
      if (askers) askers.push({ resolve, reject })
      else this.#askers.set(key, [{ resolve, reject }])
      this.#schedule()
    })
  }

  async one(key: string): Promise<T | undefined> {
    return (await this.all(key))[0]
  }

  #schedule(): void {
    if (this.#scheduled || this.#underWay >= mostQueries || this.#askers.size === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      void this.#ask()
    })
  }

  async #ask(): Promise<void> {
    const { query, keyOf, of } = this.#kind
    const asked = [...this.#askers].slice(0, mostKeys)
    for (const [key] of asked) this.#askers.delete(key)
    this.#underWay++
    this.#schedule() // there may be more than one query takes
    try {
      const found = new Map<string, Row[]>(asked.map(([key]) => [key, []]))
      for (const row of await query(asked.map(([key]) => key))) found.get(keyOf(row))?.push(row)
      // A record of their own for everybody, although two may have asked for the same.
      for (const [key, askers] of asked)
        for (const { resolve } of askers) resolve((found.get(key) as Row[]).map((row) => of(row)))
    } catch (error) {
      for (const [, askers] of asked) for (const { reject } of askers) reject(error)
    } finally {
      this.#underWay--
      this.#schedule()
    }
  }
}
