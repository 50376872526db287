import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { after, freshDir, quiet } from '../../kit/stores/fresh-store.ts'
import { ignoreResult, closeDuringCall } from '../../kit/interrupted-calls.ts'
import { rerunTool } from '../../kit/simple-tools.ts'

const input = { type: 'object' } as const

describe('extreme deadlines', () => {
  test('WAIT-1: a wait with deadline Number.MAX_SAFE_INTEGER does not make the store unusable', async () => {
    const clock = manualClock()
    const store = `sqlite:${join(freshDir(), 'a.db')}`
    const t = tool({
      name: 't',
      description: 'd',
      input,
      execute: async (_, ctx) => ctx.later({ deadline: Number.MAX_SAFE_INTEGER }),
    })
    const one = await createRuntime({ store, clock, tools: [t], logger: quiet })
    ignoreResult(one.session('s').run([{ id: '1', name: 't' }]))
    await clock.advance(100)
    const closing = one.close({ grace: 0 }).catch(() => {})
    await clock.advance(100)
    await closing
    const two = await createRuntime({ store, clock, tools: [t], logger: quiet }).catch(
      (error: unknown) => error as Error,
    )
    expect(two).not.toBeInstanceOf(Error)
  })
})

describe('names with lone surrogates', () => {
  test('DUR-1: a recorded step whose id ends in half an emoji does not run again', async () => {
    const clock = manualClock()
    const store = `sqlite:${join(freshDir(), 'a.db')}`
    let paid = 0
    const t = rerunTool('t', async (_, ctx) => {
      await ctx.step('pay 😀'.slice(0, 5), () => ++paid)
      if (ctx.attempt === 1) await new Promise(() => {})
      return 'done'
    })
    const one = await createRuntime({ store, clock, tools: [t], logger: quiet })
    await closeDuringCall(one, clock, { id: '1', name: 't' })
    const two = await createRuntime({ store, clock, tools: [t], logger: quiet })
    await after(two.session('s').run([{ id: '1', name: 't' }]), clock)
    expect(paid).toBeLessThanOrEqual(1)
  })
  test('WAIT-1: the same wait name gives the same key after a restart, whatever the name', async () => {
    const clock = manualClock()
    const store = `sqlite:${join(freshDir(), 'a.db')}`
    const keys: string[] = []
    const t = rerunTool('t', async (_, ctx) => {
      const later = await ctx.later<string>({ name: '😀'.slice(0, 1) }).catch(() => null)
      if (!later) return 'refused'
      keys.push(later.key)
      return later.value
    })
    const one = await createRuntime({ store, clock, tools: [t], logger: quiet })
    await closeDuringCall(one, clock, { id: '1', name: 't' })
    const two = await createRuntime({ store, clock, tools: [t], logger: quiet })
    await clock.advance(100)
    expect(new Set(keys).size).toBeLessThanOrEqual(1)
    const end = two.close({ grace: 0 })
    await clock.advance(100)
    await end
  })
})

describe('key file', () => {
  test('WAIT-3: an empty key file left by a crash does not block a new store', async () => {
    const file = join(freshDir(), 'a.db')
    writeFileSync(`${file}-key`, '', { mode: 0o600 })
    const runtime = await createRuntime({ store: `sqlite:${file}`, logger: quiet }).catch(
      (error: unknown) => error as Error,
    )
    expect(runtime).not.toBeInstanceOf(Error)
  })
})

test('DUR-13: after close() only the database and its key file remain', async () => {
  const dir = freshDir()
  const runtime = await createRuntime({ store: `sqlite:${join(dir, 'a.db')}`, logger: quiet })
  await runtime.session('s').run([{ id: '1', name: 'x' }])
  await runtime.close()
  expect(readdirSync(dir).toSorted()).toEqual(['a.db', 'a.db-key'])
  expect(existsSync(join(dir, 'a.db'))).toBe(true)
})
