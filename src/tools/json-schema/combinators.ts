// Compiles references and the keywords that combine schemas. A failed union reports one problem: that of the intended
// branch if it is clear, else the list of branches.

import type { Json } from '../../core/tool-value.ts'
import type { KeywordCompiler } from './keyword-compiler.ts'
import type { ValuePath, Check, Fault, Node, ValidationRun, Evaluated } from './validation-state.ts'

type Schema = { [key: string]: Json }

export function referenceChecks(schema: Schema, make: KeywordCompiler): Check[] {
  const checks: Check[] = []
  if (typeof schema.$ref === 'string') {
    const node = make.ref(schema.$ref)
    checks.push((value, at, run, seen) => run.applyInPlace(node, value, at, seen))
  }
  if (make.draft !== '7' && typeof schema.$dynamicRef === 'string') {
    const target = make.dynamicRef(schema.$dynamicRef)
    checks.push((value, at, run, seen) =>
      run.applyInPlace(typeof target === 'function' ? target(run.scope) : target, value, at, seen),
    )
  }
  return checks
}

export function logicChecks(schema: Schema, make: KeywordCompiler): Check[] {
  const checks: Check[] = []
  if (Array.isArray(schema.allOf)) {
    for (const node of schema.allOf.map((sub) => make.nodeInPlace(sub)))
      checks.push((value, at, run, seen) => run.applyInPlace(node, value, at, seen))
  }
  if (Array.isArray(schema.anyOf)) checks.push(anyOf(schema.anyOf, make))
  if (Array.isArray(schema.oneOf)) checks.push(oneOf(schema.oneOf, make))
  if (schema.not !== undefined) checks.push(not(schema.not, make))
  if (schema.if !== undefined) checks.push(conditional(schema, make))
  return checks
}

function anyOf(branches: readonly Json[], make: KeywordCompiler): Check {
  const nodes = branches.map((sub) => make.nodeInPlace(sub))
  const say = make.expectedOneOf(branches)
  return (value, at, run, seen) => {
    const { matches, faults } = tryBranches(nodes, value, at, run, seen, seen === null ? 1 : nodes.length)
    if (matches > 0) return true
    return reportNoMatch(faults, say, value, at, run)
  }
}

function oneOf(branches: readonly Json[], make: KeywordCompiler): Check {
  const nodes = branches.map((sub) => make.nodeInPlace(sub))
  const say = make.expectedOneOf(branches)
  const severalMatch = (): string =>
    `expected exactly one of these to fit, but more than one does: ${say().slice('expected '.length)}`
  return (value, at, run, seen) => {
    const unsureBefore = run.unsure
    const { matches, faults } = tryBranches(nodes, value, at, run, seen, 2)
    if (matches === 1 || (matches > 1 && run.unsure > unsureBefore)) return true
    return matches > 1 ? run.fault(at, severalMatch, value) : reportNoMatch(faults, say, value, at, run)
  }
}

/** Tries the branches in order until `enough` match. */
function tryBranches(
  nodes: readonly Node[],
  value: Json,
  at: ValuePath,
  run: ValidationRun,
  seen: Evaluated | null,
  enough: number,
) {
  const before = run.faults
  const faults: Fault[][] = []
  let matches = 0
  for (const node of nodes) {
    run.faults = []
    run.spend(2)
    if (run.applyInPlace(node, value, at, seen)) matches += 1
    else faults.push(run.faults)
    if (matches >= enough) break
  }
  run.faults = before
  return { matches, faults }
}

/** If one branch is clearly intended (by its constant members, else by its type), reports the faults of that branch. */
function reportNoMatch(
  branches: readonly Fault[][],
  say: () => string,
  value: Json,
  at: ValuePath,
  run: ValidationRun,
): false {
  const candidates = branches.filter((faults) => !faults.some((fault) => fault.mismatch && fault.at === at))
  const byConstants = candidates.filter(
    (faults) => !faults.some((fault) => fault.mismatch === 'constant' && fault.at?.up === at),
  )
  const intended = byConstants.length === 1 ? byConstants[0] : candidates.length === 1 ? candidates[0] : undefined
  if (!intended || intended.length === 0) return run.fault(at, say, value, 'type')
  for (const fault of intended) run.fault(fault.at, fault.say, fault.got, fault.mismatch)
  return false
}

function not(sub: Json, make: KeywordCompiler): Check {
  const node = make.nodeInPlace(sub)
  const expected = make.expected(sub)
  const say = (): string => `expected anything but ${expected().slice('expected '.length)}`
  return (value, at, run) => {
    const unsureBefore = run.unsure
    // Properties seen inside `not` do not count as evaluated.
    const matches = run.quietly(() => run.applyInside(node, value, at))
    return !matches || run.unsure > unsureBefore || run.fault(at, say, value)
  }
}

function conditional(schema: Schema, make: KeywordCompiler): Check {
  const condition = make.nodeInPlace(schema.if as Json)
  const then = schema.then === undefined ? undefined : make.nodeInPlace(schema.then)
  const otherwise = schema.else === undefined ? undefined : make.nodeInPlace(schema.else)
  return (value, at, run, seen) => {
    const unsureBefore = run.unsure
    const holds = run.quietly(() => run.applyInPlace(condition, value, at, seen))
    if (holds && run.unsure > unsureBefore) return true
    const next = holds ? then : otherwise
    return !next || run.applyInPlace(next, value, at, seen)
  }
}
