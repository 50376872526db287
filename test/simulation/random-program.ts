// Random programs: calls as data, and the tools that execute them. All random choices are made here, before anything
// runs.

import { retry, type Tool, tool, type ToolContext, WaitError } from 'pawl'
import type { Laws } from './invariants.ts'
import type { Worker } from './simulated-worker.ts'
import type { World } from './simulated-world.ts'

export type Op =
  | { readonly op: 'step' | 'once'; readonly name: string; readonly ms: number }
  | { readonly op: 'pair'; readonly names: readonly string[]; readonly ms: number }
  | { readonly op: 'sleep'; readonly ms: number }
  | { readonly op: 'wait'; readonly name: string; readonly deadline: number }
  | { readonly op: 'flaky'; readonly name: string; readonly times: number; readonly after: number }
  | { readonly op: 'nest'; readonly calls: readonly Ask[] }
  /** Only tasks have these. */
  | { readonly op: 'tell'; readonly name: string }
  | { readonly op: 'signal'; readonly name: string; readonly deadline: number }

export interface Ask {
  readonly id: string
  readonly name: string
  readonly input: { readonly ops: readonly Op[]; readonly key: string; readonly parks: boolean }
  /** Virtual milliseconds since the start of the history. */
  readonly deadline?: number
}

export interface Batch {
  readonly session: string
  readonly batch: string
  readonly at: number
  readonly calls: readonly Ask[]
  /** Started as background tasks; no client waits for the batch. */
  readonly tasks: boolean
}

const rerunning = ['flow', 'flow', 'flow', 'keyed', 'alone', 'plain', 'gated'] as const

/**
 * With `tasks`, some batches are background tasks. Without, the random choices are the same as before tasks existed.
 */
export function randomBatches(world: World, tasks: boolean, ask = randomAsks(world, tasks)): Batch[] {
  return Array.from({ length: 1 + world.chance(3) }, (_, index) => ({
    session: world.oneOf(['s1', 's1', 's2']),
    batch: `b${index}`,
    at: world.chance(1_500),
    calls: Array.from({ length: 1 + world.chance(3) }, () => ask(0)),
    tasks: tasks && world.likely(0.7),
  }))
}

/** Returns a function that makes random calls with new ids. */
export function randomAsks(world: World, tasks: boolean): (depth: number) => Ask {
  let count = 0
  const ask = (depth: number): Ask => {
    const stops = world.likely(0.2)
    const name = stops ? world.oneOf(['stop', 'asks', 'gated_stop']) : world.oneOf(rerunning)
    // Numbered, so that external effects can be attributed to their call.
    const id = `c${++count}`
    const ops = stops ? [] : Array.from({ length: 1 + world.chance(4) }, (_, index) => randomOp(index, depth))
    const deadline = depth === 0 && world.likely(0.1) ? { deadline: 500 + world.chance(4_000) } : {}
    return { id, name, input: { ops, key: world.oneOf(['a', 'b']), parks: !stops && world.likely(0.2) }, ...deadline }
  }
  const randomOp = (index: number, depth: number): Op => {
    const name = `s${index}`
    if (tasks && world.likely(0.2)) return { op: 'tell', name }
    if (tasks && world.likely(0.15)) return { op: 'signal', name: 'go', deadline: 500 + world.chance(4_000) }
    const roll = world.chance(100)
    if (roll < 40) return { op: 'step', name, ms: world.chance(60) }
    if (roll < 48) return { op: 'once', name, ms: world.chance(60) }
    if (roll < 58) return { op: 'pair', names: [`${name}l`, `${name}r`], ms: world.chance(60) }
    if (roll < 70) return { op: 'sleep', ms: world.chance(2_000) }
    if (roll < 84) return { op: 'wait', name: `w${index}`, deadline: 500 + world.chance(4_000) }
    if (roll < 92 || depth > 1) return { op: 'flaky', name, times: 1 + world.chance(2), after: 100 + world.chance(900) }
    return { op: 'nest', calls: Array.from({ length: 1 + world.chance(2) }, () => ask(depth + 1)) }
  }
  return ask
}

/** The top-level calls, which are certain to be made. */
export const idsOf = (batches: readonly Batch[]): string[] => batches.flatMap(({ calls }) => calls.map(({ id }) => id))

/** State of the external world, shared by the tools of all workers. */
export interface Outside {
  readonly world: World
  readonly laws: Laws
  /** Planned failures so far, by call. */
  readonly failed: Map<string, number>
  /** Effects of `asks` that ended. */
  readonly done: Set<string>
  handOut(wait: string, key: string, deadline: number): void
  /** Schedules random signals to the task. */
  signals(task: string, name: string, deadline: number): void
  /** Called once, when the next effect starts on any worker. */
  atNextStart: ((worker: Worker) => void) | null
}

const anything = { type: 'object' as const }

