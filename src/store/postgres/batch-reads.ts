// Batches concurrent reads of one kind into one query: fifty callers that each look up a call cost one round trip
// instead of fifty. At most one query starts per event-loop turn and two run at a time; later requests join the next
// query.

/** Maximum keys per query, and concurrent queries per kind. Two, so that one slow answer does not block the rest. */
const maxKeys = 500
const maxQueries = 2

interface Waiter<T> {
  resolve(found: T[]): void
  reject(error: unknown): void
}

export interface BatchQuery<Row, T> {
  /** Returns the rows for all keys, in any order. */
  query(keys: readonly string[]): Promise<readonly Row[]>
  /** The key a row belongs to. */
  keyOf(row: Row): string
  toRecord(row: Row): T
}

export class BatchReader<Row, T> {
  readonly #query: BatchQuery<Row, T>
  readonly #waiters = new Map<string, Waiter<T>[]>()
  #scheduled = false
  #running = 0

  constructor(kind: BatchQuery<Row, T>) {
    this.#query = kind
  }

  /** The records under this key, read after this call. */
  all(key: string): Promise<T[]> {
    return new Promise((resolve, reject) => {
      const waiters = this.#waiters.get(key)
      if (waiters) waiters.push({ resolve, reject })
      else this.#waiters.set(key, [{ resolve, reject }])
      this.#schedule()
    })
  }

  async one(key: string): Promise<T | undefined> {
    return (await this.all(key))[0]
  }

  #schedule(): void {
    if (this.#scheduled || this.#running >= maxQueries || this.#waiters.size === 0) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      void this.#runQuery()
    })
  }

  async #runQuery(): Promise<void> {
    const { query, keyOf, toRecord } = this.#query
    const batch = [...this.#waiters].slice(0, maxKeys)
    for (const [key] of batch) this.#waiters.delete(key)
    this.#running++
    this.#schedule() // more keys may be waiting than one query takes
    try {
      const found = new Map<string, Row[]>(batch.map(([key]) => [key, []]))
      for (const row of await query(batch.map(([key]) => key))) found.get(keyOf(row))?.push(row)
      // Each caller gets its own record object, even if two asked for the same key.
      for (const [key, waiters] of batch)
        for (const { resolve } of waiters) resolve((found.get(key) as Row[]).map((row) => toRecord(row)))
    } catch (error) {
      for (const [, waiters] of batch) for (const { reject } of waiters) reject(error)
    } finally {
      this.#running--
      this.#schedule()
    }
  }
}
