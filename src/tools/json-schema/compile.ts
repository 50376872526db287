// Compiles a plain JSON Schema (2020-12 or draft-07) into a tree of checks. The schema may be untrusted: no part of it
// becomes code, nothing is fetched, patterns run in linear time, size and depth are bounded, endless references are
// refused here, and the cost of one validation is bounded (validation-state.ts).

import type { Json } from '../../core/tool-value.ts'
import type { CheckResult, JsonSchema } from '../validation-problem.ts'
import { arrayChecks, unevaluatedItems } from './arrays.ts'
import { copySchema, draftOf, type Refuse, refuserFor } from './check-schema.ts'
import { logicChecks, referenceChecks } from './combinators.ts'
import type { KeywordCompiler } from './keyword-compiler.ts'
import { objectChecks, unevaluatedProperties } from './objects.ts'
import { linearPattern, type Pattern } from './pattern.ts'
import { patternCost } from './pattern-cost.ts'
import { References } from './references.ts'
import { isObject, type Check, type Node, type Resource, ValidationRun, TooCostly } from './validation-state.ts'
import { scalarChecks } from './scalars.ts'
import { type Lookup, describeUnion, describeSchema } from './describe-schema.ts'

/** Maximum chain of references and combinators that apply to the same value. */
const maxChain = 100
/** Estimated states of all patterns of a schema; compiling these takes 20 to 50 milliseconds. */
const maxPatternCost = 20_000
/** References and combinators in all. A $dynamicRef counts once per schema that it may lead to. */
const maxEdges = 20_000

export interface CompiledJsonSchema {
  readonly json: JsonSchema
  readonly warnings: readonly string[]
  check(value: Json): CheckResult
}

export function compileJsonSchema(schema: JsonSchema, label: string): CompiledJsonSchema {
  const refuse = refuserFor(label)
  const json = copySchema(schema, refuse)
  const references = new References(json, draftOf(json), refuse)
  const { root, warnings } = compile(json, references, refuse)
  const tracksEvaluated = references.unevaluated
  return {
    json,
    warnings,
    check(value) {
      const run = new ValidationRun(value, tracksEvaluated)
      try {
        return run.applyInside(root, value, null) ? { ok: true, value } : { ok: false, problems: run.problems() }
      } catch (error) {
        // A value nested deeper than the stack is invalid; it must not crash the call.
        if (error instanceof RangeError) return invalid('nested too deeply to be checked; send a flatter value')
        if (error instanceof TooCostly)
          return invalid("too large or too intricate to be checked against this tool's schema; send less at once")
        throw error
      }
    },
  }
}

const invalid = (message: string): CheckResult => ({ ok: false, problems: [{ path: '', message }] })

