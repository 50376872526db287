// Open waits of the memory store, sorted by deadline. The cost of reading the due ones does not depend on the others.

interface Due {
  readonly id: string
  readonly deadline: number
}

const isBefore = (a: Due, b: Due): boolean => a.deadline < b.deadline || (a.deadline === b.deadline && a.id < b.id)

export class WaitDeadlines {
  readonly #sorted: Due[] = []

  get soonest(): number | undefined {
    return this.#sorted[0]?.deadline
  }

  /** Ids of the waits due at or before `now`, earliest first. */
  due(now: number, limit: number): string[] {
    const found: string[] = []
    for (const { id, deadline } of this.#sorted) {
      if (deadline > now || found.length >= limit) break
      found.push(id)
    }
    return found
  }

  add({ id, deadline }: Due): void {
    const due = { id, deadline }
    this.#sorted.splice(this.#indexOf(due), 0, due)
  }

  remove(due: Due): void {
    const at = this.#indexOf(due)
    if (this.#sorted[at]?.id === due.id) this.#sorted.splice(at, 1)
  }

  /** Index of the entry, or where it would be inserted. */
  #indexOf(due: Due): number {
    let low = 0
    let high = this.#sorted.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (isBefore(this.#sorted[middle] as Due, due)) low = middle + 1
      else high = middle
    }
    return low
  }
}
