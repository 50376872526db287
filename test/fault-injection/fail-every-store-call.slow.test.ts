// Each store call of a scenario fails once, one per run. The batch, resubmitted after store_unavailable, must end as
// expected. Environment: WORLDS=memory,async,sqlite, RESTART=<second>, TWO=1 (another process resolves),
// FLEET=submit|work, SEAL=1, WINDOW=<number of consecutive failures>, ONLY=<words>, SKIP=1 (no cancels).
/* oxlint-disable typescript/no-explicit-any -- outcomes of many shapes */

import { createRuntime, PawlError, type Runtime } from 'pawl'
import { describe, expect, test } from 'vitest'
import type { Change, Store, Written } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { freshMemory, freshSqlite, quiet } from '../kit/stores/fresh-store.ts'
import { cancels } from './cancel-scenarios.ts'
import { order } from './scheduling-scenarios.ts'
import { people } from './approval-scenarios.ts'
import { newWorld, type Scenario } from '../kit/fault-scenario.ts'
import { tasks } from './task-scenarios.ts'
import { waits } from './wait-scenarios.ts'
import { work } from './attempt-scenarios.ts'

interface Plan {
  armed: boolean
  calls: string[]
  /** Index of the call that fails: before it takes effect, or after it (the answer is lost). */
  failing: number
  how: 'before' | 'after'
  failed: boolean
}
const unavailable = () => new PawlError('store_unavailable', 'planted')
const local = new Set(['onHint', 'close', 'keepAlive'])

function planted(store: Store, plan: Plan, later: boolean): Store {
  const out: Record<string, unknown> = { ...store }
  const hit = (name: string): boolean => {
    if (!plan.armed) return false
    plan.calls.push(name)
    const at = plan.calls.length - 1 - plan.failing
    if (plan.failing < 0 || at < 0 || at >= Number(process.env.WINDOW ?? 1)) return false
    plan.failed = true
    return true
  }
  for (const name of Object.keys(store)) {
    const method = (store as unknown as Record<string, unknown>)[name]
    if (typeof method !== 'function' || name === 'write' || local.has(name)) continue
    out[name] = (...args: unknown[]) => {
      const bad = hit(name)
      const go = (): unknown => {
        if (bad && plan.how === 'before') throw unavailable()
        const answer = (method as (...a: unknown[]) => unknown)(...args)
        if (!bad) return answer
        if (answer instanceof Promise)
          return answer.then(() => {
            throw unavailable()
          })
        throw unavailable()
      }
      if (name === 'commit') return (async () => go())()
      return later ? new Promise((resolve) => setImmediate(resolve)).then(go) : go()
    }
  }
  out.write = (change: Change, heard: (answer: Written) => void, how?: { ride: boolean }) => {
    const bad = hit('write')
    if (bad && plan.how === 'before') return queueMicrotask(() => heard({ failed: unavailable() }))
    store.write(change, (answer) => heard(bad ? { failed: unavailable() } : answer), how)
  }
  return out as unknown as Store
}

interface End {
  calls: string[]
  failed: boolean
  problem: string | null
}

