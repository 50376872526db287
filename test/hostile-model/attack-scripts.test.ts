// A hostile model: each script names the right it lacks. No effect happens without a right, each call has a typed
// outcome or waits for approval, and each call is recorded.

import { callsFromAnthropic } from 'pawl/anthropic'
import { callsFromOpenAI } from 'pawl/openai'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CallAsk, type CallOutcome, createRuntime, type OpenCall, type Runtime, type Session } from 'pawl'
import { type ManualClock, manualClock, type Store } from 'pawl/testing'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { quiet } from '../kit/stores/fresh-store.ts'
import { storeOf } from '../kit/stores/killable-store.ts'
import { scripts } from './all-scripts.ts'
import type { Asked, Script } from './attack-script.ts'
import { bossSession, makeWorld, otherTenant, poisonedMail, policy, type World } from './target-runtime.ts'

type End = CallOutcome | OpenCall

const codeOf = (end: End): string => (end.status === 'failure' ? end.failure.code : end.status)
const textOf = ({ parts }: End): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '[attachment]')).join('')

/** Converts the calls from a provider format: OpenAI chat, OpenAI responses or Anthropic. */
function through(door: number, calls: readonly (Asked & { readonly id: string })[]): CallAsk[] {
  const text = (input: unknown): string =>
    typeof input === 'string' ? input : input === undefined ? '' : JSON.stringify(input)
  // A value that cannot be serialized is only possible as an Anthropic block.
  const asText = (input: unknown): string | undefined => {
    try {
      return text(input)
    } catch {
      return undefined
    }
  }
  const read = (): CallAsk[] => {
    if (door === 0 && calls.every(({ input }) => asText(input) !== undefined))
      return callsFromOpenAI({
        tool_calls: calls.map(({ id, name, input }) => ({
          id,
          type: 'function',
          function: { name, arguments: text(input) },
        })),
      })
    if (door === 1 && calls.every(({ input }) => asText(input) !== undefined))
      return callsFromOpenAI(
        calls.map(({ id, name, input }) => ({ type: 'function_call', call_id: id, name, arguments: text(input) })),
      )
    return callsFromAnthropic({ content: calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input })) })
  }
  return read().map((call, order) => {
    const { idempotencyKey } = calls[order] as Asked
    return idempotencyKey === undefined ? call : { ...call, idempotencyKey }
  })
}

