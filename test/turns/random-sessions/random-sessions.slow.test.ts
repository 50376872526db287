// Random sessions with faults of all kinds. A broken invariant names its seed: PAWL_SEED=<n> runs that seed and prints
// its history; `npm run test:long` runs ten times as many. Each request is built by two provider packages and checked
// against the rules of their servers. The last tests plant defects and expect each to be detected.

import type { ModelMessage } from 'pawl'
import { describe, expect, test } from 'vitest'
import { freshMemory } from '../../kit/stores/fresh-store.ts'
import type { Change, DocumentWrite } from '../../../src/store/store.ts'
import { long } from '../../kit/long-run.ts'
import { type Ground, lived, type Plant } from './random-session.ts'
import { problemsOnTheWire } from './provider-wire-rules.ts'
import { sqliteGround } from '../../kit/crash-matrix.ts'

const only = process.env.PAWL_SEED === undefined ? null : Number(process.env.PAWL_SEED)
const times = long ? 10 : 1
const minute = 60_000

const sqlite = (): Ground => {
  const { clock, store, gone } = sqliteGround()
  return { clock, store, close: gone }
}

interface Total {
  readonly wrong: string[]
  worlds: number
  sessions: number
  asks: number
  judged: number
  tooLong: number
  deaths: number
}

/** Runs worlds until the given number of sessions has been reached. */
async function wrongIn(atLeast: number, fresh: () => Ground): Promise<Total> {
  const total: Total = { wrong: [], worlds: 0, sessions: 0, asks: 0, judged: 0, tooLong: 0, deaths: 0 }
  while (total.sessions < atLeast) {
    const seed = ++total.worlds
    const { wrong, sessions, asks, judged, tooLong, deaths } = await lived(seed, fresh())
    total.wrong.push(...wrong.map((each) => `seed ${seed}: ${each}`))
    total.sessions += sessions
    total.asks += asks
    total.judged += judged
    total.tooLong += tooLong
    total.deaths += deaths
  }
  return total
}

/** A store that changes what it is given to write. */
const writing =
  (changed: (change: Change) => Change): Plant =>
  (store) => ({
    ...store,
    commit: (change) => store.commit(changed(change)),
    write: (change, heard, how) => store.write(changed(change), heard, how),
  })
const without = (change: Change, leftOut: (row: DocumentWrite) => boolean): Change =>
  change.documents ? { ...change, documents: change.documents.filter((row) => !leftOut(row)) } : change

const plants: Readonly<Record<string, Plant>> = {
  'a message that was read stays unread': writing((change) =>
    without(change, ({ of, value }) => of === 'message-sent' && value === null),
  ),
  'a result is reported again': writing((change) =>
    without(change, ({ of, value }) => of === 'result-owed' && value === null),
  ),
  'a pending result is forgotten': writing((change) =>
    without(change, ({ of, value }) => of === 'result-owed' && value !== null),
  ),
  'tool results are lost': writing((change) =>
    without(change, ({ of, value }) => of === 'message' && value?.includes('"role":"tool"') === true),
  ),
}

if (only === null)
  describe('random sessions', () => {
    test(
      'SESS-1 SESS-2 SESS-3 SESS-4 SESS-10 POL-7: 2,000 on memory keep all invariants',
      { timeout: 6 * minute * times },
      async () => {
        const { wrong, asks, judged, tooLong, deaths } = await wrongIn(2_000 * times, freshMemory)
        expect(wrong).toEqual([])
        expect(asks).toBeGreaterThan(4_000 * times)
        expect(judged).toBe(asks) // every request, for both providers
        expect(tooLong).toBeGreaterThan(200 * times)
        expect(deaths).toBeGreaterThan(200 * times)
      },
    )
    test('SESS-1 SESS-3 SESS-4: 80 on sqlite keep all invariants', { timeout: 2 * minute * times }, async () => {
      const { wrong } = await wrongIn(80 * times, sqlite)
      expect(wrong).toEqual([])
    })
    test.for(Object.keys(plants))('a planted defect is detected: %s', { timeout: minute }, async (plant) => {
      let seen: readonly string[] = []
      for (let seed = 1; seed <= 300 && seen.length === 0; seed++)
        seen = (await lived(seed, freshMemory(), plants[plant])).wrong
      expect(seen).not.toEqual([])
    })
    test('SESS-3: a provider error for a tool name from Object.prototype is detected', async () => {
      const messages: ModelMessage[] = [
        { role: 'user', parts: [{ type: 'text', text: 'Go' }] },
        { role: 'assistant', parts: [{ type: 'call', id: 'c', name: 'constructor', input: '{}' }] },
        { role: 'tool', results: [{ callId: 'c', name: 'constructor', status: 'success', parts: [] }] },
      ]
      const request = {
        instructions: null,
        messages,
        tools: [],
        toolChoice: 'auto' as const,
        output: null,
        parallel: true,
        settings: {},
      }
      expect(await problemsOnTheWire(request)).toContainEqual(
        expect.stringMatching(/^anthropic.*: a call of 1 has the name/),
      )
    })
    test('the same seed gives the same history', async () => {
      for (const seed of [1, 2, 3])
        expect((await lived(seed, freshMemory())).trace).toEqual((await lived(seed, freshMemory())).trace)
    })
  })
else
  test('the history of one seed keeps all invariants', { timeout: minute }, async () => {
    const { trace, wrong } = await lived(only, freshMemory())
    console.log(trace.join('\n'))
    expect(wrong).toEqual([])
  })
