// One history: a random program, workers that execute it, faults for a while, then a quiet phase in which everything
// must end.

import { type Outcome, PawlError } from 'pawl'
import { Laws, turnName } from './invariants.ts'
import { type Ask, idsOf, type Op, type Outside, randomAsks, randomBatches, toolsOf } from './random-program.ts'
import { delegateTool, plannedModel, randomTurns, type SentMessage } from './random-turns.ts'
import { leaseMs, Worker } from './simulated-worker.ts'
import { instant, World } from './simulated-world.ts'

const nothing = (): void => {}
const troubleMs = 8_000
/** Time after the faults: the last wait deadline or retry delay, and the leases of dead workers. */
const peaceMs = 60_000

/** Seeds from here on use background tasks. */
export const withTasks = 1_000_000

/** Seeds from here on use turns and agents. */
export const withTurns = 2_000_000

/** Far more steps than any history needs; reaching this limit means a livelock. */
const mostSteps = 20_000

export interface History {
  readonly trace: readonly string[]
  readonly broken: readonly string[]
  /** Number of injected faults. */
  readonly faults: number
  readonly calls: number
  readonly steps: number
  /** Number of model requests. */
  readonly asks: number
  /** Number of agents that worked. */
  readonly agents: number
}

export async function simulate(seed: number, plant?: string): Promise<History> {
  const world = new World(seed)
  const laws = new Laws(world)
  const ask = randomAsks(world, seed >= withTasks && seed < withTurns)
  const batches = randomBatches(world, seed >= withTasks && seed < withTurns, ask)
  const program = seed >= withTurns ? randomTurns(world, ask) : null
  const workers: Worker[] = []
  let faults = 0
  let asking = batches.length + (program?.turns.length ?? 0) + (program?.messages.length ?? 0)

  const running = (): Worker[] => workers.filter((worker) => worker.running && worker.runtime !== undefined)
  /** Waits for a running worker and returns it. */
  const anyone = async (): Promise<Worker> => {
    for (;;) {
      const found = running()
      if (found.length > 0) return world.oneOf(found)
      await world.sleep(50)
    }
  }

  const resolve = async (wait: string, key: string, value: string): Promise<void> => {
    const worker = await anyone()
    world.note(worker.name, `is asked to answer ${wait} with ${value}`)
    const answer = await Promise.race([
      worker.runtime.resolve(key, { value }).catch(() => null),
      worker.gone.then(() => null),
    ])
    if (answer?.answer !== 'accepted') return
    if (laws.accepted.has(wait)) laws.wrong(`WAIT-2 ${wait} was accepted twice`)
    laws.accepted.set(wait, value)
  }
  const signal = async (task: string, name: string, value: string): Promise<void> => {
    const worker = await anyone()
    const session = laws.tasks.get(task)?.session ?? ''
    await worker.runtime.session(session).tasks.signal(task, name, value).catch(nothing)
  }
  const handedOut = new Set<string>()
  const outside: Outside = {
    world,
    laws,
    failed: new Map(),
    done: new Set(),
    atNextStart: null,
    signals(task, name, deadline) {
      const sends = world.oneOf([0, 1, 1, 2])
      for (let index = 0; index < sends; index++)
        world.after(
          world.oneOf([0, world.chance(deadline), deadline - 5 + world.chance(10)]),
          () => void signal(task, name, `signal ${index}`),
        )
    },
    handOut(wait, key, deadline) {
      if (handedOut.has(wait)) return
      handedOut.add(wait)
      const left = instant(deadline) - world.now
      const answers = world.oneOf([0, 1, 1, 1, 2, 2])
      for (let index = 0; index < answers; index++) {
        // Immediately, in between, or close to the deadline.
        const ms = world.oneOf([0, world.chance(left), left - 5 + world.chance(10)])
        world.after(ms, () => void resolve(wait, key, `${wait} ${index}`))
      }
    },
  }

  /** Starts a task and waits for its end, on another worker if the first is gone. */
  const starter = async (session: string, { id, name, input, deadline }: Ask): Promise<void> => {
    for (;;) {
      const worker = await anyone()
      world.note(worker.name, `is asked to start ${id}`)
      const { tasks } = worker.runtime.session(session)
      const spec = {
        tool: name,
        input,
        id,
        ...(deadline === undefined ? {} : { deadline: deadline + Date.UTC(2026, 0, 1) }),
      }
      const ended = await Promise.race([
        tasks
          .start(spec)
          .then(
            () => tasks.wait(id),
            (error: Error) => error,
          )
          .catch((error: Error) => error),
        worker.gone.then(() => new Error('It is gone')),
      ])
      if (!(ended instanceof Error)) {
        const outcome = shown(ended.outcome as Outcome)
        laws.told(id, outcome)
        world.note('client', `hears that task ${id} ended: ${outcome}`)
        return
      }
      world.note('client', `hears of task ${id}: ${ended.message}`)
      await world.sleep(20 + world.chance(200))
    }
  }

  /** People read the inbox on any worker and decide most items, sometimes twice. */
  const people = async (): Promise<void> => {
    const worker = await anyone()
    const items = await Promise.race([worker.runtime.inbox().catch(() => []), worker.gone.then(() => [])])
    for (const { id, callId, args } of items) {
      if (world.likely(0.3)) continue
      const word = world.oneOf([
        { approve: true },
        { approve: true },
        { approve: true },
        { deny: true },
        { edit: args },
      ] as const)
      world.note(worker.name, `is told ${Object.keys(word)[0]} for ${callId}`)
      void worker.runtime.decide(id, { ...word, by: 'bea' }).then(nothing, nothing)
      if (world.likely(0.2)) void worker.runtime.decide(id, { deny: true, by: 'cem' }).then(nothing, nothing)
    }
    world.after(100 + world.chance(900), () => void people())
  }

  let names = 0
  const hire = async (): Promise<void> => {
    const worker = new Worker(`w${++names}`, world, laws)
    workers.push(worker)
    try {
      const tools = toolsOf(worker, outside)
      if (program)
        await worker.open([...tools, delegateTool()], plant, [plannedModel(worker, world, program, laws.turns)])
      else await worker.open(tools, plant)
    } catch (error) {
      // Its store was unavailable while it opened; another worker starts instead.
      if (!(error instanceof PawlError) || error.code !== 'store_unavailable')
        laws.wrong(`${worker.name} did not open: ${String(error)}`)
      world.after(100, () => void hire())
    }
  }

  /** Runs the batch until all outcomes arrived, on another worker if the first is gone. */
  const client = async ({ session, batch, calls, tasks }: (typeof batches)[number]): Promise<void> => {
    const told = new Set<string>()
    for (const { id, deadline } of calls) if (deadline !== undefined) laws.deadlines.set(id, deadline)
    if (tasks) {
      for (const { id, input } of calls) laws.tasks.set(id, { session, tells: tellsOf(id, input.ops) })
      await Promise.all(calls.map((call) => starter(session, call)))
      asking--
      return
    }
    const asks = calls.map(({ id, name, input, deadline }: Ask) => ({
      id,
      name,
      input,
      ...(deadline === undefined ? {} : { deadline: deadline + Date.UTC(2026, 0, 1) }),
    }))
    while (told.size < calls.length) {
      const worker = await anyone()
      world.note(worker.name, `is asked for ${batch}`)
      const outcomes = await Promise.race([
        worker.runtime
          .session(session)
          .run(asks, { batch })
          .catch((error: Error) => error),
        worker.gone.then(() => new Error('It is gone')),
      ])
      if (outcomes instanceof Error) {
        world.note('client', `hears of ${batch}: ${outcomes.message}`)
        await world.sleep(20 + world.chance(200))
        continue
      }
      for (const outcome of outcomes) {
        laws.told(outcome.callId, shown(outcome))
        world.note('client', `hears that ${outcome.callId} ended: ${shown(outcome)}`)
        told.add(outcome.callId)
      }
    }
    asking--
  }

  /** Repeats a request until a worker has answered it, on another worker if the first is gone. */
  const untilAnswered = async <T>(what: string, request: (worker: Worker) => Promise<T>): Promise<T> => {
    for (;;) {
      const worker = await anyone()
      world.note(worker.name, `is asked for ${what}`)
      const answer = await Promise.race([
        request(worker).then(
          (value) => ({ value }),
          (error: Error) => error,
        ),
        worker.gone.then(() => new Error('It is gone')),
      ])
      if (!(answer instanceof Error)) return answer.value
      world.note('client', `hears of ${what}: ${answer.message}`)
      await world.sleep(20 + world.chance(200))
    }
  }
  const turnClient = async ({ session, id }: { readonly session: string; readonly id: string }): Promise<void> => {
    const outcome = await untilAnswered(
      `turn ${id}`,
      async ({ runtime }) => runtime.session(session).turn({ model: 'm', message: `do ${id}.`, id }).outcome,
    )
    laws.told(turnName({ session, id }), shown(outcome as Outcome))
    world.note('client', `hears that ${id} ended: ${shown(outcome as Outcome)}`)
    asking--
  }
  const sender = async ({ session, id }: SentMessage): Promise<void> => {
    await untilAnswered(`message ${id}`, async ({ runtime }) =>
      runtime.session(session).messages.send(`said ${id}.`, { id }),
    )
    asking--
  }
  /** The last turns, when all other work has ended: they read all input that is still pending. */
  let closing: readonly { readonly session: string; readonly id: string }[] | null = null
  const close = (): boolean => {
    if (!program || closing) return false
    closing = ['s1', 's2'].map((session) => ({ session, id: `last_${session}` }))
    asking += closing.length
    for (const turn of closing) void turnClient(turn)
    return true
  }

  const dies = (worker: Worker): void => {
    worker.die()
    world.after(world.chance(2_000), () => void hire())
  }
  const cancel = (worker: Worker, session: string): void => {
    if (!running().includes(worker)) return
    world.note(worker.name, `is asked to cancel ${session}`)
    void worker.runtime.session(session).cancel('Not wanted').then(nothing, nothing)
    if (world.likely(0.7)) world.after(world.chance(20), () => void (worker.alive && dies(worker)))
  }
  const trouble = (): void => {
    faults++
    // Some faults wait for the next effect to start, plus a short delay.
    if (world.likely(0.3)) {
      const ms = world.chance(20)
      const [kills, session] = [world.likely(0.5), world.oneOf(['s1', 's1', 's2'])]
      outside.atNextStart = (worker) =>
        void world.after(ms, () => worker.running && (kills ? dies(worker) : cancel(worker, session)))
      return
    }
    const [worker] = running().length > 0 ? [world.oneOf(running())] : []
    if (!worker) return
    const roll = world.chance(100)
    if (roll < 35) dies(worker)
    else if (roll < 55) worker.freeze(world.chance(3 * leaseMs))
    else if (roll < 63) worker.stumble(world.oneOf(['written', 'not written']))
    else if (roll < 70) worker.cutOff(world.chance(400))
    else if (roll < 85) {
      worker.close(world.oneOf([0, 500])).then(nothing, nothing)
      world.after(world.chance(500), () => void hire())
    } else cancel(worker, world.oneOf(['s1', 's1', 's2']))
  }

  const staff = 1 + world.chance(3)
  for (let index = 0; index < staff; index++) world.after(world.chance(100), () => void hire())
  world.after(300, () => void people())
  for (const batch of batches) world.after(batch.at, () => void client(batch))
  for (const turn of program?.turns ?? []) world.after(turn.at, () => void turnClient(turn))
  for (const message of program?.messages ?? []) world.after(message.at, () => void sender(message))
  const most = world.chance(8)
  // Most faults come early, while many calls are running.
  for (let index = 0; index < most; index++) world.after(200 + world.chance(1 + world.chance(troubleMs - 200)), trouble)
  // The quiet phase: one fresh worker, and no more faults.
  world.after(troubleMs, () => void hire())

  const end = troubleMs + 3 * leaseMs + peaceMs
  let steps = 0
  while (world.now < end) {
    const isAtRest = asking === 0 && laws.openCalls.length === 0
    // The quiet phase of turns begins after the last fault.
    if (isAtRest && world.now >= troubleMs && !close()) break
    // Nothing is open and no client waits, so the rest of the time can be skipped.
    if (isAtRest && !program && world.now > 4_000) break
    await world.step()
    if (++steps === mostSteps) {
      laws.wrong('L6 it does not come to rest')
      break
    }
  }
  const turns = [...(program?.turns ?? []), ...(closing ?? [])]
  await laws.finally(world.store, [...idsOf(batches), ...turns.map(turnName)])
  await laws.turns.checkEnd(world.store, program?.messages ?? [])
  const { asks, sessions } = laws.turns
  const agents = [...sessions].filter((session) => session.startsWith('agent:')).length
  return { trace: world.trace, broken: laws.broken, faults, steps, calls: idsOf(batches).length, asks, agents }
}

/** The messages that a task must send, in order. */
const tellsOf = (id: string, ops: readonly Op[]): string[] =>
  ops.flatMap((op) => (op.op === 'tell' ? [`${id}/${op.name}`] : []))

function shown(outcome: Outcome): string {
  if (outcome.status === 'success') return `success ${JSON.stringify(outcome.value)}`
  if (outcome.status === 'failure') return `failure ${outcome.failure.code}`
  return outcome.status
}
