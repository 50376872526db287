// A plain JSON Schema (2020-12 or draft-07), compiled once into a tree of checks. It may come from a stranger, so: nothing
// of it becomes code, nothing is fetched, its patterns run in linear time, it is bounded in size and depth, references that
// never get anywhere are refused here, and what one check may cost is bounded (validation-run.ts).

import type { Json } from '../../core/value.ts'
import type { Checked, JsonSchema } from '../validation-problem.ts'
import { arrayChecks, unevaluatedItems } from './arrays.ts'
import { copied, draftOf, isObject, type Refuse, refuser } from './check-schema.ts'
import { logicChecks, referenceChecks } from './combinators.ts'
import type { Maker } from './keyword-compiler.ts'
import { objectChecks, unevaluatedProperties } from './objects.ts'
import { linearPattern, type Pattern } from './pattern.ts'
import { References } from './references.ts'
import { type Check, type Node, type Resource, Run, TooCostly } from './validation-run.ts'
import { scalarChecks } from './scalars.ts'
import { type Lookup, union, words } from './describe-schema.ts'

/** References and combinations followed one into the next without going into the value. */
const maxChain = 200

export interface CompiledJsonSchema {
  readonly json: JsonSchema
  readonly warnings: readonly string[]
  check(value: Json): Checked
}

export function compileJsonSchema(schema: JsonSchema, what: string): CompiledJsonSchema {
  const refuse = refuser(what)
  const json = copied(schema, refuse)
  const references = new References(json, draftOf(json), refuse)
  const { root, warnings } = compile(json, references, refuse)
  const tracks = references.unevaluated
  return {
    json,
    warnings,
    check(value) {
      const run = new Run(value, tracks)
      try {
        return run.inside(root, value, null) ? { ok: true, value } : { ok: false, problems: run.problems() }
      } catch (error) {
        // A value can be deeper than the stack, whatever the schema: that is a fault of the value, not a crash.
        if (error instanceof RangeError) return unfit('nested too deeply to be checked; send a flatter value')
        if (error instanceof TooCostly)
          return unfit("too large or too intricate to be checked against this tool's schema; send less at once")
        throw error
      }
    },
  }
}

const unfit = (message: string): Checked => ({ ok: false, problems: [{ path: '', message }] })

function compile(
  json: JsonSchema,
  references: References,
  refuse: Refuse,
): { root: Node; warnings: readonly string[] } {
  const draft = draftOf(json)
  const nodes = new Map<Json, Node>()
  const waiting: JsonSchema[] = []
  const patterns = new Map<string, Pattern | undefined>()
  const warnings = new Set<string>()
  const lookup: Lookup = (schema) =>
    typeof schema.$ref === 'string' ? references.resolve(schema.$ref, schema).schema : undefined

  // The checks of a node are made when its turn comes, so a long chain of references needs no deep stack.
  const nodeOf = (schema: Json, resource: Resource): Node => {
    const known = nodes.get(schema)
    if (known) return known
    const node: Node = { checks: [], resource, inPlace: [] }
    if (isObject(schema)) {
      nodes.set(schema, node)
      waiting.push(schema)
    } else if (schema === false) {
      node.checks.push((value, at, run) => run.fault(at, () => 'expected nothing here', value))
    }
    return node
  }

  const makerFor = (schema: JsonSchema, node: Node): Maker => {
    const sub = (part: Json): Node => nodeOf(part, isObject(part) ? references.resourceOf(part) : node.resource)
    const beside = (next: Node): Node => {
      node.inPlace.push(next)
      return next
    }
    return {
      draft,
      inside: sub,
      onSame: (part) => beside(sub(part)),
      ref(ref) {
        const target = references.resolve(ref, schema)
        return beside(nodeOf(target.schema, target.resource))
      },
      dynamicRef(ref) {
        const target = references.resolve(ref, schema)
        const fixed = beside(nodeOf(target.schema, target.resource))
        const name = isObject(target.schema) ? target.schema.$dynamicAnchor : undefined
        if (typeof name !== 'string' || !ref.endsWith(`#${name}`)) return fixed
        // The outermost resource on the way here that has the anchor too decides.
        const candidates = new Map(
          references
            .withDynamicAnchor(name)
            .map((resource) => [resource, beside(nodeOf(resource.anchors.get(name) as Json, resource))]),
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
        const place = `${references.placeOf(schema)}/${keyword}`
        const found = linearPattern(source)
        if ('invalid' in found) refuse(place, `it is not a regular expression (${found.invalid})`)
        const test = 'test' in found ? found.test : undefined
        if ('cannot' in found) {
          warnings.add(
            `${place}: the pattern ${JSON.stringify(source.slice(0, 200))} is shown to the model but not enforced, because ${found.cannot}.`,
          )
        }
        patterns.set(source, test)
        return test
      },
      expected: (part) => once(() => `expected ${words(part, lookup)}`),
      expectedOneOf: (branches) => once(() => `expected ${union(branches, lookup)}`),
    }
  }

  const root = nodeOf(json, references.resourceOf(json))
  // All of them, used or not: a reference to the outside is refused wherever it stands.
  for (const [schema, resource] of references.all()) nodeOf(schema, resource)
  for (let schema = waiting.pop(); schema; schema = waiting.pop()) {
    const node = nodes.get(schema) as Node
    node.checks.push(...checksOf(schema, makerFor(schema, node)))
  }
  refuseLoops(nodes as ReadonlyMap<JsonSchema, Node>, references, refuse)
  return { root, warnings: [...warnings] }
}

function checksOf(schema: JsonSchema, make: Maker): Check[] {
  const references = referenceChecks(schema, make)
  if (make.draft === '7' && references.length > 0) return references // draft-07: what stands beside a $ref is ignored
  return [
    ...references,
    ...scalarChecks(schema, make),
    ...logicChecks(schema, make),
    ...objectChecks(schema, make),
    ...arrayChecks(schema, make),
    ...(make.draft === '7' ? [] : [...unevaluatedProperties(schema, make), ...unevaluatedItems(schema, make)]),
  ]
}

function once(make: () => string): () => string {
  let made: string | undefined
  return () => (made ??= make())
}

/** A schema that leads back to itself without going into the value never ends; a very long way never fits the stack. */
function refuseLoops(nodes: ReadonlyMap<JsonSchema, Node>, references: References, refuse: Refuse): void {
  const places = new Map([...nodes].map(([schema, node]) => [node, references.placeOf(schema)]))
  const length = new Map<Node, number>()
  const open = new Set<Node>()
  for (const start of nodes.values()) {
    const stack = [start]
    for (let node = stack.at(-1); node; node = stack.at(-1)) {
      const next = node.inPlace.find((one) => !length.has(one))
      if (!open.has(node)) open.add(node)
      if (next && open.has(next)) refuse(places.get(next) || '#', 'it refers to itself without end')
      if (next) {
        stack.push(next)
        continue
      }
      stack.pop()
      open.delete(node)
      const longest = 1 + Math.max(0, ...node.inPlace.map((one) => length.get(one) ?? 0))
      if (longest > maxChain) refuse(places.get(node) ?? '', `it refers on more than ${maxChain} times in a row`)
      length.set(node, longest)
    }
  }
}