export function toolsOf(worker: Worker, outside: Outside): Tool[] {
  const { world, laws } = outside
  const effect = (ctx: ToolContext, name: string, ms: number, order: number, atMostOnce = false): Promise<void> => {
    if (!worker.alive) return new Promise(() => {})
    world.note(worker.name, `starts ${ctx.callId}/${name}`)
    const start = {
      call: ctx.callId,
      effect: name,
      order,
      atMostOnce,
      worker: worker.name,
      at: world.now,
      attempt: ctx.attempt,
    }
    laws.start(start)
    const trap = outside.atNextStart
    outside.atNextStart = null
    trap?.(worker)
    return new Promise((resolve) => {
      world.after(ms, () =>
        worker.wake(() => {
          laws.ended(start)
          resolve()
        }),
      )
    })
  }

  const carryOut = async (op: Op, order: number, ctx: ToolContext): Promise<unknown> => {
    switch (op.op) {
      case 'step':
        return ctx.step(op.name, () => effect(ctx, op.name, op.ms, order))
      case 'once':
        return ctx.step(op.name, () => effect(ctx, op.name, op.ms, order, true), { once: true })
      case 'pair':
        return Promise.all(op.names.map((name) => ctx.step(name, { name }, () => effect(ctx, name, op.ms, order))))
      case 'sleep': {
        const key = `${ctx.callId}/sleep${order}`
        laws.sleeps(key)
        await ctx.sleep(op.ms)
        return laws.wakes(key, op.ms)
      }
      case 'wait': {
        const wait = `${ctx.callId}/${op.name}`
        const later = await ctx.later<string>({ name: op.name, deadline: op.deadline })
        outside.handOut(wait, later.key, later.deadline)
        const value = await later.value.catch((error: unknown) => {
          if (!(error instanceof WaitError)) throw error
          return error.code
        })
        laws.heard.push({ wait, value, at: world.now })
        return value
      }
      case 'flaky': {
        const key = `${ctx.callId}/${op.name}`
        const failed = outside.failed.get(key) ?? 0
        if (failed >= op.times) return null
        outside.failed.set(key, failed + 1)
        throw retry({ after: op.after })
      }
      case 'tell': {
        if (ctx.task) await ctx.task.message(`${ctx.callId}/${op.name}`, { order })
        return null
      }
      case 'signal': {
        if (!ctx.task) return null
        outside.signals(ctx.task.id, op.name, op.deadline)
        return ctx.task.signal<string>(op.name, { deadline: op.deadline }).catch((error: unknown) => {
          if (!(error instanceof WaitError)) throw error
          return error.code
        })
      }
      case 'nest': {
        const calls = op.calls.map(({ id, name, input }) => ({ id, name, input }))
        for (const { id } of calls) laws.parents.set(id, ctx.callId)
        return (await ctx.run(calls)).map(({ status }) => status)
      }
    }
  }

  const program = async (input: unknown, ctx: ToolContext): Promise<unknown> => {
    if (!worker.alive) return new Promise(() => {})
    const { ops, parks } = input as Ask['input']
    laws.begun(ctx.callId, ctx.attempt, false)
    ctx.output(`attempt ${ctx.attempt}\n`)
    const values: unknown[] = [ctx.uuid()]
    for (const [order, op] of ops.entries()) values.push((await carryOut(op, order, ctx)) ?? null)
    if (!parks) return values
    const wait = `${ctx.callId}/park`
    const later = await ctx.later<string>({ name: 'park', deadline: 3_000 })
    outside.handOut(wait, later.key, later.deadline)
    return later
  }
  const locked =
    (lockOf: (input: Ask['input'], ctx: ToolContext) => string) =>
    (input: unknown, ctx: ToolContext): Promise<unknown> => {
      laws.locks.set(ctx.callId, lockOf(input as Ask['input'], ctx))
      return program(input, ctx)
    }
  /** Checks that the call was approved before it runs. */
  const gated =
    (execute: (input: unknown, ctx: ToolContext) => Promise<unknown>) =>
    (input: unknown, ctx: ToolContext): Promise<unknown> => {
      if (worker.alive) laws.permitted(ctx.callId)
      return execute(input, ctx)
    }
  const stop = async (_: unknown, ctx: ToolContext): Promise<string> => {
    if (!worker.alive) return new Promise(() => {})
    laws.begun(ctx.callId, ctx.attempt, true)
    await effect(ctx, 'body', 20, 0, true)
    outside.done.add(ctx.callId)
    return 'done'
  }
  const made = {
    description: 'For the simulation',
    input: anything,
    retry: { attempts: 12 },
    background: { grace: 50 },
  }
  const rerun = { ...made, onCrash: 'rerun' as const, execute: program }
  return [
    tool({ ...rerun, name: 'flow', concurrency: 'parallel' }),
    tool({
      ...rerun,
      name: 'keyed',
      execute: locked(({ key }) => `key ${key}`),
      concurrency: { key: (input) => input.key as string },
    }),
    tool({ ...rerun, name: 'alone', execute: locked((_, ctx) => `alone in ${ctx.session}`), concurrency: 'exclusive' }),
    tool({ ...rerun, name: 'plain' }),
    tool({ ...made, name: 'stop', execute: stop }),
    tool({ ...rerun, name: 'gated', approval: 'always', execute: gated(program) }),
    tool({ ...made, name: 'gated_stop', approval: 'always', execute: gated(stop) }),
    tool({
      ...made,
      name: 'asks',
      execute: stop,
      reconcile: (_, ctx) => (outside.done.has(ctx.callId) ? { value: 'done' } : undefined),
    }),
  ]
}
