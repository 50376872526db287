// A parser of the Prometheus text format that refuses what a scraper would refuse.

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface Scrape {
  readonly types: ReadonlyMap<string, string>
  readonly samples: readonly Sample[]
  /** The value of a sample with these labels, and perhaps others. */
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined
}

const sampleForm = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (NaN|[+-]?(?:Inf|\d+(?:\.\d+)?(?:e[+-]?\d+)?))$/
const labelForm = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(,|$)/y

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {}
  let end = 0
  while (end < text.length) {
    labelForm.lastIndex = end
    const match = labelForm.exec(text)
    if (!match) throw new Error(`Not a list of labels: ${text}`)
    const [, name = '', value = ''] = match
    if (Object.hasOwn(labels, name)) throw new Error(`The label ${name} occurs twice: ${text}`)
    labels[name] = value.replaceAll(/\\(.)/g, (_, escape: string) => (escape === 'n' ? '\n' : escape))
    end = labelForm.lastIndex
  }
  return labels
}

const familyOf = (name: string, types: ReadonlyMap<string, string>): string => {
  const base = name.replace(/_(?:bucket|sum|count)$/, '')
  return types.get(base) === 'histogram' ? base : name
}

export function parsePrometheus(text: string): Scrape {
  if (!text.endsWith('\n')) throw new Error('The last line has no end.')
  const types = new Map<string, string>()
  const samples: Sample[] = []
  const series = new Set<string>()
  for (const line of text.slice(0, -1).split('\n')) {
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line)
    if (comment) {
      const [, kind, name = '', rest = ''] = comment
      if (kind === 'HELP') continue
      if (types.has(name)) throw new Error(`Two types of ${name}`)
      types.set(name, rest)
      continue
    }
    const [, name = '', labels = '', value = ''] = sampleForm.exec(line) ?? []
    if (name === '') throw new Error(`Not a sample: ${line}`)
    const key = `${name}{${labels}}`
    if (series.has(key)) throw new Error(`Two samples of ${key}`)
    series.add(key)
    if (!types.has(familyOf(name, types))) throw new Error(`${name} has no type`)
    samples.push({ name, labels: labelsOf(labels), value: Number(value.replace('Inf', 'Infinity')) })
  }
  checkHistograms(types, samples)
  return {
    types,
    samples,
    value: (name, labels = {}) =>
      samples.find(
        (sample) =>
          sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      )?.value,
  }
}

/** Buckets grow, and the last one has everything that was counted. */
function checkHistograms(types: ReadonlyMap<string, string>, samples: readonly Sample[]): void {
  for (const [name] of [...types].filter(([, type]) => type === 'histogram')) {
    const last = new Map<string, number>()
    for (const { name: own, labels, value } of samples) {
      const { le = '', ...rest } = labels
      const key = JSON.stringify(rest)
      if (own === `${name}_bucket`) {
        if (value < (last.get(key) ?? 0)) throw new Error(`Buckets of ${name} shrink at ${le}`)
        last.set(key, value)
      }
      if (own === `${name}_count` && last.get(key) !== value) throw new Error(`${name}_count is not its last bucket`)
    }
  }
}
