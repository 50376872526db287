// Inputs of wait keys and idempotency keys: each part of the identity must change the key. Also recovery of many calls.

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { newSalt, waitKey } from '../../src/engine/wait-key.ts'
import { mortal } from '../kit/stores/killable-store.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'
import { argumentTool, simpleTool } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

const empty = z.object({})

test('WAIT-3: the wait key depends on the host secret, tenant, call, name and salt', () => {
  const secret = Buffer.alloc(32, 1)
  const identity = { tenant: 't', call: 'c', name: 'n', salt: 's' }
  const keys = [
    waitKey(secret, identity),
    waitKey(Buffer.alloc(32, 2), identity),
    ...(['tenant', 'call', 'name', 'salt'] as const).map((part) => waitKey(secret, { ...identity, [part]: 'other' })),
    waitKey(secret, { ...identity, tenant: 'tc', call: '' }),
  ]
  expect(new Set(keys).size).toBe(keys.length)
  expect(waitKey(secret, identity)).toBe(keys[0])
  expect(newSalt()).not.toBe(newSalt())
})

test('WAIT-3: wait keys stay the same across versions', () => {
  const identity = { tenant: 't', call: 'c', name: 'n', salt: 's' }
  expect(waitKey(Buffer.alloc(32, 7), identity)).toBe('pawl_G2oSMlbSJlFh83MqVL3E5ypo1mhpHdE483Nr_CGnTng')
})

test('WAIT-3: the secret file next to a SQLite store is readable only by its owner', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-secret-'))
  const runtime = await createRuntime({ store: `sqlite:${join(dir, 'agent.db')}` })
  await runtime.close()
  expect(statSync(join(dir, 'agent.db-key')).mode & 0o777).toBe(0o600)
  rmSync(dir, { recursive: true })
})

test('TIME-5 CALL-6: the idempotency key depends on tenant, session, batch, id and occurrence', async () => {
  const seen: string[] = []
  const looks = simpleTool('looks', (_, ctx) => seen.push(ctx.idempotencyKey))
  const runtime = await createRuntime({ store: 'memory:', tools: [looks] })
  const ask = { id: 'a', name: 'looks' }
  await runtime.session('s', { tenant: 't' }).run([ask, ask], { batch: 'm' })
  await runtime.session('s', { tenant: 't' }).run([ask], { batch: 'n' })
  await runtime.session('s', { tenant: 't' }).run([{ ...ask, id: 'b' }], { batch: 'm' })
  await runtime.session('r', { tenant: 't' }).run([ask], { batch: 'm' })
  await runtime.session('s', { tenant: 'u' }).run([ask], { batch: 'm' })
  expect(new Set(seen).size).toBe(6)
  await runtime.close()
})

test('DUR-3: all calls are recovered, even if there are more than one claim returns', async () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const first = mortal(store)
  const define = (body: () => unknown) =>
    argumentTool('work', z.object({ n: z.number() }), { hints: { readOnly: true }, timeout: '1h' }, body)
  const calls = Array.from({ length: 150 }, (_, n) => ({ id: `c${n}`, name: 'work', input: { n } }))
  const limits = { perSession: 200 }
  const dying = await createRuntime({
    store: first.store,
    clock,
    logger: quiet,
    limits,
    tools: [define(() => new Promise(() => {}))],
  })
  void dying.session('s').run(calls)
  await clock.advance(100)
  first.die()
  const runtime = await createRuntime({ store, clock, logger: quiet, limits, tools: [define(() => 'done')] })
  await clock.advance('31s')
  const outcomes = await runtime.session('s').run(calls)
  expect(outcomes.every((outcome) => outcome.status === 'success' && outcome.attempts === 2)).toBe(true)
  await runtime.close()
})

test('DUR-13: calls of a closed worker are claimed without waiting for its lease', async () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  const define = (body: () => unknown) =>
    tool({ name: 'work', description: 'Works', input: empty, onCrash: 'rerun', execute: body })
  const one = await createRuntime({ store, clock, logger: quiet, tools: [define(() => new Promise(() => {}))] })
  ignoreResult(one.session('s').run([{ id: 'a', name: 'work' }]))
  await clock.advance(100)
  await one.close({ grace: 0 })
  const two = await createRuntime({ store, clock, logger: quiet, tools: [define(() => 'done')] })
  const [outcome] = await two.session('s').run([{ id: 'a', name: 'work' }])
  expect(outcome).toMatchObject({ value: 'done', attempts: 2 })
  await two.close()
})
