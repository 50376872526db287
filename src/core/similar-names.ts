// Suggestions ("did you mean …?") for misspelt tool names and options. The name may come from a model, so it can be any
// string of any length.

/** Longer than any tool name. Only the start of a longer name is compared. */
const maxComparedLength = 96

/** Up to `max` of the known names, closest first. `__proto__` is a name like any other. */
export function similarNames(name: string, known: readonly string[], max = 3): string[] {
  const wanted = normalizedForms(name)
  const found: { name: string; distance: number }[] = []
  for (const candidate of new Set(known)) {
    const distance = distanceOf(wanted, normalizedForms(candidate))
    if (distance !== undefined) found.push({ name: candidate, distance })
  }
  found.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
  return found.slice(0, Math.max(0, max)).map((each) => each.name)
}

interface Forms {
  /** Without case and separators: getWeather, get-weather and get_weather are equal. */
  readonly folded: string
  /** The words in sorted order: weather_get equals get_weather. */
  readonly sorted: string
}

function normalizedForms(name: string): Forms {
  const words = name
    .slice(0, maxComparedLength)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
  return { folded: words.join(''), sorted: words.toSorted().join(' ').trim() }
}

/** Undefined if the names are not similar. */
function distanceOf(a: Forms, b: Forms): number | undefined {
  if (a.folded === b.folded) return a.folded === '' ? undefined : 0
  if (a.sorted === b.sorted) return 0.5
  const [shorter, longer] = a.folded.length < b.folded.length ? [a.folded, b.folded] : [b.folded, a.folded]
  // At most a third of the letters may differ, and never more than six; beyond that the names are unrelated.
  const allowed = Math.min(Math.floor(longer.length / 3), 6)
  const edits = editDistance(shorter, longer, allowed)
  // A name that starts or ends with the other one (`weather` for `get_weather`) is similar at any distance.
  const part = shorter.length >= 3 && (longer.startsWith(shorter) || longer.endsWith(shorter))
  if (edits <= allowed) return part ? Math.min(edits, 1) : edits
  return part ? 1 + (longer.length - shorter.length) / maxComparedLength : undefined
}

/** Three rows of the distance table, reused for every comparison to avoid allocations. */
const rows = [0, 1, 2].map(() => new Uint8Array(maxComparedLength + 1)) as [Uint8Array, Uint8Array, Uint8Array]

/** Damerau-Levenshtein distance (with adjacent swaps). Stops early when it exceeds `max`. */
function editDistance(shorter: string, longer: string, max: number): number {
  const tooFar = max + 1
  if (longer.length - shorter.length > max) return tooFar
  let [beforeLast, last, next] = rows
  const width = shorter.length
  for (let column = 0; column <= width; column += 1) last[column] = column
  for (let row = 1; row <= longer.length; row += 1) {
    // Outside this band the distance always exceeds `max`.
    const from = Math.max(1, row - max)
    const to = Math.min(width, row + max)
    next[from - 1] = from === 1 ? row : tooFar
    if (to < width) next[to + 1] = tooFar
    let least = tooFar
    const unit = longer.charCodeAt(row - 1)
    for (let column = from; column <= to; column += 1) {
      const same = unit === shorter.charCodeAt(column - 1)
      let cost = Math.min(
        (last[column] as number) + 1,
        (next[column - 1] as number) + 1,
        (last[column - 1] as number) + (same ? 0 : 1),
      )
      const swapped =
        row > 1 &&
        column > 1 &&
        unit === shorter.charCodeAt(column - 2) &&
        longer.charCodeAt(row - 2) === shorter.charCodeAt(column - 1)
      if (swapped) cost = Math.min(cost, (beforeLast[column - 2] as number) + 1)
      next[column] = cost
      if (cost < least) least = cost
    }
    if (least > max) return tooFar
    ;[beforeLast, last, next] = [last, next, beforeLast]
  }
  return last[width] as number
}
