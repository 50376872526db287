// Keeps the number of values of a metric label bounded: names of tools and models come from configuration, providers
// and remote servers.

/** The value of labels beyond the limit. */
const other = 'other'

export class LabelLimit {
  readonly #most: number
  readonly #known = new Set<string>()

  constructor(most: number) {
    this.#most = most
  }

  of(value: string): string {
    if (this.#known.has(value)) return value
    if (this.#known.size >= this.#most) return other
    this.#known.add(value)
    return value
  }
}
