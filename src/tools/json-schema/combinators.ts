// The keywords that combine schemas, and references. A union tells one thing: what was meant, if that is plain, else what it takes.

import type { Json } from '../../core/value.ts'
import type { Maker } from './keyword-compiler.ts'
import type { At, Check, Fault, Node, Run, Seen } from './validation-run.ts'

type Schema = { [key: string]: Json }

export function referenceChecks(schema: Schema, make: Maker): Check[] {
  const checks: Check[] = []
  if (typeof schema.$ref === 'string') {
    const node = make.ref(schema.$ref)
    checks.push((value, at, run, seen) => run.onSame(node, value, at, seen))
  }
  if (make.draft !== '7' && typeof schema.$dynamicRef === 'string') {
    const target = make.dynamicRef(schema.$dynamicRef)
    checks.push((value, at, run, seen) =>
      run.onSame(typeof target === 'function' ? target(run.scope) : target, value, at, seen),
    )
  }
  return checks
}

export function logicChecks(schema: Schema, make: Maker): Check[] {
  const checks: Check[] = []
  if (Array.isArray(schema.allOf)) {
    for (const node of schema.allOf.map((sub) => make.onSame(sub)))
      checks.push((value, at, run, seen) => run.onSame(node, value, at, seen))
  }
  if (Array.isArray(schema.anyOf)) checks.push(anyOf(schema.anyOf, make))
  if (Array.isArray(schema.oneOf)) checks.push(oneOf(schema.oneOf, make))
  if (schema.not !== undefined) checks.push(not(schema.not, make))
  if (schema.if !== undefined) checks.push(conditional(schema, make))
  return checks
}

function anyOf(branches: readonly Json[], make: Maker): Check {
  const nodes = branches.map((sub) => make.onSame(sub))
  const say = make.expectedOneOf(branches)
  return (value, at, run, seen) => {
    const { matches, faults } = tryAll(nodes, value, at, run, seen, seen === null ? 1 : nodes.length)
    if (matches > 0) return true
    return noneFits(faults, say, value, at, run)
  }
}

function oneOf(branches: readonly Json[], make: Maker): Check {
  const nodes = branches.map((sub) => make.onSame(sub))
  const say = make.expectedOneOf(branches)
  const several = (): string =>
    `expected exactly one of these to fit, but more than one does: ${say().slice('expected '.length)}`
  return (value, at, run, seen) => {
    const unsureBefore = run.unsure
    const { matches, faults } = tryAll(nodes, value, at, run, seen, 2)
    if (matches === 1 || (matches > 1 && run.unsure > unsureBefore)) return true
    return matches > 1 ? run.fault(at, several, value) : noneFits(faults, say, value, at, run)
  }
}

/** Tries the branches in turn until so many match. */
function tryAll(nodes: readonly Node[], value: Json, at: At, run: Run, seen: Seen | null, enough: number) {
  const before = run.faults
  const faults: Fault[][] = []
  let matches = 0
  for (const node of nodes) {
    run.faults = []
    if (run.onSame(node, value, at, seen)) matches += 1
    else faults.push(run.faults)
    if (matches >= enough) break
  }
  run.faults = before
  return { matches, faults }
}

/** If the value is plainly meant for one branch (by its constant members, or else by its type), that branch's faults are the help. */
function noneFits(branches: readonly Fault[][], say: () => string, value: Json, at: At, run: Run): false {
  const here = branches.filter((faults) => !faults.some((fault) => fault.other && fault.at === at))
  const byConstants = here.filter(
    (faults) => !faults.some((fault) => fault.other === 'constant' && fault.at?.up === at),
  )
  const meant = byConstants.length === 1 ? byConstants[0] : here.length === 1 ? here[0] : undefined
  if (!meant || meant.length === 0) return run.fault(at, say, value, 'type')
  for (const fault of meant) run.fault(fault.at, fault.say, fault.got, fault.other)
  return false
}

function not(sub: Json, make: Maker): Check {
  const node = make.onSame(sub)
  const expected = make.expected(sub)
  const say = (): string => `expected anything but ${expected().slice('expected '.length)}`
  return (value, at, run) => {
    const unsureBefore = run.unsure
    // What a `not` looked at is never evaluated: it has nothing to say about the values it takes.
    const matches = run.quietly(() => run.inside(node, value, at))
    return !matches || run.unsure > unsureBefore || run.fault(at, say, value)
  }
}

function conditional(schema: Schema, make: Maker): Check {
  const condition = make.onSame(schema.if as Json)
  const then = schema.then === undefined ? undefined : make.onSame(schema.then)
  const otherwise = schema.else === undefined ? undefined : make.onSame(schema.else)
  return (value, at, run, seen) => {
    const unsureBefore = run.unsure
    const holds = run.quietly(() => run.onSame(condition, value, at, seen))
    if (holds && run.unsure > unsureBefore) return true
    const next = holds ? then : otherwise
    return !next || run.onSame(next, value, at, seen)
  }
}
