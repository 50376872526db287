// FILES: one after the other. Changes of one session's files made in one process stand in line, so that they do not refuse each other.

const lines = new WeakMap<object, Map<string, Promise<unknown>>>()

/** Does the work after all that was asked for before under the same key. */
export async function inLine<T>(owner: object, key: string, work: () => Promise<T>): Promise<T> {
  const line = lines.get(owner) ?? new Map<string, Promise<unknown>>()
  lines.set(owner, line)
  const before = line.get(key)
  const mine = before ? before.then(work, work) : work()
  line.set(key, mine)
  try {
    return await mine
  } finally {
    if (line.get(key) === mine) line.delete(key)
  }
}
