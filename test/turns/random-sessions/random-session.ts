// Random sessions: arbitrary model answers, tools of all kinds, slow approvers, users who send messages meanwhile, and
// workers that die. The same seed gives the same history (on memory). At the end all faults stop, and the invariants
// must hold.

import {
  type AssistantPart,
  createRuntime,
  fail,
  type FinishReason,
  type Model,
  type ModelCall,
  ModelFailure,
  type ModelRequest,
  PawlError,
  result,
  type Runtime,
  type StartTurn,
  type Tool,
  tool,
  type Turn,
} from 'pawl'
import type { Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'
import { seeded } from '../../kit/seeded-random.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { problemsIn } from '../../kit/models/conversation-rules.ts'
import { lawsOf } from './session-invariants.ts'
import { problemsOnTheWire } from './provider-wire-rules.ts'
import { turnBatch } from '../../../src/store/journal-keys.ts'

export interface Ground {
  readonly clock: ManualClock
  readonly store: Store
  readonly close?: () => Promise<void>
}

export interface Lived {
  readonly wrong: readonly string[]
  readonly trace: readonly string[]
  readonly asks: number
  readonly deaths: number
  /** Sessions in which a model was called while faults could occur. */
  readonly sessions: number
  /** Number of requests checked against both providers. */
  readonly judged: number
  /** Number of requests above the context size of the model. */
  readonly tooLong: number
}

/** An answer of the model, with the facts that may explain why it is not recorded. */
export interface Given {
  readonly number: number
  readonly session: string | null
  readonly worker: Worker
  readonly signal: AbortSignal
}

export interface AskedTurn {
  readonly id: string
  readonly session: string
  readonly given: StartTurn
  readonly turn: Turn
  readonly worker: Worker
  readonly askedAt: number
}

export interface Worker {
  readonly name: string
  readonly runtime: Runtime
  dead: boolean
  diedAt: number
  /** The store does not answer this worker until then. */
  awayUntil: number
  cutOff(ms: number): void
  /** Kills the worker before or after its n-th write from now on. */
  dieAt(writes: number, when: 'before' | 'after'): void
  die(): void
}

const sessions = ['s0', 's1', 's2', 's3'] as const
const never = new Promise<never>(() => {})
const nothing = (): void => {}

/** Wraps the store with a planted defect. */
export type Plant = (store: Store) => Store

export class RandomWorld {
  readonly clock: ManualClock
  readonly store: Store
  readonly trace: string[] = []
  readonly wrong: string[] = []
  readonly turns: AskedTurn[] = []
  readonly sent: { session: string; text: string }[] = []
  readonly given: Given[] = []
  readonly asking = new Set<{ session: string; worker: Worker; signal: AbortSignal }>()
  readonly workers: Worker[] = []
  /** Requests to check at the end: building the bodies takes event loop turns, which would change the history. */
  readonly requests: { number: number; session: string | null; request: ModelRequest }[] = []
  /** Sessions in which a model was called before the faults stopped. */
  readonly lively = new Set<string>()
  /** Numbers of answers without parts, which the record does not identify. */
  readonly empty = new Set<number>()
  asks = 0
  deaths = 0
  peace = false
  readonly poisonAfter: number
  /** Context size of the model in characters, unknown to the runtime. */
  readonly reads: number
  tooLong = 0
  readonly #random: () => number
  #count = 0

  constructor(seed: number, { clock, store }: Ground) {
    this.clock = clock
    this.store = { ...store, close: async () => {} }
    this.#random = seeded(seed)
    this.poisonAfter = this.oneOf([1, 2, 4])
    this.reads = this.oneOf([Infinity, Infinity, 4_000, 1_500])
  }

  likely(share: number): boolean {
    return this.#random() < share
  }
  chance(below: number): number {
    return Math.floor(this.#random() * below)
  }
  oneOf<T>(list: readonly T[]): T {
    return list[this.chance(list.length)] as T
  }
  next(): number {
    return ++this.#count
  }
  note(what: string): void {
    this.trace.push(`${String(this.clock.now() - Date.UTC(2026, 0, 1)).padStart(7)} ${what}`)
  }
  breaks(law: string): void {
    this.note(`BROKEN ${law}`)
    this.wrong.push(law)
  }

  async worker(tools: readonly Tool[], plant: Plant): Promise<Worker> {
    const dying = mortal(this.store)
    let left = Infinity
    let before = false
    const hit = (): boolean => --left === 0
    const lost = (): PawlError => new PawlError('store_unavailable', 'It is away.')
    const isAway = (): boolean => this.clock.now() < worker.awayUntil
    const reachable = Object.fromEntries(
      Object.entries(dying.store).map(([name, method]: [string, unknown]) => [
        name,
        typeof method === 'function' && name !== 'onHint'
          ? (...args: unknown[]): unknown =>
              isAway() ? Promise.reject(lost()) : (method as (...given: unknown[]) => unknown)(...args)
          : method,
      ]),
    ) as unknown as Store
    const store: Store = {
      ...reachable,
      close: async () => {},
      async commit(change) {
        if (isAway()) throw lost()
        const last = hit()
        if (last && before) worker.die()
        const committed = await dying.store.commit(change)
        if (last) worker.die()
        return worker.dead ? never : committed
      },
      write(change, heard, how) {
        const last = hit()
        if (last && before) worker.die()
        if (worker.dead) return
        if (isAway()) return queueMicrotask(() => heard({ failed: lost() }))
        dying.store.write(change, (answer) => (last ? worker.die() : worker.dead ? undefined : heard(answer)), how)
        // An attached write has no waiter, so flush it with a commit.
        if (last && how?.ride) void dying.store.commit({ guards: [], events: [] })
      },
    }
    const worker = {
      name: `w${this.workers.length}`,
      runtime: null as unknown as Runtime,
      dead: false,
      diedAt: Infinity,
      awayUntil: 0,
      cutOff: (ms: number): void => {
        this.note(`${worker.name} is cut off for ${ms}`)
        worker.awayUntil = this.clock.now() + ms
      },
      dieAt: (writes: number, when: 'before' | 'after'): void => {
        left = writes
        before = when === 'before'
      },
      die: (): void => {
        if (worker.dead) return
        worker.dead = true
        worker.diedAt = this.clock.now()
        this.deaths++
        this.note(`${worker.name} dies`)
        dying.die()
      },
    }
    const ids = {
      next: (): string => `${String(this.clock.now()).padStart(15, '0')}-${String(this.next()).padStart(6, '0')}`,
    }
    worker.runtime = await createRuntime({
      store: plant(store),
      clock: this.clock,
      ids,
      logger: quiet,
      tools,
      models: [randomModel(this, worker)],
      poisonAfter: this.poisonAfter,
      keys: { secret: Buffer.alloc(32, 7) },
    })
    this.workers.push(worker)
    return worker
  }
}

/** A model with arbitrary answers: text, reasoning, nothing, calls of existing and missing tools, and failures. */
function randomModel(world: RandomWorld, worker: Worker): Model {
  return {
    name: 'm',
    async generate(call) {
      if (worker.dead) return never
      const number = ++world.asks
      const isSummary = call.request.instructions?.startsWith('You sum up') === true
      const session = isSummary ? null : (call.request.instructions ?? '')
      world.requests.push({ number, session, request: call.request })
      if (session !== null && !world.peace) world.lively.add(session)
      for (const problem of problemsIn(call.request.messages))
        world.breaks(`SESS-3 asked ${number} in ${session}: ${problem}`)
      if (!world.peace && JSON.stringify(call.request.messages).length > world.reads) {
        world.tooLong++
        world.note(`${worker.name} cannot read what it is given in ${session}`)
        throw new ModelFailure('too long', { tooLong: true })
      }
      if (session === null)
        return {
          parts: [{ type: 'text', text: world.likely(0.1) ? ' ' : `SUMMARY ${number}` }],
          finish: 'stop',
          usage: noUsage,
        }
      await lawsOfAsk(world, worker, session, call, number)
      const ask = { session, worker, signal: call.signal }
      world.asking.add(ask)
      try {
        if (!world.peace && world.likely(0.3)) await slowly(world, call)
        if (worker.dead) return await never
        const answer = world.peace
          ? said(number, [{ type: 'text', text: `answer ${number}` }])
          : anything(world, call, number)
        world.note(
          `${worker.name} gives ${session} answer ${number}: ${answer.parts?.map(({ type }) => type).join(' ')}`,
        )
        if ((answer.parts ?? []).length === 0) world.empty.add(number)
        world.given.push({ number, session, worker, signal: call.signal })
        return answer as never
      } finally {
        world.asking.delete(ask)
      }
    },
  }
}

const noUsage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }

async function lawsOfAsk(
  world: RandomWorld,
  worker: Worker,
  session: string,
  { request }: ModelCall,
  number: number,
): Promise<void> {
  // A worker that cannot reach the store may continue for a while: its results are not recorded.
  if (!isCounted(worker, world)) return
  for (const other of world.asking)
    if (other.session === session && isCounted(other.worker, world) && !other.signal.aborted)
      world.breaks(`SESS-4 asked ${number}: two turns ask in ${session} at once`)
  const rows = await world.store.documentsOf({
    of: 'message',
    tenant: 'default',
    session,
    after: '~',
    limit: 50,
    newest: true,
  })
  if (worker.dead) return
  const text = JSON.stringify(request.messages)
  if (text.includes('summary of what was said before')) return
  // A recorded answer must be part of the request, so that it is not requested again.
  for (const { value } of rows) {
    const [, answer] = /"answer":(\d+)/.exec(value) ?? []
    if (!value.includes('"role":"assistant"') || answer === undefined || !isReadable(value)) continue
    if (!text.includes(`"answer":${answer}}`))
      world.breaks(`SESS-1 asked ${number} in ${session}: answer ${answer} is on record and was not heard`)
    return
  }
}

const isCounted = (worker: Worker, { clock }: RandomWorld): boolean =>
  !worker.dead && (worker.awayUntil === 0 || clock.now() > worker.awayUntil + 60_000)

const isReadable = (value: string): boolean => /"type":"call"|"text":"answer/.test(value)

/** Most model calls react to their abort signal, some do not. */
function slowly(world: RandomWorld, { signal }: ModelCall): Promise<void> {
  const heeds = world.likely(0.8)
  return new Promise((resolve, reject) => {
    const callOff = world.clock.timer(world.chance(8_000), resolve)
    if (!heeds) return
    const stop = (): void => {
      callOff()
      reject(signal.reason as Error)
    }
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
}

interface Said {
  readonly parts?: readonly AssistantPart[]
  readonly finish: FinishReason
  readonly usage: typeof noUsage
}
const said = (number: number, parts: readonly AssistantPart[], finish: FinishReason = 'stop'): Said => ({
  parts: parts.map((part) => ({ ...part, meta: { answer: number } })),
  finish,
  usage: noUsage,
})

function anything(world: RandomWorld, call: ModelCall, number: number): Said {
  const what = world.chance(100)
  if (world.likely(0.3)) call.told({ type: 'text', delta: 'Well' })
  if (what < 5)
    throw new ModelFailure('overloaded', {
      retryable: true,
      ...(world.likely(0.5) ? { afterMs: world.chance(3_000) } : {}),
    })
  if (what < 6) throw new ModelFailure('refused')
  if (what < 7) throw new TypeError('odd')
  if (what < 8) return { finish: 'stop', usage: noUsage }
  const text: AssistantPart = { type: 'text', text: `answer ${number}` }
  const thought: AssistantPart = { type: 'reasoning', text: world.likely(0.2) ? '' : 'Hmm' }
  if (what < 11)
    return said(
      number,
      world.oneOf<AssistantPart[]>([[], [{ type: 'text', text: '' }], [{ type: 'text', text: ' \n' }]]),
    )
  if (what < 14) return said(number, [thought, ...(world.likely(0.5) ? [thought] : [])])
  const before = [...(world.likely(0.3) ? [thought] : []), ...(world.likely(0.4) ? [text] : [])]
  if (what < 40)
    return said(
      number,
      [...before, text, ...(world.likely(0.1) ? [thought] : [])],
      world.oneOf(['stop', 'stop', 'length', 'filter', 'calls']),
    )
  const calls = Array.from({ length: world.oneOf([1, 1, 2, 3, 4]) }, (_, index) =>
    anyCall(world, `c${number}_${index}`),
  )
  return said(
    number,
    [...before, ...calls, ...(world.likely(0.1) ? [text] : [])],
    world.likely(0.1) ? 'length' : 'calls',
  )
}

const names = [
  'fast',
  'fast',
  'slow',
  'slow',
  'failing',
  'refund',
  'refund',
  'on_client',
  'on_client',
  'effect',
  'picture',
  'finish',
  'job',
  'spawn_background',
  'no_such_tool',
  'odd name!',
  '',
  'constructor',
  '__proto__',
]
const inputs = ['{}', '{}', '{}', '{"n":1}', '', '{"n":"x"}', '{"n":', '[1]', 'null', '"x"', '{"n":9007199254740993}']

function anyCall(world: RandomWorld, own: string): AssistantPart {
  const name = world.oneOf(names)
  const id = world.oneOf([own, own, own, own, 'dup', 'c.1:x', ''])
  const input =
    name === 'spawn_background'
      ? JSON.stringify({ tool: world.oneOf(['job', 'job', 'fast', 'none']), args: {} })
      : world.oneOf(inputs)
  return { type: 'call', id, name, input }
}

function randomTools(world: RandomWorld): Tool[] {
  const input = { type: 'object', properties: { n: { type: 'integer' } } } as const
  const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      const callOff = world.clock.timer(ms, resolve)
      signal.addEventListener('abort', () => {
        callOff()
        reject(new Error('told to stop'))
      })
    })
  const slowly_ = async (_: unknown, ctx: { signal: AbortSignal }): Promise<string> => {
    await sleep(world.chance(15_000), ctx.signal)
    return 'slowly'
  }
  return [
    tool({
      name: 'fast',
      description: 'd',
      input,
      hints: { readOnly: true },
      execute: () => world.oneOf(['ok', '', ' ', 'r'.repeat(300)]),
    }),
    tool({ name: 'slow', description: 'd', input, hints: { readOnly: true }, execute: slowly_ }),
    tool({
      name: 'failing',
      description: 'd',
      input,
      hints: { readOnly: true },
      execute: () => {
        throw fail('No', { code: 'no' })
      },
    }),
    tool({
      name: 'refund',
      description: 'd',
      input,
      hints: { destructive: true },
      onCrash: 'rerun',
      execute: () => 'refunded',
    }),
    tool({ name: 'on_client', description: 'd', input, client: true }),
    tool({ name: 'effect', description: 'd', input, execute: slowly_ }),
    tool({
      name: 'picture',
      description: 'd',
      input,
      hints: { readOnly: true },
      execute: (_, ctx) => ({ it: ctx.attachments.create('png', { mediaType: 'image/png' }) }),
    }),
    tool({
      name: 'finish',
      description: 'd',
      input,
      hints: { readOnly: true },
      execute: () =>
        result('ok', {
          control: world.likely(0.5)
            ? { finish: { done: true } }
            : {
                fail: {
                  class: 'invalid_request',
                  code: 'x',
                  message: 'It fails',
                  source: 'tool',
                  retry: { when: 'never' },
                },
              },
        }),
    }),
    tool({ name: 'job', description: 'd', input, hints: { readOnly: true }, background: true, execute: slowly_ }),
  ] as Tool[]
}

const text = (what: string, world: RandomWorld): string =>
  `${what} ${world.next()} ${'x'.repeat(world.oneOf([0, 0, 200]))}`.trim()

function startTurn(world: RandomWorld, worker: Worker, session: string): void {
  const { runtime, name } = worker
  const id = `t${world.next()}`
  const limits = {
    steps: world.oneOf([1, 3, 6]),
    invalid: world.oneOf([1, 3]),
    ...(world.likely(0.1) ? { time: world.chance(20_000) + 1 } : {}),
    ...(world.likely(0.25) ? { historyTokens: world.oneOf([30, 100, 400]) } : {}),
  }
  const given: StartTurn = {
    id,
    model: 'm',
    instructions: session,
    limits,
    ...(world.likely(0.8) ? { message: text('say', world) } : {}),
    ...(world.likely(0.2) ? { background: world.chance(3_000) + 1 } : {}),
    ...(world.likely(0.2) ? { parallel: false } : {}),
    ...(world.likely(0.1) ? { tools: world.oneOf([[], ['fast', 'refund']]) } : {}),
  }
  const turn = runtime.session(session).turn(given)
  turn.outcome.then(
    (outcome) =>
      world.note(`${id} ended: ${outcome.status} ${outcome.status === 'failure' ? outcome.failure.code : ''}`),
    nothing,
  )
  world.turns.push({ id, session, given, turn, worker, askedAt: world.clock.now() })
  world.note(`${name} ${session} begins ${id} ${JSON.stringify(given)}`)
}

async function people(world: RandomWorld, { runtime }: Worker, share: number): Promise<void> {
  for (const { id, kind, verbs } of await runtime.inbox()) {
    if (!world.likely(share)) continue
    const verb = world.oneOf(
      verbs.filter((each) => each === 'approve' || each === 'deny' || (each === 'answer' && kind === 'finding')),
    )
    const decision =
      verb === 'answer'
        ? { answer: 'It was done' }
        : verb === 'approve'
          ? { approve: true as const }
          : { deny: true as const }
    world.note(`a person: ${verb} ${id}`)
    await runtime.decide(id, { ...decision, by: 'user:bea' })
  }
  for (const session of sessions)
    for (const { callId, batch, occurrence } of await runtime.session(session).pendingClientCalls()) {
      if (!world.likely(share)) continue
      world.note(`the client answers ${callId}`)
      await runtime
        .session(session)
        .answer(callId, world.likely(0.8) ? { value: 'by the client' } : { cancelled: 'no' }, { batch, occurrence })
        .catch(nothing)
    }
}

async function happens(world: RandomWorld, worker: Worker): Promise<void> {
  const session = world.oneOf(sessions)
  const { runtime } = worker
  const what = world.chance(100)
  if (what < 30) startTurn(world, worker, session)
  else if (what < 35) for (const _ of '12') startTurn(world, worker, session)
  else if (what < 55) {
    const words = text('send', world)
    const when = world.likely(0.6) ? 'next' : 'after'
    world.note(`the user sends ${session} ${when}: ${words}`)
    const sending = runtime.session(session).messages.send(words, { when })
    // A worker may die before the message is recorded; then send() has not resolved.
    sending.then(() => world.sent.push({ session, text: words }), nothing)
  } else if (what < 75)
    await Promise.race([people(world, worker, 0.6).catch(nothing), world.clock.advance(1).then(nothing)])
  else if (what < 85) {
    const open = world.turns.at(-1 - world.chance(4))
    world.note(`${open?.id} is cancelled`)
    void open?.turn.cancel('Enough').catch(nothing)
  } else if (what < 87) {
    world.note(`all calls of ${session} are cancelled`)
    void runtime.session(session).cancel('All').catch(nothing)
  } else if (what < 90) void runtime.session(session).supersede().catch(nothing)
  else if (what < 93) worker.cutOff(world.oneOf([100, 5_000, 40_000]))
  else if (what < 97) worker.dieAt(1 + world.chance(12), world.oneOf(['before', 'after']))
  else worker.die()
}

export async function lived(seed: number, ground: Ground, plant: Plant = (store) => store): Promise<Lived> {
  const world = new RandomWorld(seed, ground)
  const tools = randomTools(world)
  let alive = [await world.worker(tools, plant)]
  if (world.likely(0.3)) alive.push(await world.worker(tools, plant))
  const replaced = async (): Promise<void> => {
    alive = alive.filter(({ dead }) => !dead)
    if (alive.length === 0) alive.push(await world.worker(tools, plant))
  }
  for (let left = 8 + world.chance(24); left > 0; left--) {
    await happens(world, world.oneOf(alive))
    await world.clock.advance(world.oneOf([0, 0, 100, 1_000, 5_000, 35_000]))
    await replaced()
  }
  world.note('peace')
  world.peace = true
  for (const worker of alive) {
    worker.dieAt(Infinity, 'before')
    worker.awayUntil = Math.min(worker.awayUntil, world.clock.now())
  }
  const [last] = alive as [Worker]
  for (let round = 0; round < 40; round++) {
    await world.clock.advance(round < 5 ? 5_000 : 35_000)
    await replaced()
    await people(world, last, 1)
    await world.clock.advance(100)
    if ((await world.store.unsettled({ after: '', limit: 1 })).length === 0) break
  }
  for (const session of sessions) startTurn(world, last, session)
  for (let round = 0; round < 6; round++) await world.clock.advance(5_000)
  for (const session of sessions) await lawsOf(world, last, session)
  for (const call of await world.store.unsettled({ after: '', limit: 9 }))
    world.breaks(
      `SESS-1 ${call.tool} ${call.position.batch} ${call.position.id} of ${call.position.session} is left ${call.state}`,
    )
  for (const hold of await world.store.holds()) world.breaks(`a place is held: ${JSON.stringify(hold)}`)
  for (const { id, session } of world.turns) {
    const call = await world.store.callAt({ tenant: 'default', session, batch: turnBatch, id, occurrence: 0 })
    if (call && call.state !== 'settled') world.breaks(`SESS-1 ${id} did not end`)
  }
  const closing = Promise.all(alive.map(({ runtime }) => runtime.close({ grace: 0 })))
  await world.clock.advance(100)
  await closing
  await ground.close?.()
  for (const { number, session, request } of world.requests)
    for (const problem of await problemsOnTheWire(request))
      world.breaks(`SESS-3 asked ${number} in ${session}, on the wire: ${problem}`)
  const { wrong, trace, asks, deaths, lively, requests, tooLong } = world
  return { wrong, trace, asks, deaths, sessions: lively.size, judged: requests.length, tooLong }
}
