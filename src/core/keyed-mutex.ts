// A mutex per key within this process. Writers of the same key then never make each other's compare-and-set fail; only
// another process can.

export class KeyedMutex {
  readonly #last = new Map<string, Promise<unknown>>()

  /** Runs the work after all work queued earlier under the same key, whether that succeeded or failed. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const mine = before ? before.then(work, work) : work()
    this.#last.set(key, mine)
    try {
      return await mine
    } finally {
      if (this.#last.get(key) === mine) this.#last.delete(key)
    }
  }
}

const mutexes = new WeakMap<object, KeyedMutex>()

/** The mutex that belongs to an object, such as a store: all handles on that object share it. */
export function mutexOf(owner: object): KeyedMutex {
  const known = mutexes.get(owner)
  if (known) return known
  const made = new KeyedMutex()
  mutexes.set(owner, made)
  return made
}
