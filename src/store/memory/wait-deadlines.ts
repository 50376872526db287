// Open waits in the order of their deadlines: looking at the soonest costs those that are due, however many wait.

interface Due {
  readonly id: string
  readonly deadline: number
}

const isBefore = (a: Due, b: Due): boolean => a.deadline < b.deadline || (a.deadline === b.deadline && a.id < b.id)

export class Deadlines {
  readonly #sorted: Due[] = []

  get soonest(): number | undefined {
    return this.#sorted[0]?.deadline
  }

  /** The ids of those at or before `now`, soonest first. */
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
    this.#sorted.splice(this.#placeOf(due), 0, due)
  }

  remove(due: Due): void {
    const at = this.#placeOf(due)
    if (this.#sorted[at]?.id === due.id) this.#sorted.splice(at, 1)
  }

  /** Where it stands, or would. */
  #placeOf(due: Due): number {
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
