// Readers that join, leave and resume at random points while a worker writes answers with tool calls: in the end each
// shows exactly what is recorded. Worker and web process have a store object each, as separate processes have.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createRuntime, ModelFailure, type Runtime, tool } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { long } from '../kit/long-run.ts'
import { type PushedModel, pushedModel } from '../kit/models/pushed-model.ts'
import { EventReader, type ResumingReader, TextReader, UiReader } from '../kit/resuming-readers.ts'
import { seeded } from '../kit/seeded-random.ts'
import { until } from '../kit/stores/all-stores.ts'
import { freshDir, quiet } from '../kit/stores/fresh-store.ts'
import { serverForFile } from '../kit/stores/postgres-for-file.ts'

const points = long ? 500 : 50
const secret = randomBytes(32)
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

const look = tool({
  name: 'look',
  description: 'd',
  input: { type: 'object' },
  hints: { readOnly: true },
  execute: (found) => ({ found: JSON.stringify(found) }),
})

const server = serverForFile()

async function split(kind: string, models: readonly PushedModel[]): Promise<{ web: Runtime; worker: Runtime }> {
  const file = join(freshDir(), 'agent.db')
  const start = async (more: { worker?: false } = {}): Promise<Runtime> => {
    const store =
      kind === 'sqlite'
        ? sqliteStore({ file, clock: systemClock, commit: 'process' })
        : await postgresStore({ connection: { ...server.connection }, schema: 'resume_points' })
    const runtime = await createRuntime({
      store,
      models: models.map(({ model }) => model),
      tools: [look],
      logger: quiet,
      keys: { secret },
      ...more,
    })
    closers.push(async () => {
      await runtime.close({ grace: 0 })
      await store.close()
    })
    return runtime
  }
  return { worker: await start(), web: await start({ worker: false }) }
}

/**
 * Waits until the reader shows the text, and names a reader that is stuck. A text stream cannot take text back: after a
 * cut it may be ahead of the answer that begins again.
 */
async function shows(reader: ResumingReader, text: string): Promise<void> {
  const deadline = Date.now() + 10_000
  const isShown = (): boolean =>
    reader instanceof TextReader ? reader.shown().startsWith(text) : reader.shown() === text
  await until(() => isShown() || Date.now() > deadline)
  if (!isShown()) expect({ kind: reader.kind, shown: reader.shown() }).toEqual({ kind: reader.kind, shown: text })
}

interface TurnRun {
  /** Times that a reader joined, left or resumed. */
  readonly points: number
  /** Those at which a part of an answer was written. */
  readonly inAnswer: number
  /** Times that a connected reader showed exactly what was written so far, in mid-answer. */
  readonly live: number
  /** The text of the turn. */
  readonly text: string
  readonly readers: readonly ResumingReader[]
}