async function once(
  scenario: Scenario,
  fresh: () => { clock: ManualClock; store: Store },
  failing: number,
  how: Plan['how'],
  later: boolean,
  restart: number | null,
  two: boolean,
): Promise<End> {
  const { clock, store } = fresh()
  const plan: Plan = { armed: false, calls: [], failing, how, failed: false }
  const w = newWorld(clock)
  const tools = scenario.tools(w)
  const fleet = process.env.FLEET // 'submit' or 'work': the runtime that has the faults
  const shared = { ...store, close: async () => {} }
  const announce = () => void w.did('announced')
  if (fleet === 'submit') await createRuntime({ store: shared, clock, tools, logger: quiet, announce })
  const open = async (): Promise<Runtime> => {
    for (let tries = 0; ; tries++) {
      try {
        return await createRuntime({
          store: { ...planted(store, plan, later), close: async () => {} },
          clock,
          tools,
          logger: quiet,
          announce,
          ...(process.env.SEAL ? { encrypt: true } : {}),
          ...(fleet === 'submit' ? { worker: false } : {}),
        })
      } catch (error) {
        if ((error as PawlError).code !== 'store_unavailable' || tries > 2 + Number(process.env.WINDOW ?? 1))
          throw error
      }
    }
  }
  const turn = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await new Promise((r) => setImmediate(r))
  }
  const waitFor = async <T>(p: Promise<T>): Promise<T> => {
    let over = false
    p.then(
      () => (over = true),
      () => (over = true),
    )
    for (let i = 0; i < 1500 && !over; i++) {
      await clock.advance(i < 20 ? 0 : 100)
      if (!over && i > 1) await new Promise((r) => setTimeout(r, 2))
    }
    if (!over) throw new Error('hangs while opening or closing')
    return p
  }
  let problem: string | null = null
  try {
    w.runtime = await waitFor(open())
    if (fleet === 'work') {
      w.runtime = await createRuntime({ store: shared, clock, tools, logger: quiet, worker: false })
    }
    let other: Runtime | null = null
    if (two) {
      other = await waitFor(
        createRuntime({ store: { ...store, close: async () => {} }, clock, tools: [], logger: quiet }),
      )
    }
    if (restart === null) plan.armed = true
    const resolver = other
    if (resolver) {
      const own = w.runtime
      w.runtime = new Proxy(own, {
        get: (target, name) =>
          name === 'resolve'
            ? resolver.resolve.bind(resolver)
            : typeof (target as any)[name] === 'function'
              ? (target as any)[name].bind(target)
              : (target as any)[name],
      })
    }
    let outcomes: any[] | null = null
    let asking = false
    let asks = 0
    let stop = new AbortController()
    const ask = (second: number): void => {
      asking = true
      asks++
      stop = new AbortController()
      const aborting = stop
      if (scenario.abortAt !== undefined && second > scenario.abortAt)
        setTimeout(() => aborting.abort(new Error('enough')), 1)
      const asked = w.runtime
      const answer = scenario.ask
        ? scenario.ask(w)
        : asked.session('s').run(scenario.asks, { ...scenario.run, signal: stop.signal } as never)
      answer.then(
        (got) => {
          outcomes = got
          asking = false
        },
        (error: PawlError) => {
          asking = false
          if (error.code === 'runtime_closed' && asked !== w.runtime) return
          if (error.code !== 'store_unavailable') problem ??= `rejected with ${error.code}: ${error.message}`
        },
      )
    }
    for (let second = 0; second < 300 && !outcomes && !problem; second++) {
      if (restart === second) {
        const before = w.runtime
        w.runtime = null as never
        await waitFor(before.close({ grace: 0 }))
        plan.armed = true
        w.runtime = await waitFor(open())
        asking = false
      }
      if (!asking) ask(second)
      await clock.advance(1000)
      if (scenario.abortAt !== undefined && second > scenario.abortAt) await new Promise((r) => setTimeout(r, 2))
      if (scenario.abortAt === second) stop.abort(new Error('enough'))
      if (scenario.poke) {
        let done = false
        const p = Promise.resolve(scenario.poke(w, second)).finally(() => (done = true))
        for (let i = 0; i < 20 && !done; i++) await turn()
        await p
      }
      if (asks > 3 + Number(process.env.WINDOW ?? 1)) problem = 'asked too often'
    }
    if (!problem && !outcomes) problem = 'hangs'
    if (!problem && outcomes) {
      if (typeof scenario.ends === 'function') scenario.ends(outcomes)
      else
        try {
          expect(outcomes).toMatchObject(scenario.ends as never)
        } catch {
          throw new Error(
            `ends as ${JSON.stringify((outcomes as any[]).map((o) => [o.status, o.value ?? o.failure?.code ?? o.cancellation?.message]))}`,
          )
        }
      // After a quiet period no call may be open, and the record must be consistent.
      plan.armed = false
      for (let i = 0; i < 40; i++) await clock.advance(1000)
      for (const [name, most] of Object.entries(scenario.most))
        if ((w.effects[name] ?? 0) > most) problem = `${name} happened ${w.effects[name]} times`
      for (const [name, least] of Object.entries(scenario.least ?? {}))
        if ((w.effects[name] ?? 0) < least) problem = `${name} happened ${w.effects[name] ?? 0} times`
      const openCalls = await store.unsettled({ after: '', limit: 50 })
      if (openCalls.length > 0) problem = `left open: ${openCalls.map((c) => `${c.tool}:${c.state}`).join(',')}`
      const events = await store.events({ after: 0, limit: 1000 })
      const settled = new Map<string, number>()
      const seqs = new Map<string, number>()
      for (const e of events) {
        if (e.type === 'call.settled') settled.set(e.call, (settled.get(e.call) ?? 0) + 1)
        const s = (seqs.get(e.session) ?? 0) + 1
        if (e.seq !== s) problem = `sequence ${e.seq} instead of ${s}`
        seqs.set(e.session, s)
      }
      for (const n of settled.values()) if (n !== 1) problem = `settled ${n} times`
      const holds = await store.holds()
      if (holds.length > 0) problem = `places held: ${JSON.stringify(holds)}`
      for (const wrong of (await scenario.laws?.(w, store)) ?? []) problem = wrong
      let again: any[] | null = null
      const answer = scenario.ask ? scenario.ask(w) : w.runtime.session('s').run(scenario.asks, scenario.run as never)
      answer.then(
        (got) => (again = got),
        () => {},
      )
      for (let i = 0; i < 20 && !again; i++) await clock.advance(1000)
      const strip = (os: any[]): any =>
        os.map(({ status, value, failure, cancellation }) => ({ status, value, failure, cancellation }))
      if (!again) problem = 'asked again: hangs'
      else if (JSON.stringify(strip(again)) !== JSON.stringify(strip(outcomes)))
        problem = `first ${JSON.stringify(strip(outcomes))}, then ${JSON.stringify(strip(again))}`
    }
  } catch (error) {
    problem = (error as Error).message
  }
  try {
    const c = w.runtime?.close({ grace: 0 })
    c?.catch(() => {})
    await waitFor(c)
  } catch (e) {
    problem ??= `close: ${(e as Error).message}`
  }
  return { calls: plan.calls, failed: plan.failed, problem }
}

