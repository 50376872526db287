// A simulated worker: a real runtime with the clock and store of the simulated world. It can die, freeze and resume,
// close gracefully, and lose its store for a moment.

import type { Model, Runtime, Tool } from 'pawl'
import { PawlError } from '../../src/core/errors.ts'
import type { Clock } from '../../src/core/clock.ts'
import { openRuntime } from '../../src/runtime.ts'
import type { Change, Hint, Store, Written } from '../../src/store/store.ts'
import { broken } from '../kit/stores/planted-defects.ts'
import type { Laws } from './invariants.ts'
import type { World } from './simulated-world.ts'

export const leaseMs = 3_000
const quiet = { debug() {}, info() {}, warn() {}, error: process.env.PAWL_SEED ? console.error : () => {} }
const never = new Promise<never>(() => {})
/** Expiry of approval requests. */
const policy = { approvals: { expires: '6s' } } as const

interface Entry {
  readonly change: Change
  readonly heard: (answer: Written) => void
}

export class Worker {
  readonly name: string
  readonly clock: Clock
  readonly gone: Promise<void>
  runtime!: Runtime
  alive = true
  /** The worker id in the store. */
  id = ''
  readonly timers = new Set<number>()
  readonly #world: World
  readonly #laws: Laws
  #paused: (() => void)[] | null = null
  #queue: Entry[] = []
  #flushAt = Infinity
  #leased = false
  #awayUntil = 0
  #fails: 'written' | 'not written' | null = null
  #end = (): void => {}

