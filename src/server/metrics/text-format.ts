// The Prometheus text format: counters, gauges and histograms with a bounded number of series.

/** The value of a name beyond the limit. */
const other = 'other'

type Labels = Readonly<Record<string, string>>

const escaped = (value: string): string =>
  value
    .replaceAll('\\', '\\\\')
    .replaceAll('"', String.raw`\"`)
    .replaceAll('\n', String.raw`\n`)

const labelText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',')

const withLabels = (name: string, labels: string): string => (labels === '' ? name : `${name}{${labels}}`)

const header = (name: string, type: string, help: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
]

/** A metric whose values are read when it is rendered. */
export function gauge(
  name: string,
  help: string,
  values: readonly (readonly [labels: Labels, value: number])[],
  type: 'gauge' | 'counter' = 'gauge',
): string[] {
  return [
    ...header(name, type, help),
    ...values.map(([labels, value]) => `${withLabels(name, labelText(labels))} ${value}`),
  ]
}

export class Counter {
  readonly #name: string
  readonly #help: string
  readonly #values = new Map<string, number>()

  constructor(name: string, help: string) {
    this.#name = name
    this.#help = help
  }

  add(labels: Labels): void {
    const key = labelText(labels)
    this.#values.set(key, (this.#values.get(key) ?? 0) + 1)
  }

  render(): string[] {
    const lines = [...this.#values].map(([labels, value]) => `${withLabels(this.#name, labels)} ${value}`)
    return [...header(this.#name, 'counter', this.#help), ...lines]
  }
}

interface Series {
  /** Per bound, without those of the bounds below it. */
  readonly counts: number[]
  sum: number
  total: number
}

export class Histogram {
  readonly #name: string
  readonly #help: string
  readonly #bounds: readonly number[]
  readonly #series = new Map<string, Series>()

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name
    this.#help = help
    this.#bounds = bounds
  }

  observe(labels: Labels, value: number): void {
    const key = labelText(labels)
    const series = this.#series.get(key) ?? { counts: this.#bounds.map(() => 0), sum: 0, total: 0 }
    this.#series.set(key, series)
    series.sum += value
    series.total++
    const first = this.#bounds.findIndex((bound) => value <= bound)
    if (first !== -1) series.counts[first] = (series.counts[first] as number) + 1
  }

  render(): string[] {
    const name = this.#name
    const lines = header(name, 'histogram', this.#help)
    for (const [labels, { counts, sum, total }] of this.#series) {
      const before = labels === '' ? '' : `${labels},`
      let below = 0
      for (const [index, bound] of this.#bounds.entries()) {
        below += counts[index] as number
        lines.push(`${name}_bucket{${before}le="${bound}"} ${below}`)
      }
      lines.push(`${name}_bucket{${before}le="+Inf"} ${total}`)
      lines.push(`${withLabels(`${name}_sum`, labels)} ${sum}`, `${withLabels(`${name}_count`, labels)} ${total}`)
    }
    return lines
  }
}

/** The first names it sees, up to a limit; further ones are `other`. */
export class BoundedNames {
  readonly #most: number
  readonly #known = new Set<string>()

  constructor(most: number) {
    this.#most = most
  }

  of(name: string): string {
    if (this.#known.has(name)) return name
    if (this.#known.size >= this.#most) return other
    this.#known.add(name)
    return name
  }
}
