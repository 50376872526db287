// One check of one value against one compiled schema: what was found, what it cost, and what unevaluated* must know.
//
// A schema from a stranger can make a small value cost 2^n steps (two branches that recurse into the same child, a tree of
// references that doubles). So every node applied and every character matched is counted, and a check that exceeds the
// budget ends in a problem instead of a stalled process.

import type { Json } from '../../core/value.ts'
import { pathText, type Problem, received } from '../validation-problem.ts'

/** Where in the value: a list from the leaf up, so that going down costs one small object and no text. */
export type At = { readonly up: At; readonly key: string | number } | null

export interface Fault {
  readonly at: At
  /** Made only when it is told: most faults of a union are thrown away. */
  readonly say: () => string
  readonly got: unknown
  /** What shows a union that another branch was meant: a value of another type, or another constant where one is asked for. */
  readonly other: 'type' | 'constant' | undefined
}

/** What `got` is where a required property is missing. */
export const nothing: unique symbol = Symbol('nothing')

/** True if the value passes; what is wrong goes to `run`, what was looked at to `seen`. */
export type Check = (value: Json, at: At, run: Run, seen: Seen | null) => boolean

/** A base URI with the schemas that have names under it. */
export interface Resource {
  readonly uri: string
  readonly root: Json
  readonly anchors: Map<string, Json>
  readonly dynamicAnchors: Set<string>
}

export interface Node {
  readonly checks: Check[]
  readonly resource: Resource
  /** Nodes applied to the same value: a cycle of these never ends. */
  readonly inPlace: Node[]
}

/** Some ten milliseconds. Enough for nearly every value; a large one is measured when it is used up, and gets more by its size. */
const firstSteps = 100_000
const stepsBySize = 16
/** Half a second at worst, for a megabyte and an intricate schema. */
const maxSteps = 2_000_000
const mostFaults = 1000

export class TooCostly extends Error {}

export class Run {
  faults: Fault[] = []
  /** Raised by each keyword that could not be enforced: then "it matched" may be untrue, and nothing may be refused for it. */
  unsure = 0
  /** The resources entered so far, for $dynamicRef. */
  readonly scope: Resource[] = []
  readonly #value: Json
  readonly #tracks: boolean
  #left = firstSteps
  #measured = false

  constructor(value: Json, tracks: boolean) {
    this.#value = value
    this.#tracks = tracks
  }

  spend(steps: number): void {
    this.#left -= steps
    if (this.#left >= 0) return
    if (!this.#measured) this.#left += Math.min(stepsBySize * sizeOf(this.#value), maxSteps)
    this.#measured = true
    if (this.#left < 0) throw new TooCostly()
  }

  fault(at: At, say: () => string, got: unknown, other?: Fault['other']): false {
    if (this.faults.length < mostFaults) this.faults.push({ at, say, got, other })
    return false
  }

  /** Applies a node to a value inside the present one. */
  inside(node: Node, value: Json, at: At): boolean {
    return apply(node, value, at, this, this.#tracks ? new Seen() : null)
  }

  /** Applies a node to the present value; what it looked at counts only if it passed. */
  onSame(node: Node, value: Json, at: At, seen: Seen | null): boolean {
    if (!seen) return apply(node, value, at, this, null)
    const mine = new Seen()
    const ok = apply(node, value, at, this, mine)
    if (ok) seen.merge(mine)
    return ok
  }

  /** Does it match, without telling why not. */
  quietly(attempt: () => boolean): boolean {
    const before = this.faults
    this.faults = []
    try {
      return attempt()
    } finally {
      this.faults = before
    }
  }

  problems(): Problem[] {
    const told = new Map<string, Problem>()
    for (const { at, say, got } of this.faults) {
      const path = pathOf(at)
      const message = `${say()} (got ${got === nothing ? 'nothing, but it is required' : received(got)})`
      told.set(`${path}\n${message}`, { path, message })
    }
    return [...told.values()]
  }
}

/** Values inside, long strings by their length. */
function sizeOf(value: Json): number {
  let size = 0
  const waiting: Json[] = [value]
  for (let next = waiting.pop(); next !== undefined && size < maxSteps; next = waiting.pop()) {
    size += typeof next === 'string' ? 1 + next.length / 2 : 1
    if (Array.isArray(next)) {
      for (const item of next) {
        if (typeof item === 'object' || typeof item === 'string') waiting.push(item)
        else size += 1
      }
    } else if (typeof next === 'object' && next !== null) {
      for (const key of Object.keys(next)) {
        size += key.length / 2
        waiting.push(next[key] as Json)
      }
    }
  }
  return size
}

function apply(node: Node, value: Json, at: At, run: Run, seen: Seen | null): boolean {
  run.spend(1)
  const enters = run.scope.at(-1) !== node.resource
  if (enters) run.scope.push(node.resource)
  let ok = true
  for (const check of node.checks) if (!check(value, at, run, seen)) ok = false
  if (enters) run.scope.pop()
  return ok
}

function pathOf(at: At): string {
  const keys: (string | number)[] = []
  for (let here = at; here; here = here.up) keys.push(here.key)
  return pathText(keys.toReversed())
}

/** Which keys and items some keyword has looked at. Kept only if the schema has an unevaluated* keyword. */
export class Seen {
  keys = new Set<string>()
  everyKey = false
  /** Items 0 to here. */
  items = 0
  readonly single = new Set<number>()

  merge(other: Seen): void {
    for (const key of other.keys) this.keys.add(key)
    for (const index of other.single) this.single.add(index)
    this.everyKey ||= other.everyKey
    this.items = Math.max(this.items, other.items)
  }
}