describe.each(['memory', 'sqlite'] as const)('a hostile model on %s', (kind) => {
  let dir: string
  let clock: ManualClock
  let store: Store
  let runtime: Runtime
  let world: World
  const played = new Set<Script>()
  let calls = 0

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'pawl-hostile-'))
    clock = manualClock()
    store = storeOf(kind, join(dir, 'agent.db'), clock)
    world = makeWorld()
    const { tools, provider, others } = world
    runtime = await createRuntime({
      store,
      tools,
      policy,
      providers: [provider],
      clock,
      logger: quiet,
      announce: () => {},
    })
    world.runtime = runtime
    // The tool is pinned first and then changed by its provider.
    await runtime.session('first').loadTools()
    await provider.become(clock, ...provider.tools.filter(({ name }) => name !== 'mail'), poisonedMail(world))
    runtime.session(bossSession, { tenant: otherTenant, tools: others })
  })
  afterAll(async () => {
    await runtime.close({ grace: 0 })
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  })

  const inboxOf = (session: string) => runtime.inbox({ tenant: 'acme', session, limit: 1_000 })

  async function play(script: Script, session: Session, order: number): Promise<{ ends: End[]; asked: CallAsk[] }> {
    const ends: End[] = []
    const all: CallAsk[] = []
    for (const [turn, asks] of script.asks.entries()) {
      const batch = script.batches?.[turn] ?? `m${turn}`
      const asked = through(order % 3, asks.map((each, at) => ({ id: `${turn}.${at}`, ...each }))) // prettier-ignore
      all.push(...asked)
      if (script.ends.includes('running')) {
        // The outer call runs until its nested call is decided, so it cannot be awaited here.
        const run = session.run(asked, { batch })
        run.catch(() => {})
        await vi.waitUntil(async () => (await inboxOf(session.id)).length === script.inbox?.length, {
          interval: 1,
          timeout: 5_000,
        })
        ends.push(...asked.map(({ id, name }): OpenCall => ({ status: 'running', callId: id, name, parts: [] })))
        continue
      }
      const before = await session.run(asked, { batch, until: 'waiting' })
      if (turn > 0 || !script.denied) {
        ends.push(...before)
        continue
      }
      const remember = script.denied === 'remember' ? { remember: true as const } : {}
      for (const { id } of await inboxOf(session.id))
        await runtime.decide(id, { deny: true, by: 'user:bea', ...remember })
      ends.push(...(await session.run(asked, { batch })))
    }
    return { ends, asked: all }
  }

  for (const [order, script] of scripts.entries())
    test(`POL-1, POL-2, TOOL-3, CALL-4: ${script.attack} (lacks ${script.lacks})`, async () => {
      const session = runtime.session(`s${order}`, { tenant: 'acme', principal: 'user:ada' })
      const { ends, asked } = await play(script, session, order)
      // Every call has a typed outcome or waits.
      expect(ends.map(codeOf)).toEqual(script.ends)
      expect(ends.map(({ callId }) => callId)).toEqual(asked.map(({ id }) => id))
      const last = ends.at(-1) as End
      if (script.reads !== undefined) expect(textOf(last)).toBe(script.reads)
      if (script.gives !== undefined) expect(last).toMatchObject({ value: script.gives })
      // The inbox holds the expected requests without any approval.
      const waiting = ends
        .filter(({ status }) => status === 'waiting')
        .map(({ name }) => name.replace('refund-v1', 'refund'))
      const inbox = await inboxOf(session.id)
      expect(inbox.map(({ tool }) => tool).toSorted()).toEqual((script.inbox ?? waiting).toSorted())
      expect(inbox.flatMap(({ approvals }) => approvals)).toEqual([])
      // Only allowed effects happened.
      expect(world.effects.of(session.id)).toEqual(script.may ?? [])
      // Every call is recorded, settled or open. A call_conflict leaves the record of the existing call.
      const rows = await session.calls.list({ limit: 1_000 })
      for (const [index, end] of ends.entries()) {
        const { idempotencyKey: key, name } = asked[index] as CallAsk
        const taken = codeOf(end) === 'call_conflict'
        const row = rows.find((each) =>
          key === undefined ? each.callId === end.callId && (taken || each.name === name) : each.idempotencyKey === key,
        )
        expect(row, end.callId).toBeDefined()
        if (taken) continue
        if (end.status === 'waiting' || end.status === 'running') expect(row).toMatchObject({ outcome: null })
        else
          expect(row?.outcome).toMatchObject(
            end.status === 'failure'
              ? { status: 'failure', failure: { code: end.failure.code } }
              : { status: end.status },
          )
      }
      played.add(script)
      calls += ends.length
    })

  test('POL-1: at least 200 distinct scripts ran, with only the allowed effects in total', async () => {
    expect(new Set(scripts.map(({ attack }) => attack)).size).toBe(scripts.length)
    expect(
      new Set(scripts.map(({ asks, denied, batches }) => `${denied} ${batches?.join()} ${shape(asks)}`)).size,
    ).toBe(scripts.length)
    expect(played.size).toBe(scripts.length)
    expect(scripts.length).toBeGreaterThanOrEqual(200)
    expect(calls).toBeGreaterThanOrEqual(scripts.length)
    expect(world.effects.count).toBe(scripts.reduce((sum, { may = [] }) => sum + may.length, 0))
    // The only rules are the remembered denials.
    expect((await runtime.rules.list({ tenant: 'acme' })).filter(({ then }) => then !== 'deny')).toEqual([])
    expect(await runtime.rules.list({ tenant: otherTenant })).toEqual([])
    expect(Object.keys(Object.prototype)).toEqual([])
    expect(({} as { cents?: unknown }).cents).toBeUndefined()
  })
})

/** Distinguishes scripts; deep and large values are shortened. */
function shape(asks: Script['asks']): string {
  try {
    return JSON.stringify(asks).slice(0, 4_000) + JSON.stringify(asks).length
  } catch {
    let depth = 0
    for (let at: unknown = (asks[0]?.[0]?.input as { a?: unknown })?.a; Array.isArray(at); at = at[0]) depth++
    return `depth ${depth}`
  }
}
