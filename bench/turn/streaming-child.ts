// A process of streaming.ts: `node streaming-child.ts worker|web <store>`. The worker runs the turns; the web process
// starts them, reads their streams, and answers the questions of the parent.

import { setTimeout as pause } from 'node:timers/promises'
import { createRuntime, type Model, type Runtime, type Turn } from 'pawl'

import {
  type Answer,
  charactersPerDelta,
  type CrowdAnswer,
  deltasPerSecond,
  type FirstAnswer,
  type Question,
  type ReaderKind,
} from './streaming-protocol.ts'

/** The same clock in all processes of the machine. */
const now = (): number => performance.timeOrigin + performance.now()
const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }

/** Its first delta is the time at which it was sent. */
const timed: Model = {
  name: 'timed',
  async generate({ told }) {
    await pause(Math.random() * 50) // at any moment between two polls
    const text = `${now()} `
    told({ type: 'text', delta: text })
    await pause(30)
    told({ type: 'text', delta: 'and the rest.' })
    return { parts: [{ type: 'text', text: `${text}and the rest.` }], finish: 'stop', usage }
  },
}

/** Fifty deltas a second until the turn is cancelled. */
const steady: Model = {
  name: 'steady',
  async generate({ told, signal }) {
    const from = performance.now()
    for (let sent = 0; ; sent++) {
      await pause(Math.max(0, from + (sent * 1_000) / deltasPerSecond - performance.now()), undefined, { signal })
      told({ type: 'text', delta: 'x'.repeat(charactersPerDelta) })
    }
  },
}

async function first(runtime: Runtime, answers: number): Promise<FirstAnswer> {
  const found: number[] = []
  const warmUp = 10
  for (let n = 0; n < answers + warmUp; n++) {
    const turn = runtime.session(`first-${n}`).turn({ model: 'timed', message: 'Hello' })
    const reader = turn.textStream.getReader()
    const { value } = await reader.read()
    const arrived = now()
    if (n >= warmUp) found.push(arrived - Number.parseFloat(value ?? ''))
    while (!(await reader.read()).done);
    await turn.outcome
  }
  return found
}

/** Reads until the signal aborts. Calls `count` with the characters of each delta. */
async function read(
  runtime: Runtime,
  session: string,
  turn: Turn,
  kind: ReaderKind,
  signal: AbortSignal,
  count: (characters: number) => void,
): Promise<void> {
  if (kind === 'events') {
    for await (const event of runtime.session(session).events({ live: true, signal }))
      if (event.type === 'turn.delta' && event.body.type === 'text') count(event.body.delta.length)
    return
  }
  const stream: ReadableStream<unknown> = kind === 'textStream' ? turn.textStream : turn.uiMessageStream()
  const reader = stream.getReader()
  signal.addEventListener('abort', () => void reader.cancel())
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    if (typeof value === 'string') count(value.length)
    else if ((value as { type: string }).type === 'text-delta') count((value as { delta: string }).delta.length)
  }
}

let crowds = 0
async function crowd(
  runtime: Runtime,
  { readers: kind, sessions, perSession, ms }: Extract<Question, { measure: 'crowd' }>,
): Promise<CrowdAnswer> {
  const name = `crowd-${++crowds}`
  const stop = new AbortController()
  const received: number[] = []
  const reading: Promise<void>[] = []
  const turns: Turn[] = []
  for (let n = 0; n < sessions; n++) {
    const session = `${name}-${n}`
    const turn = runtime.session(session).turn({ model: 'steady', message: 'Hello' })
    await turn.accepted
    turns.push(turn)
    for (let reader = 0; kind !== 'none' && reader < perSession; reader++) {
      const index = received.push(0) - 1
      reading.push(
        read(runtime, session, turn, kind, stop.signal, (characters) => {
          received[index] = (received[index] ?? 0) + characters
        }),
      )
    }
  }
  // Compiled code, and readers that have caught up.
  await pause(4_000)
  const before = [...received]
  const cpu = process.cpuUsage()
  const from = performance.now()
  await pause(ms)
  const { user, system } = process.cpuUsage(cpu)
  const seconds = (performance.now() - from) / 1_000
  const rates = received.map((count, index) => (count - (before[index] ?? 0)) / seconds).toSorted((a, b) => a - b)
  stop.abort()
  await Promise.all(reading)
  await Promise.all(turns.map((turn) => turn.cancel()))
  await Promise.all(turns.map(({ outcome }) => outcome))
  return {
    cpu: (user + system) / 1e6 / seconds,
    received: { median: rates[rates.length >> 1] ?? 0, least: rates[0] ?? 0 },
  }
}

const [role, store] = process.argv.slice(2) as ['worker' | 'web', string]
const answer = (message: Answer): void => void process.send?.(message)
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const runtime = await createRuntime({
  store,
  models: [timed, steady],
  logger: quiet,
  keys: { secret: 'a secret of the bench, 32 bytes or more' },
  ...(role === 'web' ? { worker: false as const } : {}),
})
const reply = async (question: Question): Promise<void> => {
  try {
    if (question.measure === 'first') answer({ first: await first(runtime, question.answers) })
    else answer({ crowd: await crowd(runtime, question) })
  } catch (error) {
    answer({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}
process.on('message', (question: Question | 'end') => {
  if (question === 'end') process.exit(0) // not by a signal, so that --cpu-prof writes its file
  void reply(question)
})
answer({ ready: true })