const scenarios = [...work, ...waits, ...order, ...cancels, ...people, ...tasks]
const only = process.env.ONLY
const worlds = (process.env.WORLDS ?? 'memory,async').split(',')
const restarts: (number | null)[] = process.env.RESTART ? [Number(process.env.RESTART)] : [null]
const two = process.env.TWO === '1'
for (const world of worlds) {
  describe(world, () => {
    const fresh = world === 'sqlite' ? freshSqlite : freshMemory
    for (const scenario of scenarios) {
      if (only && !scenario.name.includes(only)) continue
      if (process.env.SKIP && /cancel|stops at/.test(scenario.name)) continue
      for (const restart of restarts) {
        test(
          `${scenario.cites ?? 'CALL-2'}: ${scenario.name}${restart === null ? '' : `, restarted at ${restart}`}`,
          { timeout: 120_000 },
          async () => {
            const clean = await once(scenario, fresh, -1, 'before', world === 'async', restart, two)
            expect(clean.problem).toBe(null)
            const found: string[] = []
            // Later calls are idle polling and repeat themselves.
            const most = Math.min(clean.calls.length, Number(process.env.MOST ?? 90))
            for (const how of ['before', 'after'] as const) {
              for (let n = 0; n < most; n++) {
                // An asynchronous store reads the calls of a batch in one query: all of them or none.
                if (world === 'async' && scenario.asks.length > 1 && clean.calls[n] === 'callAt') continue
                const end = await once(scenario, fresh, n, how, world === 'async', restart, two)
                if (end.problem)
                  found.push(
                    `${n} ${end.calls[n]} ${how} [${end.calls.slice(Math.max(0, n - 3), n + 8)}]: ${end.problem.split('\n').slice(0, 30).join(' ').slice(0, 500)}`,
                  )
              }
            }
            expect(found).toEqual([])
          },
        )
      }
    }
  })
}
