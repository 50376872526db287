// The state of one validation of a value: faults, remaining budget, and the evaluated keys for the unevaluated*
// keywords.
//
// An untrusted schema can make a small value cost 2^n steps (two branches that recurse into the same child, a tree of
// references that doubles). So every applied node and every matched character is counted, and a validation that exceeds
// the budget ends with a problem instead of blocking the process.

import type { Json } from '../../core/tool-value.ts'
import { pathText, type Problem, describeReceived } from '../validation-problem.ts'

export const isObject = (value: unknown): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Position in the value, as a linked list from the leaf up: descending costs one small object and no string. */
export type ValuePath = { readonly up: ValuePath; readonly key: string | number } | null

export interface Fault {
  readonly at: ValuePath
  /** Builds the message lazily: most faults of a union are discarded. */
  readonly say: () => string
  readonly got: unknown
  /** Indicates to a union that another branch was intended: the type or a constant differs. */
  readonly mismatch: 'type' | 'constant' | undefined
}

/** The value of `got` for a missing required property. */
export const missing: unique symbol = Symbol('nothing')

/** True if the value passes. Faults are added to `run`, evaluated keys and items to `seen`. */
export type Check = (value: Json, at: ValuePath, run: ValidationRun, seen: Evaluated | null) => boolean

/** A base URI with its anchors. */
export interface Resource {
  readonly uri: string
  readonly root: Json
  readonly anchors: Map<string, Json>
  readonly dynamicAnchors: Set<string>
}

export interface Node {
  readonly checks: Check[]
  readonly resource: Resource
  /** Nodes that apply to the same value. A cycle of these would never end. */
  readonly inPlace: Node[]
}

/**
 * A step takes up to 0.15 µs before the code is optimized. These are enough for nearly every value. When they are used
 * up, the value is measured, and a larger value gets a larger budget.
 */
const initialSteps = 50_000
const stepsBySize = 16
/** In addition, for large values. 300,000 steps in all take at most 50 milliseconds (bench/schemas). */
const maxSteps = 250_000
const maxFaults = 1000

export class TooCostly extends Error {}

export class ValidationRun {
  faults: Fault[] = []
  /**
   * Counts keywords that could not be enforced. Then a match is uncertain, and a value must not be refused because of
   * it.
   */
  unsure = 0
  /** The dynamic scope, for $dynamicRef. */
  readonly scope: Resource[] = []
  readonly #value: Json
  readonly #tracksEvaluated: boolean
  #remaining = initialSteps
  #measured = false

  constructor(value: Json, tracksEvaluated: boolean) {
    this.#value = value
    this.#tracksEvaluated = tracksEvaluated
  }

  spend(steps: number): void {
    this.#remaining -= steps
    if (this.#remaining >= 0) return
    if (!this.#measured) this.#remaining += Math.min(stepsBySize * valueSize(this.#value), maxSteps)
    this.#measured = true
    if (this.#remaining < 0) throw new TooCostly()
  }

  fault(at: ValuePath, say: () => string, got: unknown, other?: Fault['mismatch']): false {
    this.spend(1)
    if (this.faults.length < maxFaults) this.faults.push({ at, say, got, mismatch: other })
    return false
  }

  /** Applies a node to a property or an item. */
  applyInside(node: Node, value: Json, at: ValuePath): boolean {
    if (!this.#tracksEvaluated || typeof value !== 'object' || value === null) return apply(node, value, at, this, null)
    this.spend(2)
    return apply(node, value, at, this, new Evaluated())
  }

  /** Applies a node to the same value. Keys and items it evaluated count only if it passed. */
  applyInPlace(node: Node, value: Json, at: ValuePath, seen: Evaluated | null): boolean {
    if (!seen) return apply(node, value, at, this, null)
    this.spend(2)
    const own = new Evaluated()
    const ok = apply(node, value, at, this, own)
    if (ok) {
      this.spend(own.keys.size + own.single.size)
      seen.merge(own)
    }
    return ok
  }

  /** Runs `attempt` and discards its faults. */
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
    const byText = new Map<string, Problem>()
    for (const { at, say, got } of this.faults) {
      const path = pathTextOf(at)
      const message = `${say()} (got ${got === missing ? 'nothing, but it is required' : describeReceived(got)})`
      byText.set(`${path}\n${message}`, { path, message })
    }
    return [...byText.values()]
  }
}

/** Number of values, with strings weighted by length. */
function valueSize(value: Json): number {
  let size = 0
  const stack: Json[] = [value]
  for (let next = stack.pop(); next !== undefined && size < maxSteps; next = stack.pop()) {
    size += typeof next === 'string' ? 1 + next.length / 2 : 1
    if (Array.isArray(next)) {
      for (const item of next) {
        if (typeof item === 'object' || typeof item === 'string') stack.push(item)
        else size += 1
      }
    } else if (typeof next === 'object' && next !== null) {
      for (const key of Object.keys(next)) {
        size += key.length / 2
        stack.push(next[key] as Json)
      }
    }
  }
  return size
}

function apply(node: Node, value: Json, at: ValuePath, run: ValidationRun, seen: Evaluated | null): boolean {
  run.spend(1)
  const enters = run.scope.at(-1) !== node.resource
  if (enters) run.scope.push(node.resource)
  let ok = true
  for (const check of node.checks) if (!check(value, at, run, seen)) ok = false
  if (enters) run.scope.pop()
  return ok
}

function pathTextOf(at: ValuePath): string {
  const keys: (string | number)[] = []
  for (let here = at; here; here = here.up) keys.push(here.key)
  return pathText(keys.toReversed())
}

/** The keys and items that some keyword has evaluated. Tracked only if the schema has an unevaluated* keyword. */
export class Evaluated {
  keys = new Set<string>()
  everyKey = false
  /** All items before this index are evaluated. */
  items = 0
  readonly single = new Set<number>()

  merge(other: Evaluated): void {
    for (const key of other.keys) this.keys.add(key)
    for (const index of other.single) this.single.add(index)
    this.everyKey ||= other.everyKey
    this.items = Math.max(this.items, other.items)
  }
}
