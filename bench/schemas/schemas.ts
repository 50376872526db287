// `npm run bench:schemas`: CPU time of the main thread to refuse a hostile schema, to check a hostile value, and to check
// large values that are accepted. Each case runs once cold and ROUNDS times more, of which the slowest counts.

import { acceptedChecks, costlyChecks, refusedSchemas } from '../../test/tools/hostile-schema-list.ts'
import type { Json } from '../../src/core/tool-value.ts'
import { type CheckResult, compileSchema, type JsonSchema } from '../../src/tools/schema.ts'

const rounds = Number(process.env.ROUNDS ?? 5)

function cpuMs(run: () => void): number {
  const before = process.threadCpuUsage()
  run()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1_000
}

function figures(run: () => void): string {
  const first = cpuMs(run)
  const later = Array.from({ length: rounds }, () => cpuMs(run))
  return `${first.toFixed(1)} | ${Math.max(...later).toFixed(1)}`
}

const compile = (schema: object): ReturnType<typeof compileSchema> => compileSchema(schema as JsonSchema, 'Tool x')

function refused(schema: object): void {
  try {
    compile(schema)
  } catch {
    return
  }
  throw new Error('The schema was accepted')
}

void compile({ pattern: '^a$' }).check('a') // loads the pattern engine
console.log('| CPU ms | first | slowest later |\n|---|---:|---:|')
for (const [name, schema] of refusedSchemas) console.log(`| refuse: ${name} | ${figures(() => refused(schema))} |`)
for (const [name, schema, value] of [...costlyChecks, ...acceptedChecks]) {
  console.log(`| compile: ${name} | ${figures(() => void compile(schema))} |`)
  const compiled = compile(schema)
  let result: CheckResult | undefined
  const figure = figures(() => {
    result = compiled.check(value as Json) as CheckResult
  })
  console.log(`| check: ${name} (${result?.ok ? 'valid' : 'refused'}) | ${figure} |`)
}
