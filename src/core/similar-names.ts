// For a tool that does not exist: the names the model may have meant. The name comes from a model and may be anything.

/** Longer than any tool name; a name of ten thousand characters is compared by its beginning. */
const mostCompared = 96

/** Up to `most` of the known names, the closest first. Names are strings: `__proto__` is one like any other. */
export function closeNames(name: string, known: readonly string[], most = 3): string[] {
  const wanted = formsOf(name)
  const found: { name: string; distance: number }[] = []
  for (const candidate of new Set(known)) {
    const distance = distanceOf(wanted, formsOf(candidate))
    if (distance !== undefined) found.push({ name: candidate, distance })
  }
  found.sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
  return found.slice(0, Math.max(0, most)).map((each) => each.name)
}

interface Forms {
  /** Without case, `-`, `_`, `.`, `/` and spaces: getWeather, get-weather and get_weather are one. */
  readonly folded: string
  /** The same words in any order: weather_get is get_weather. */
  readonly sorted: string
}

function formsOf(name: string): Forms {
  const words = name
    .slice(0, mostCompared)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
  return { folded: words.join(''), sorted: words.toSorted().join(' ').trim() }
}

/** Undefined if they are not close. */
function distanceOf(a: Forms, b: Forms): number | undefined {
  if (a.folded === b.folded) return a.folded === '' ? undefined : 0
  if (a.sorted === b.sorted) return 0.5
  const [shorter, longer] = a.folded.length < b.folded.length ? [a.folded, b.folded] : [b.folded, a.folded]
  // A third of the letters may differ, six at most: more, and the names have nothing to do with each other.
  const allowed = Math.min(Math.floor(longer.length / 3), 6)
  const edits = editDistance(shorter, longer, allowed)
  // A name that begins or ends with the other (`weather` for `get_weather`) is close however much is missing.
  const part = shorter.length >= 3 && (longer.startsWith(shorter) || longer.endsWith(shorter))
  if (edits <= allowed) return part ? Math.min(edits, 1) : edits
  return part ? 1 + (longer.length - shorter.length) / mostCompared : undefined
}

/** Three rows of the table, used again for every name: ten thousand names are compared without making anything. */
const rows = [0, 1, 2].map(() => new Uint8Array(mostCompared + 1)) as [Uint8Array, Uint8Array, Uint8Array]

/** Insertions, deletions, changes and swaps of neighbours; stops when it is more than `most`. */
function editDistance(shorter: string, longer: string, most: number): number {
  const tooFar = most + 1
  if (longer.length - shorter.length > most) return tooFar
  let [beforeLast, last, next] = rows
  const width = shorter.length
  for (let column = 0; column <= width; column += 1) last[column] = column
  for (let row = 1; row <= longer.length; row += 1) {
    // Outside this band the distance is more than `most` in any case.
    const from = Math.max(1, row - most)
    const to = Math.min(width, row + most)
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
    if (least > most) return tooFar
    ;[beforeLast, last, next] = [last, next, beforeLast]
  }
  return last[width] as number
}