/** One turn in a session of its own, with readers that come and go. */
async function runTurn(
  session: string,
  random: () => number,
  pushed: PushedModel,
  { web, worker }: Awaited<ReturnType<typeof split>>,
): Promise<TurnRun> {
  const below = (count: number): number => Math.floor(random() * count)
  const turnId = `turn-${session}`
  const asked = pushed.asked()
  const turn = web.session(session).turn({ model: pushed.model.name, message: 'Hi', id: turnId })
  await turn.accepted
  const readers: ResumingReader[] = []
  let [found, inAnswer, live] = [0, 0, 0]
  /** The text of the turn so far, and of that the recorded answers. */
  let [text, complete] = ['', '']
  const countPoint = (): void => {
    found++
    if (text !== complete) inAnswer++
  }
  const anyRuntime = (): Runtime => (random() < 0.8 ? web : worker)

  function joinReader(): void {
    const kinds = [
      () => new TextReader(session, turnId),
      () => new UiReader(session, turnId, true),
      () => new UiReader(session, turnId, false),
      () => new EventReader(session, turnId),
    ]
    const reader = (kinds[below(kinds.length)] as () => ResumingReader)()
    readers.push(reader)
    reader.connect(anyRuntime())
    countPoint()
  }

  async function comeAndGo(): Promise<void> {
    if (readers.length < 6 && random() < 0.25) joinReader()
    for (const reader of readers) {
      if (reader.isDone || random() > 0.15) continue
      countPoint()
      if (reader.isConnected) await reader.leave()
      else reader.connect(anyRuntime())
    }
    if (random() < 0.3) await new Promise((resolve) => setImmediate(resolve))
    // A reader that is connected shows everything that was written.
    const reader = readers[below(readers.length)]
    if (!reader?.isConnected || random() > 0.4) return
    await shows(reader, text)
    if (text !== complete) live++
  }

  const answers = 2 + below(4)
  let requests = asked
  for (let answer = 0; answer < answers; answer++) {
    const pieces = Array.from({ length: 1 + below(8) }, (_, at) => `${answer}.${at}${'~'.repeat(below(40))} `)
    // An answer that is cut off begins again with the same text.
    for (let cuts = random() < 0.3 ? 1 : 0; cuts >= 0; cuts--) {
      const before = text
      await until(() => pushed.asked() > requests)
      requests = pushed.asked()
      await comeAndGo()
      for (const piece of pieces.slice(0, cuts === 0 ? pieces.length : below(pieces.length))) {
        pushed.push(piece)
        text += piece
        await comeAndGo()
      }
      if (cuts === 0) break
      text = before
      pushed.fail(new ModelFailure('cut off', { retryable: true, afterMs: 0 }))
    }
    if (answer === answers - 1) break
    for (let call = 0; call <= below(3); call++) {
      const id = random() < 0.2 ? 'same' : `c${answer}.${call}`
      pushed.pushDelta({ type: 'call', id, name: 'look' })
      await comeAndGo()
      for (const delta of ['{"number', `":${below(100)}`, '}']) {
        pushed.pushDelta({ type: 'input', id, delta })
        if (random() < 0.3) await comeAndGo()
      }
    }
    complete = text
    pushed.finish()
  }
  if (random() < 0.5) await comeAndGo()
  pushed.finish()
  await turn.outcome
  for (const reader of readers) {
    if (!reader.isConnected) countPoint()
    reader.connect(anyRuntime())
  }
  await until(() => readers.every((reader) => reader.shown() !== null && reader.isDone))
  await Promise.all(readers.map((reader) => reader.leave()))
  return { points: found, inAnswer, live, text, readers }
}

async function compareWithRecord(web: Runtime, session: string, { text, readers }: TurnRun): Promise<void> {
  const messages = await web.session(session).turns.uiMessages()
  const recorded: string[] = []
  for await (const { cursor, type } of web.session(session).events()) {
    recorded.push(`${cursor} ${type}`)
    if (type === 'turn.ended') break
  }
  for (const reader of readers) {
    const { kind } = reader
    expect({ session, kind, text: reader.shown() }).toEqual({ session, kind, text })
    if (reader instanceof UiReader) expect(shape(reader.message)).toEqual(shape(messages.at(-1)))
    if (reader instanceof EventReader) expect(reader.recorded).toEqual(recorded)
  }
}

describe.each(['sqlite', 'postgres'])('on %s', (kind) => {
  test(
    `FEED-2 SESS-12: ${points} random points of joining, leaving and resuming: no gap, no repeat, right order`,
    async () => {
      // Turns of three sessions at once, each with a model of its own.
      const lanes = ['a', 'b', 'c'].map((name) => pushedModel(name))
      const runtimes = await split(kind, lanes)
      const total = { points: 0, inAnswer: 0, live: 0 }
      const runLane = async (pushed: PushedModel, lane: number): Promise<void> => {
        for (let seed = lane; total.points < points; seed += lanes.length) {
          const session = `s${seed}`
          const run = await runTurn(session, seeded(seed), pushed, runtimes).catch((error: unknown) => {
            throw new Error(`seed ${seed}`, { cause: error })
          })
          await compareWithRecord(runtimes.web, session, run)
          for (const each of ['points', 'inAnswer', 'live'] as const) total[each] += run[each]
        }
      }
      await Promise.all(lanes.map(runLane))
      // Most points are inside an answer, and readers were compared there, too.
      expect(total.inAnswer).toBeGreaterThan(total.points / 2)
      expect(total.live).toBeGreaterThan(total.points / 10)
    },
    long ? 600_000 : 60_000,
  )
})

/** As JSON, without the fields that only a live page has. */
const shape = (message: unknown): unknown =>
  JSON.parse(JSON.stringify(message, (key, value: unknown) => (key === 'rawInput' ? undefined : value)))
