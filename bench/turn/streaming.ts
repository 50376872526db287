// The section "streaming" of turn.ts: a worker process streams answers, a web process reads them. On SQLite and on a
// real PostgreSQL.
//
// ROUNDS shortens it. PROFILE=<dir> writes CPU profiles of the web processes there.

import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { startServer } from '../../test/kit/stores/postgres-server.ts'
import { createDatabase } from '../kit/create-database.ts'
import { median, quantile } from '../kit/statistics.ts'
import {
  type Answer,
  charactersPerDelta,
  type CrowdAnswer,
  deltasPerSecond,
  type FirstAnswer,
  type Question,
  type ReaderKind,
} from './streaming-protocol.ts'

const answers = 200
const sessions = 20
const perSession = 10
const rounds = Number(process.env.ROUNDS ?? 3)
const windowMs = 10_000
const goals = { firstMs: 100, cpu: 0.3 }

class Child {
  readonly #child: ChildProcess
  readonly #ended: Promise<never>

  constructor(role: 'worker' | 'web', store: string) {
    const dir = process.env.PROFILE
    const profile = role === 'web' && dir !== undefined ? ['--cpu-prof', `--cpu-prof-dir=${dir}`] : []
    this.#child = fork(join(import.meta.dirname, 'streaming-child.ts'), [role, store], {
      execArgv: ['--conditions=@pawl/source', ...profile],
    })
    this.#ended = new Promise((_, reject) => {
      this.#child.once('exit', (code, signal) => reject(new Error(`The ${role} ended (${signal ?? code}).`)))
    })
    this.#ended.catch(() => {}) // it also ends while no question is open
  }

  async next(): Promise<Answer> {
    const next = new Promise<Answer>((resolve) => this.#child.once('message', (message) => resolve(message as Answer)))
    const answer = await Promise.race([next, this.#ended])
    if ('error' in answer) throw new Error(answer.error)
    return answer
  }

  ask(question: Question): Promise<Answer> {
    this.#child.send(question)
    return this.next()
  }

  async end(): Promise<void> {
    if (this.#child.exitCode === null) this.#child.send('end')
    await this.#ended.catch(() => {})
  }
}

/** A worker and a web process on a new store. */
async function split<T>(store: string, run: (web: Child) => Promise<T>): Promise<T> {
  const children: Child[] = []
  try {
    for (const role of ['worker', 'web'] as const) {
      const child = new Child(role, store)
      children.push(child)
      await child.next()
    }
    return await run(children[1] as Child)
  } finally {
    await Promise.all(children.map((child) => child.end()))
  }
}

const percent = (share: number): string => `${(share * 100).toFixed(0)} %`

async function measure(kind: string, create: () => Promise<string>): Promise<string[][]> {
  const firsts = await split(await create(), async (web) => {
    const answer = await web.ask({ measure: 'first', answers })
    return (answer as { first: FirstAnswer }).first
  })
  const [p50, p99] = [quantile(firsts, 0.5), quantile(firsts, 0.99)]
  const met = (isMet: boolean): string => (isMet ? 'met' : 'MISSED')
  const rows = [
    [
      `${kind}: first token in another process`,
      `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, most ${Math.max(...firsts).toFixed(1)} ms`,
      `p99 at most ${goals.firstMs} ms: ${met(p99 <= goals.firstMs)}`,
    ],
  ]
  const readers: ReaderKind[] = ['none', 'events', 'uiMessageStream', 'textStream']
  const found = new Map<ReaderKind, CrowdAnswer[]>(readers.map((each) => [each, []]))
  // New processes in every round, and the order changes: compiled code differs between processes.
  for (let round = 0; round < rounds; round++) {
    await split(await create(), async (web) => {
      for (const each of round % 2 === 0 ? readers : readers.toReversed()) {
        const answer = await web.ask({ measure: 'crowd', readers: each, sessions, perSession, ms: windowMs })
        const { crowd } = answer as { crowd: CrowdAnswer }
        // CPU time means nothing if the deltas do not arrive.
        const least = crowd.received.least / charactersPerDelta
        if (each !== 'none' && least < deltasPerSecond * 0.9)
          throw new Error(`A reader (${each}) got ${least.toFixed(1)} of ${deltasPerSecond} deltas/s.`)
        found.get(each)?.push(crowd)
      }
    })
  }
  for (const [each, all] of found) {
    const shares = all.map(({ cpu }) => cpu)
    const share = median(shares)
    const rate = (value: number): string => (value / charactersPerDelta).toFixed(1)
    rows.push([
      `${kind}: CPU of the web process, readers: ${each === 'none' ? 'none' : `\`${each}\``}`,
      `${percent(share)} of a core (${percent(Math.min(...shares))} to ${percent(Math.max(...shares))})` +
        (each === 'none'
          ? ''
          : `; a reader got ${rate(median(all.map(({ received }) => received.median)))} deltas/s, ` +
            `the slowest ${rate(Math.min(...all.map(({ received }) => received.least)))}`),
      each === 'none' ? '' : `at most ${percent(goals.cpu)}: ${met(share <= goals.cpu)}`,
    ])
  }
  return rows
}

/** `dir`: for the SQLite files. */
export async function streaming(dir: string): Promise<void> {
  let stores = 0
  console.log(
    `\nStreaming from a worker process to a web process: ${answers} answers; then ${sessions} sessions with ` +
      `${deltasPerSecond} deltas/s each and ${perSession} readers a session, ${windowMs / 1_000} s, ` +
      `medians of ${rounds} rounds\n`,
  )
  const only = process.env.ONLY
  const print = (rows: readonly string[][]): void => rows.forEach((row) => console.log(`| ${row.join(' | ')} |`))
  if (only !== 'postgres') print(await measure('SQLite', async () => `sqlite:${join(dir, `streaming-${++stores}.db`)}`))
  if (only === 'sqlite') return
  const server = await startServer()
  try {
    print(await measure('PostgreSQL', () => createDatabase(server, `streaming_${++stores}`)))
  } finally {
    await server.stop()
  }
}