  constructor(name: string, world: World, laws: Laws) {
    this.name = name
    this.#world = world
    this.#laws = laws
    this.gone = new Promise((resolve) => void (this.#end = resolve))
    // Every machine has its own monotonic clock.
    this.clock = world.clockOf({ wake: (run) => this.wake(run), ahead: world.chance(1_000_000), timers: this.timers })
  }

  async open(tools: readonly Tool[], plant: string | undefined, models: readonly Model[] = []): Promise<void> {
    const world = this.#world
    let count = 0
    const ids = {
      next: (): string => `${String(world.now).padStart(7, '0')}${String(++count).padStart(4, '0')}${this.name}`,
    }
    const store = broken(this.#store(), plant, { clock: this.clock })
    const keys = { secret: Buffer.alloc(32, 7) }
    this.runtime = await openRuntime({
      store,
      tools,
      models,
      clock: this.clock,
      ids,
      keys,
      lease: leaseMs,
      poisonAfter: 1_000,
      logger: quiet,
      policy,
    })
  }

  /** Runs the callback now, after the freeze, or never if the worker is dead. */
  wake(run: () => void): void {
    if (!this.alive) return
    if (this.#paused) this.#paused.push(run)
    else run()
  }

  get running(): boolean {
    return this.alive && this.#paused === null
  }

  die(): void {
    this.#world.note(this.name, 'dies')
    this.#laws.hit(this.name)
    this.alive = false
    this.#end()
  }

  freeze(ms: number): void {
    this.#world.note(this.name, `freezes for ${ms}`)
    this.#laws.hit(this.name)
    this.#paused = []
    this.#world.after(ms, () => {
      const due = this.#paused ?? []
      this.#paused = null
      if (!this.alive) return
      this.#world.note(this.name, 'goes on')
      for (const run of due) run()
    })
  }

  /** The next group commit fails, and the worker cannot know whether it was written. */
  stumble(how: 'written' | 'not written'): void {
    this.#fails = how
  }

  /** Every store request fails with store_unavailable for this long. */
  cutOff(ms: number): void {
    this.#world.note(this.name, `is cut off for ${ms}`)
    this.#awayUntil = this.#world.now + ms
    this.#laws.hit(this.name, this.#awayUntil + 50)
  }

  async close(grace: number): Promise<void> {
    this.#world.note(this.name, `closes within ${grace}`)
    // Calls that have not ended within the grace period are released.
    this.#laws.hit(this.name, Infinity)
    await this.runtime.close({ grace })
    if (!this.alive) return
    this.#world.note(this.name, 'has closed')
    this.#laws.left(this.name, this.id, this.#leased)
    if (this.timers.size > 0) this.#laws.wrong(`L7 ${this.name} closed and left ${this.timers.size} timers`)
    this.alive = false
    this.#end()
  }

  // ── its store: the shared store with random latency ──

  #store(): Store {
    const { store } = this.#world
    const read = Object.fromEntries(
      Object.entries(store).map(([name, method]) => [
        name,
        typeof method === 'function'
          ? (...args: never[]) => this.#later(() => (method as (...args: never[]) => unknown)(...args))
          : method,
      ]),
    ) as unknown as Store
    return {
      ...read,
      commit: (change) =>
        new Promise((resolve, reject) =>
          this.#write(
            { change, heard: (answer) => ('failed' in answer ? reject(answer.failed) : resolve(answer)) },
            false,
          ),
        ),
      write: (change, heard, how) => this.#write({ change, heard }, how?.ride === true),
      renew: (worker, ms) => {
        this.id = worker
        return this.#later(() => {
          this.#leased = true
          return store.renew(worker, ms) as number
        })
      },
      leave: (worker) =>
        this.#later(() => {
          this.#leased = false
          void store.leave(worker)
        }),
      claim: (worker, tools, limit) =>
        this.#later(() => {
          const calls = store.claim(worker, tools, limit) as Awaited<ReturnType<Store['claim']>>
          for (const { position, fence } of calls) this.#world.note(this.name, `claims ${position.id} as ${fence}`)
          return calls
        }),
      onHint: (listener) => this.#hints(listener),
      close: () => Promise.resolve(),
    }
  }

  /** Executes the request after a random delay and answers after another; sometimes both at once. */
  #later<T>(ask: () => T): T | Promise<T> {
    const world = this.#world
    if (!this.alive) return never
    if (world.now < this.#awayUntil) return world.sleep(1).then(() => (this.alive ? Promise.reject(away()) : never))
    if (world.likely(0.4)) return ask()
    return new Promise((resolve, reject) => {
      world.after(world.chance(3), () =>
        this.wake(() => {
          try {
            const answer = ask()
            world.after(world.chance(3), () => this.wake(() => resolve(answer)))
          } catch (error) {
            reject(error)
          }
        }),
      )
    })
  }

  #write(entry: Entry, ride: boolean): void {
    if (!this.alive) return
    this.#queue.push(entry)
    const at = this.#world.now + (ride ? 20 : this.#world.chance(4))
    if (at >= this.#flushAt) return
    this.#flushAt = at
    this.#world.after(at - this.#world.now, () => this.wake(() => this.#flush()))
  }

  #flush(): void {
    const entries = this.#queue
    if (entries.length === 0) return
    this.#queue = []
    this.#flushAt = Infinity
    const world = this.#world
    const fails = world.now < this.#awayUntil ? 'not written' : this.#fails
    this.#fails = null
    const failure = { failed: away() }
    const answered = world.chance(12)
    for (const { change, heard } of entries) {
      const hears = (answer: Written): void => void world.after(answered, () => this.wake(() => heard(answer)))
      const stumbles = (): void =>
        void world.after(answered, () =>
          this.wake(() => {
            this.#laws.hit(this.name)
            heard(failure)
          }),
        )
      const label =
        change.events.map(({ type, body }) => `${type}${'step' in body ? ` ${body.step}` : ''}`).join(', ') ||
        'no events'
      if (fails === 'not written') {
        world.note(this.name, `fails to write ${label}`)
        stumbles()
        continue
      }
      const call = change.updateCall?.uid ?? change.steps?.[0]?.call ?? change.insertWaits?.[0]?.call
      const before =
        call === undefined ? undefined : (world.store.call(call) as { owner: string | null } | undefined)?.owner
      world.store.write(change, (answer) => {
        if ('failed' in answer) return hears(answer)
        world.note(this.name, `${answer.ok ? 'writes' : 'is refused'} ${label}`)
        this.#laws.written(this.name, this.id, change, answer, before)
        if (fails) stumbles()
        else hears(answer)
      })
    }
  }

  /** Hints are delayed and some are lost; then the poll reports the change. */
  #hints(listener: (hint: Hint) => void): () => void {
    const world = this.#world
    let missed = false
    const stop = world.store.onHint((hint) => {
      if (world.likely(0.2)) missed = true
      else world.after(world.chance(30), () => this.wake(() => listener(hint)))
    })
    const callOff = this.clock.every(500, () => {
      if (missed) listener({ wakes: true, outside: true })
      missed = false
    })
    return () => {
      stop()
      callOff()
    }
  }
}

const away = (): PawlError => new PawlError('store_unavailable', 'For a moment.')
