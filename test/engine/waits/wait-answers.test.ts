// Waits: a secret key, and the first answer wins.

import { readFileSync, readdirSync } from 'node:fs'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, WaitError } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { argumentTool, rerunTool } from '../../kit/simple-tools.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'

onEachStore('waits', (bench) => {
  const keys: string[] = []
  const parks = rerunTool('parks', async (_, ctx) => {
    const later = await ctx.later<unknown>()
    keys.push(later.key)
    return later
  })
  const caught: unknown[] = []
  const inside = argumentTool('inside', z.object({ catch: z.boolean() }), { onCrash: 'rerun' }, async (input, ctx) => {
    const later = await ctx.later<unknown>({ deadline: '2h' })
    keys.push(later.key)
    if (!input.catch) return { got: await later.value }
    return { got: await later.value.catch((error: unknown) => void caught.push(error)) }
  })
  const nextKey = async (): Promise<string> => {
    while (keys.length === 0) await new Promise((resolve) => setImmediate(resolve))
    return keys.shift() as string
  }

  test.for([[false], [0], [''], [null], [{ $pawl: 'attachment', ref: { id: 'x', mediaType: 'y', bytes: 1 } }]])(
    'WAIT-2 VAL-1: %j is a valid answer, parked or inside the body',
    async ([value]) => {
      const runtime = await bench.open([parks, inside])
      const parked = runtime.session('s').run([{ id: 'a', name: 'parks' }])
      expect(await runtime.resolve(await nextKey(), { value })).toEqual({ answer: 'accepted' })
      expect((await parked)[0]).toMatchObject({ status: 'success', value })
      const waiting = runtime.session('s').run([{ id: 'b', name: 'inside', input: { catch: false } }])
      await runtime.resolve(await nextKey(), { value })
      expect((await waiting)[0]).toMatchObject({ value: { got: value } })
    },
  )

  test.each([{ value: undefined }, { failure: undefined }, { cancelled: undefined }])(
    'WAIT-2: %o is refused, and the wait stays open',
    async (answer) => {
      const runtime = await bench.open([parks])
      const run = runtime.session('s').run([{ id: 'a', name: 'parks' }])
      const key = await nextKey()
      expect(await runtime.resolve(key, answer as never)).toEqual({
        answer: 'invalid',
        problems: [expect.stringMatching(/ is undefined, which JSON cannot hold\. .*the wait is still open/)],
      })
      expect(await runtime.resolve(key, { value: 1 })).toEqual({ answer: 'accepted' })
      expect((await run)[0]).toMatchObject({ value: 1 })
    },
  )

  test('WAIT-2: one of 100 concurrent answers is accepted, and all report the same result', async () => {
    const runtime = await bench.open([parks])
    const run = runtime.session('s').run([{ id: 'a', name: 'parks' }])
    const key = await nextKey()
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => runtime.resolve(key, { value: n })))
    expect(answers.filter(({ answer }) => answer === 'accepted')).toHaveLength(1)
    const [outcome] = await run
    const terminal = { value: (outcome as unknown as { value: number }).value }
    expect(answers.filter(({ answer }) => answer === 'already_resolved')).toEqual(
      Array.from({ length: 99 }, () => ({ answer: 'already_resolved', terminal })),
    )
  })

  test('WAIT-2: failed and cancelled waits keep their message and are not internal errors', async () => {
    const runtime = await bench.open([parks, inside])
    const session = runtime.session('s')
    for (const [name, input] of [
      ['parks', {}],
      ['inside', { catch: false }],
    ] as const) {
      const failed = session.run([{ id: `${name} failed`, name, input }])
      await runtime.resolve(await nextKey(), { failure: { code: 'declined', message: 'The card was declined' } })
      expect((await failed)[0]).toMatchObject({
        failure: { class: 'external', code: 'declined', message: 'The card was declined' },
      })
      const cancelled = session.run([{ id: `${name} cancelled`, name, input }])
      await runtime.resolve(await nextKey(), { cancelled: 'not needed' })
      expect((await cancelled)[0]).toMatchObject({ status: 'cancelled', cancellation: { message: 'not needed' } })
    }
    const careful = session.run([{ id: 'careful', name: 'inside', input: { catch: true } }])
    await runtime.resolve(await nextKey(), { failure: { code: 'declined', message: 'no' } })
    expect((await careful)[0]?.status).toBe('success')
    expect(caught.pop()).toSatisfy((error) => error instanceof WaitError && error.code === 'declined')
  })

  test('WAIT-1: a wait without an answer times out at its deadline, and later answers are rejected', async () => {
    const clock = manualClock()
    const runtime = await bench.open([parks, inside], { clock })
    const run = runtime.session('s').run([
      { id: 'a', name: 'parks' },
      { id: 'b', name: 'inside', input: { catch: false } },
    ])
    await clock.advance(0)
    const [key] = keys.splice(0)
    let settled = 0
    void run.then((outcomes) => (settled = outcomes.length))
    await clock.advance('2h')
    await clock.advance('6d')
    expect(settled).toBe(0)
    await clock.advance('1d')
    const outcomes = await run
    expect(outcomes.map((outcome) => outcome.status === 'failure' && outcome.failure.code)).toEqual([
      'wait_timeout',
      'wait_timeout',
    ])
    expect(await runtime.resolve(key as string, { value: 1 })).toEqual({
      answer: 'already_resolved',
      terminal: { timeout: true },
    })
  })

  test('WAIT-1: equal names share a wait and key, other names do not, blank names are rejected', async () => {
    const seen: string[][] = []
    const named = rerunTool('named', async (_, ctx) => {
      const [a, b, again] = await Promise.all([
        ctx.later<number>({ name: 'a' }),
        ctx.later<number>({ name: 'b' }),
        ctx.later<number>({ name: 'a' }),
      ])
      const blank = await ctx.later({ name: ' ' }).catch((error: { code: string }) => error.code)
      seen.push([a.key, b.key, again.key, blank as string])
      return [await b.value, await a.value, await again.value]
    })
    const runtime = await bench.open([named])
    const run = runtime.session('s').run([{ id: 'x', name: 'named' }])
    while (seen.length === 0) await new Promise((resolve) => setImmediate(resolve))
    const [a, b, again, blank] = seen[0] as [string, string, string, string]
    expect(again).toBe(a)
    expect(b).not.toBe(a)
    expect(blank).toBe('wait_name_empty')
    await runtime.resolve(a, { value: 1 })
    await runtime.resolve(b, { value: 2 })
    expect((await run)[0]).toMatchObject({ value: [2, 1, 1] })
  })

  test('WAIT-2: a malformed answer is rejected and leaves the wait open', async () => {
    const runtime = await bench.open([parks])
    const run = runtime.session('s').run([{ id: 'a', name: 'parks' }])
    const key = await nextKey()
    for (const bad of [
      undefined,
      null,
      {},
      'yes',
      { value: 1, cancelled: 'x' },
      { failure: 'x' },
      { cancelled: 1 },
      { timeout: true },
    ]) {
      expect(await runtime.resolve(key, bad as never)).toMatchObject({
        answer: 'invalid',
        problems: [expect.stringContaining('still open')],
      })
    }
    expect(await runtime.resolve(key, { value: Number.NaN })).toMatchObject({ answer: 'invalid' })
    expect(await runtime.resolve(key, { value: 1 })).toEqual({ answer: 'accepted' })
    await run
  })

  test('WAIT-3: wrong, malformed and unknown keys are indistinguishable', async () => {
    const runtime = await bench.open([parks])
    const run = runtime.session('s').run([{ id: 'a', name: 'parks' }])
    const key = await nextKey()
    const almost = key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A')
    for (const wrong of [
      almost,
      key.toLowerCase(),
      `${key} `,
      '',
      'pawl_',
      `pawl_${'A'.repeat(43)}`,
      7 as never,
      null as never,
    ]) {
      expect(await runtime.resolve(wrong, { value: 1 })).toEqual({ answer: 'unknown_or_revoked' })
    }
    expect(key).toMatch(/^pawl_[A-Za-z0-9_-]{43}$/) // 43 characters of base64url: 256 bits
    await runtime.resolve(key, { value: 1 })
    await run
  })
})

test('WAIT-3: the store files do not contain the key; another secret is rejected', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-keys-'))
  let key = ''
  const parks = rerunTool('parks', async (_, ctx) => {
    const later = await ctx.later()
    key = later.key
    return later
  })
  const store = `sqlite:${join(dir, 'agent.db')}`
  const runtime = await createRuntime({ store, tools: [parks] })
  ignoreResult(runtime.session('s').run([{ id: 'a', name: 'parks' }]))
  for await (const event of runtime.events()) if (event.type === 'call.parked') break
  const secretPart = Buffer.from(key.slice('pawl_'.length))
  const files = readdirSync(dir)
  expect(files.length).toBeGreaterThan(2)
  for (const file of files) expect(readFileSync(join(dir, file)).includes(secretPart)).toBe(false)
  await runtime.close()
  await expect(createRuntime({ store, keys: { secret: 'x'.repeat(32) } })).rejects.toMatchObject({
    code: 'keys_mismatch',
  })
  rmSync(dir, { recursive: true })
})
