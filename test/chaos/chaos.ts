// `npm run chaos` runs the same parts as the tests. --full runs the release amount, --seed <n> starts at that seed,
// --only <words> selects parts by name.

import { parseArgs } from 'node:util'
import { type Server, startServer } from '../kit/stores/postgres-server.ts'
import { always, alwaysTasks, full, fullTasks, runPart, runTaskPart } from './chaos-plan.ts'

const { values } = parseArgs({
  options: {
    full: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
  },
})
const seed = Number(values.seed)
if (!Number.isInteger(seed)) throw new Error(`--seed takes a whole number, not '${values.seed}'.`)
const named = (values.full ? full : always).map((part) => ({ ...part, name: `${part.on}, ${part.fault}` }))
const parts = named.filter(({ name }) => name.includes(values.only))
const namedTasks = (values.full ? fullTasks : alwaysTasks).map((part) => ({
  ...part,
  name: `${part.on}, tasks on ${part.workers} workers`,
}))
const taskParts = namedTasks.filter(({ name }) => name.includes(values.only))
if (parts.length + taskParts.length === 0)
  throw new Error(
    `No part is called '${values.only}'. There are:\n${[...named, ...namedTasks].map(({ name }) => `  ${name}`).join('\n')}`,
  )

let server: Server | null = null
let broken = 0
try {
  if ([...parts, ...taskParts].some(({ on }) => on === 'postgres')) server = await startServer()
  for (const part of parts) {
    const begun = performance.now()
    const took = (): string => `${((performance.now() - begun) / 1000).toFixed(0)} s`
    let done = 0
    const total = await runPart(part, seed, server, (at, { violations }) => {
      done += part.kills
      for (const violation of violations) console.log(`\n  seed ${at}: ${violation}`)
      if (process.stdout.isTTY)
        process.stdout.write(`\r${part.name}: ${done} of ${part.rounds * part.kills}, ${took()} `)
    })
    broken += total.wrong.length
    console.log(
      `${process.stdout.isTTY ? '\r' : ''}${part.name}: ${total.kills}, ${total.hits} of them found work, ${total.wrong.length} violations, ${took()}`,
    )
  }
  for (const part of taskParts) {
    const begun = performance.now()
    const { kills, hits, tasks, wrong } = await runTaskPart(part, seed, server)
    for (const violation of wrong) console.log(`  ${violation}`)
    broken += wrong.length
    const took = ((performance.now() - begun) / 1000).toFixed(0)
    console.log(
      `${part.name}: ${tasks} tasks, ${kills} kills and stops, ${hits} attempts again, ${wrong.length} violations, ${took} s`,
    )
  }
} finally {
  await server?.stop()
}
console.log(
  broken === 0
    ? '\nNo law was broken.'
    : `\n${broken} violations. One round alone: npm run chaos -- --seed <n> --only '<part>'`,
)
process.exitCode = broken === 0 ? 0 : 1
