// Each case pairs a floor with the same work on Pawl. child.ts loads it after it has selected the checkout of 'pawl'.
// Nothing is closed: the parent ends the process and removes the files.

import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { type Line, scriptedModel } from 'pawl/testing'
import { input, noop, schema } from '../calls/workload.ts'
import { barePostgres, bareSqlite } from '../kit/bare-commit.ts'

/** Runs `calls` calls (or turns, or transactions), one after the other. */
export interface Side {
  readonly calls: number
  run(): Promise<void> | void
}

export interface Case {
  readonly floor: Side
  readonly pawl: Side
  /** Warm-up calls of Pawl: a count, because on a busy machine the same time would compile less of the code. */
  readonly warm: number
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const keys = { secret: 'a secret of the bench, 32 bytes or more' }
const work = tool({
  name: 'noop',
  description: 'Does nothing',
  input: schema,
  hints: { readOnly: true },
  execute: noop,
})

/** A call writes its own row, three events and the sequence number of its session. */
const rowsPerCall = 5
/** A turn of two answers and two calls makes five commits of 29 rows in total. */
const commitsPerTurn = 5
const rowsPerCommit = 6

async function openCalls(store: string, commit: 'power' | 'process'): Promise<Side> {
  const runtime = await createRuntime({ store, commit, tools: [work], logger: quiet, keys })
  const session = runtime.session('bench')
  let calls = 0
  const run = async (): Promise<void> => {
    const [outcome] = await session.run([{ id: `c${calls++}`, name: 'noop', input }])
    if (outcome?.status !== 'success') throw new Error(JSON.stringify(outcome))
  }
  return { calls: 1, run }
}

async function memory(): Promise<Case> {
  // A single bare call is shorter than a reading of the clock.
  const calls = 500
  const run = async (): Promise<void> => {
    for (let call = 0; call < calls; call++) await noop(input)
  }
  return { floor: { calls, run }, pawl: await openCalls('memory:', 'process'), warm: 4_000 }
}

async function sqlite(dir: string, commit: 'power' | 'process'): Promise<Case> {
  const bare = bareSqlite(join(dir, `bare-${commit}.db`), commit === 'power' ? 'FULL' : 'NORMAL')
  const pawl = await openCalls(`sqlite:${join(dir, `pawl-${commit}.db`)}`, commit)
  // With `power` the WAL must reach its full length, as for the floor.
  return { floor: { calls: 1, run: () => bare.commit(rowsPerCall) }, pawl, warm: commit === 'power' ? 300 : 1_000 }
}

async function postgres(url: string): Promise<Case> {
  const pawl = await openCalls(url, 'power')
  const bare = await barePostgres(url)
  return { floor: { calls: 1, run: () => bare.commit(rowsPerCall) }, pawl, warm: 200 }
}

async function turn(dir: string): Promise<Case> {
  const bare = bareSqlite(join(dir, 'bare-turn.db'), 'NORMAL')
  const store = `sqlite:${join(dir, 'pawl-turn.db')}`
  const runtime = await createRuntime({ store, commit: 'process', tools: [work], logger: quiet, keys })
  const call = { name: 'noop', input }
  const script: Line[] = [{ say: 'Let me see.', call: [call, call] }, 'Sunny.']
  let turns = 0
  const run = async (): Promise<void> => {
    const name = `t${turns++}`
    const model = scriptedModel(script, { name })
    const outcome = await runtime.session(name).turn({ model, message: 'How is the weather?' }).outcome
    if (outcome.status !== 'success') throw new Error(JSON.stringify(outcome))
  }
  const runBare = (): void => {
    for (let commit = 0; commit < commitsPerTurn; commit++) bare.commit(rowsPerCommit)
  }
  return { floor: { calls: 1, run: runBare }, pawl: { calls: 1, run }, warm: 150 }
}

/** `dir` is an empty folder, `url` an empty database; without `url` PostgreSQL is left out. */
export async function openCases(dir: string, url: string | undefined): Promise<Map<string, Case>> {
  const cases = new Map<string, Case>()
  cases.set('call, memory', await memory())
  cases.set('call, SQLite `process`', await sqlite(dir, 'process'))
  cases.set('call, SQLite `power`', await sqlite(dir, 'power'))
  if (url !== undefined) cases.set('call, PostgreSQL', await postgres(url))
  cases.set('turn of 2 calls, SQLite `process`', await turn(dir))
  return cases
}
