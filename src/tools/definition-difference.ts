// What changed between two definitions, for the person who decides about it (POL-9). Every line says where it is from, so no text of a
// source can pass for a line of ours; nothing is left out without saying so, so nothing can be hidden behind something long.

import type { Json } from '../core/value.ts'
import { lookalikes, visible } from './visible-text.ts'

const longestLine = 2_000
const longestInAll = 32_768
/** How much of what is the same stands before a difference in a long line. */
const before = 60

/** What is read first, whatever its name: it is what a model and a policy go by. */
const first = ['id', 'name', 'title', 'description', 'hints', 'version', 'onCrash', 'sensitive']

/** Lines with - and +; of two canonical texts. */
export function differenceOf(was: string, now: string): string {
  const [old, young] = [leavesOf(was), leavesOf(now)]
  const places = [...new Set([...old.keys(), ...young.keys()])]
  const order = (place: string): number => {
    const index = first.findIndex((each) => place === each || place.startsWith(`${each}.`))
    return index === -1 ? first.length : index
  }
  const lines = places
    .toSorted((a, b) => order(a) - order(b) || (a < b ? -1 : 1))
    .flatMap((place) => changesAt(place, old.get(place) ?? [], young.get(place) ?? []))
  let length = 0
  let shown = 0
  for (const line of lines) {
    if ((length += line.length + 1) > longestInAll) break
    shown++
  }
  const rest = lines.length - shown
  if (rest === 0) return lines.join('\n')
  const more = `… ${rest} more ${rest === 1 ? 'line' : 'lines'} of changes not shown: read the definition at its source before you accept it.`
  return [...lines.slice(0, shown), more].join('\n')
}

/** By place, the lines of what stands there. A list of plain values is one place, so that one more of them is one line. */
function leavesOf(text: string): Map<string, string[]> {
  const leaves = new Map<string, string[]>()
  const walk = (value: Json, place: string): void => {
    if (typeof value === 'string') leaves.set(place, value.split('\n').map(quoted))
    else if (typeof value !== 'object' || value === null) leaves.set(place, [String(value)])
    else if (Array.isArray(value)) {
      if (value.length === 0) leaves.set(place, ['[]'])
      else if (value.every((each) => typeof each !== 'object' || each === null))
        leaves.set(
          `${place}[]`,
          value.map((each) => (typeof each === 'string' ? quoted(each) : String(each))),
        )
      else for (const [index, each] of value.entries()) walk(each, `${place}[${index}]`)
    } else {
      const keys = Object.keys(value)
      if (keys.length === 0 && place !== '') leaves.set(place, ['{}'])
      for (const key of keys) walk(value[key] as Json, place === '' ? key : `${place}.${keyed(key)}`)
    }
  }
  walk(JSON.parse(text) as Json, '')
  return leaves
}

const quoted = (text: string): string => `"${text}"`

/** A key is the source's text as well. */
const keyed = (key: string): string => (/^[\w$-]{1,64}$/.test(key) ? key : JSON.stringify(key))

/** Without the lines that both begin or end with. */
function changesAt(place: string, was: readonly string[], now: readonly string[]): string[] {
  let head = 0
  while (head < was.length && head < now.length && was[head] === now[head]) head++
  let tail = 0
  while (tail < was.length - head && tail < now.length - head && was.at(-1 - tail) === now.at(-1 - tail)) tail++
  const gone = was.slice(head, was.length - tail)
  const come = now.slice(head, now.length - tail)
  const [one, other] =
    gone.length === 1 && come.length === 1 ? fromDifference(gone[0] as string, come[0] as string) : [gone, come]
  const line = (sign: string, text: string): string => `${sign} ${shown(place)}: ${shown(text)}${lookalikes(text)}`
  return [...one.map((text) => line('-', text)), ...other.map((text) => line('+', text))]
}

/** Two long lines from shortly before the place where they part. */
function fromDifference(was: string, now: string): [string[], string[]] {
  if (Math.max(was.length, now.length) <= longestLine) return [[was], [now]]
  let same = 0
  while (same < was.length && was[same] === now[same]) same++
  const from = same - before
  return from <= 0 ? [[was], [now]] : [[`…${was.slice(from)}`], [`…${now.slice(from)}`]]
}

function shown(text: string): string {
  const cut = text.length - longestLine
  return cut <= 0 ? visible(text) : `${visible(text.slice(0, longestLine))}… (${cut} more characters not shown)`
}