function compile(
  json: JsonSchema,
  references: References,
  refuse: Refuse,
): { root: Node; warnings: readonly string[] } {
  const draft = draftOf(json)
  const nodes = new Map<Json, Node>()
  const pending: JsonSchema[] = []
  const patterns = new Map<string, Pattern | undefined>()
  const countPattern = patternCounter((place) => refuse(place, 'its patterns are too many or repeat too much'))
  let edges = 0
  const warnings = new Set<string>()
  const lookup: Lookup = (schema) =>
    typeof schema.$ref === 'string' ? references.resolve(schema.$ref, schema).schema : undefined

  // Nodes are compiled from a work list, so a long chain of references needs no deep stack.
  const nodeOf = (schema: Json, resource: Resource): Node => {
    const existing = nodes.get(schema)
    if (existing) return existing
    const node: Node = { checks: [], resource, inPlace: [] }
    if (isObject(schema)) {
      nodes.set(schema, node)
      pending.push(schema)
    } else if (schema === false) {
      node.checks.push((value, at, run) => run.fault(at, () => 'expected nothing here', value))
    }
    return node
  }

  const compilerFor = (schema: JsonSchema, node: Node): KeywordCompiler => {
    const sub = (part: Json): Node => nodeOf(part, isObject(part) ? references.resourceOf(part) : node.resource)
    const inPlace = (next: Node): Node => {
      edges += 1
      if (edges > maxEdges) refuse(references.pointerOf(schema), `it has more than ${maxEdges} references`)
      node.inPlace.push(next)
      return next
    }
    return {
      draft,
      nodeInside: sub,
      nodeInPlace: (part) => inPlace(sub(part)),
      ref(ref) {
        const target = references.resolve(ref, schema)
        return inPlace(nodeOf(target.schema, target.resource))
      },
      dynamicRef(ref) {
        const target = references.resolve(ref, schema)
        const fixed = inPlace(nodeOf(target.schema, target.resource))
        const name = isObject(target.schema) ? target.schema.$dynamicAnchor : undefined
        if (typeof name !== 'string' || !ref.endsWith(`#${name}`)) return fixed
        // The outermost resource in the dynamic scope that has the anchor wins.
        const candidates = new Map(
          references
            .withDynamicAnchor(name)
            .map((resource) => [resource, inPlace(nodeOf(resource.anchors.get(name) as Json, resource))]),
        )
        return (scope) => {
          for (const resource of scope) {
            const node = candidates.get(resource)
            if (node) return node
          }
          return fixed
        }
      },
      pattern(source, keyword) {
        const known = patterns.get(source)
        if (known) return known
        const place = `${references.pointerOf(schema)}/${keyword}`
        countPattern(source, place)
        const found = linearPattern(source)
        if ('invalid' in found) refuse(place, `it is not a regular expression (${found.invalid})`)
        const test = 'test' in found ? found.test : undefined
        if ('unsupported' in found) {
          warnings.add(
            `${place}: the pattern ${JSON.stringify(source.slice(0, 200))} cannot be enforced, because ${found.unsupported}.`,
          )
        }
        patterns.set(source, test)
        return test
      },
      expected: (part) => memoize(() => `expected ${describeSchema(part, lookup)}`),
      expectedOneOf: (branches) => memoize(() => `expected ${describeUnion(branches, lookup)}`),
    }
  }

  const root = nodeOf(json, references.resourceOf(json))
  // Compile unused schemas too, so that an external reference is refused anywhere in the document.
  const all = references.all()
  for (const [schema, resource] of all) nodeOf(schema, resource)
  // Before any pattern is compiled, because compiling all that are allowed takes most of the time there is.
  for (const [schema] of all) {
    const { pattern, patternProperties } = schema
    if (typeof pattern === 'string') countPattern(pattern, `${references.pointerOf(schema)}/pattern`)
    for (const source of isObject(patternProperties) ? Object.keys(patternProperties) : [])
      countPattern(source, `${references.pointerOf(schema)}/patternProperties`)
  }
  for (let schema = pending.pop(); schema; schema = pending.pop()) {
    const node = nodes.get(schema) as Node
    node.checks.push(...checksOf(schema, compilerFor(schema, node)))
  }
  refuseLoops(nodes as ReadonlyMap<JsonSchema, Node>, references, refuse)
  return { root, warnings: [...warnings] }
}

function checksOf(schema: JsonSchema, make: KeywordCompiler): Check[] {
  const references = referenceChecks(schema, make)
  if (make.draft === '7' && references.length > 0) return references // draft-07 ignores the siblings of a $ref
  return [
    ...references,
    ...scalarChecks(schema, make),
    ...logicChecks(schema, make),
    ...objectChecks(schema, make),
    ...arrayChecks(schema, make),
    ...(make.draft === '7' ? [] : [...unevaluatedProperties(schema, make), ...unevaluatedItems(schema, make)]),
  ]
}

/** Adds up the estimated cost of the patterns of a schema, each once. */
function patternCounter(refuse: (place: string) => never): (source: string, place: string) => void {
  const counted = new Set<string>()
  let cost = 0
  return (source, place) => {
    if (counted.has(source)) return
    counted.add(source)
    cost += patternCost(source)
    if (cost > maxPatternCost) refuse(place)
  }
}

function memoize(create: () => string): () => string {
  let text: string | undefined
  return () => (text ??= create())
}

/** Refuses a cycle that never descends into the value, which would not end, and a chain too long for the stack. */
function refuseLoops(nodes: ReadonlyMap<JsonSchema, Node>, references: References, refuse: Refuse): void {
  const places = new Map([...nodes].map(([schema, node]) => [node, references.pointerOf(schema)]))
  const length = new Map<Node, number>()
  const onPath = new Set<Node>()
  for (const start of nodes.values()) {
    if (length.has(start)) continue
    // Each edge is followed once: `next` is the index of the edge to follow, `longest` the longest chain below so far.
    const stack = [{ node: start, next: 0, longest: 0 }]
    onPath.add(start)
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const target = top.node.inPlace[top.next]
      if (target === undefined) {
        stack.pop()
        onPath.delete(top.node)
        length.set(top.node, top.longest + 1)
        continue
      }
      if (onPath.has(target)) refuse(places.get(target) || '#', 'it refers to itself without end')
      const below = length.get(target)
      if (below === undefined) {
        onPath.add(target)
        stack.push({ node: target, next: 0, longest: 0 })
        continue
      }
      top.next += 1
      top.longest = Math.max(top.longest, below)
      if (top.longest >= maxChain)
        refuse(places.get(top.node) ?? '', `it has a chain of more than ${maxChain} references`)
    }
  }
}
