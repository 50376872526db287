// Those of one process who change the same thing have their turn one after the other: then only another process can be first, and nobody tries in vain
// because of a neighbour.

export class Turns {
  readonly #last = new Map<string, Promise<unknown>>()

  async of<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve()
    const mine = before.then(work, work)
    this.#last.set(name, mine)
    try {
      return await mine
    } finally {
      if (this.#last.get(name) === mine) this.#last.delete(name)
    }
  }
}
