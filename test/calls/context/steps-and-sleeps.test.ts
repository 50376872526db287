// Steps and sleeps: recorded steps do not run again, once steps never repeat, and sleeps end at a recorded instant.

import { retry, StepError } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { argumentTool, rerunTool, simpleTool } from '../../kit/simple-tools.ts'

onEachStore('steps', (bench) => {
  test('DUR-1: a body receives the recorded form of a step result, even on the first run', async () => {
    const seen: unknown[] = []
    const forms = rerunTool('forms', { description: 'Looks at what steps give back' }, async (_, ctx) => {
      seen.push(await ctx.step('date', () => new Date(0)))
      seen.push(await ctx.step('nothing', () => {}))
      seen.push(await ctx.step('holes', () => ({ a: undefined, b: [undefined, 1], c: () => 1 })))
      seen.push(await ctx.step('input', Object.create({}), (input) => input))
      seen.push(await ctx.step('proto', () => JSON.parse('{"__proto__": {"x": 1}}')))
      return null
    })
    const runtime = await bench.open([forms])
    await runtime.session('s').run([{ id: 'a', name: 'forms' }])
    expect(seen.slice(0, 4)).toEqual(['1970-01-01T00:00:00.000Z', null, { b: [null, 1] }, {}])
    expect(Object.keys(seen[4] as object)).toEqual(['__proto__'])
    expect(({} as { x?: number }).x).toBeUndefined()
  })

  test('DUR-4: a once step runs once across all attempts, and its error is recorded for the call', async () => {
    let runs = 0
    const errors: string[] = []
    const charge = rerunTool('charge', { retry: { attempts: 3, base: '1ms' } }, async (_, ctx) => {
      const end = ctx.step('pay', () => Promise.reject(new Error(`declined ${++runs}`)), { once: true })
      errors.push(await end.then(String, (error: Error) => error.message))
      throw retry()
    })
    const runtime = await bench.open([charge])
    await runtime.session('s').run([{ id: '1', name: 'charge' }])
    expect(runs).toBe(1)
    expect(errors).toHaveLength(3)
    expect(new Set(errors).size).toBe(1)
  })

  test('DUR-4: blank, repeated and nested step ids are rejected before the function runs', async () => {
    const ran: string[] = []
    const codes: unknown[] = []
    const wrong = rerunTool('wrong', async (_, ctx) => {
      const caught = (error: { code: string }): void => void codes.push(error.code)
      await ctx.step('  ', () => ran.push('blank')).catch(caught)
      await ctx.step('x', () => ran.push('x'))
      await ctx.step('x', () => ran.push('x again')).catch(caught)
      await Promise.all([ctx.step('p', () => ran.push('p')), ctx.step('p', () => ran.push('p again')).catch(caught)])
      await ctx.step('outer', () => ctx.step('inner', () => ran.push('inner'))).catch(caught)
      await ctx.step('sleepy', () => ctx.sleep(1)).catch(caught)
      await ctx.step('waity', () => ctx.later()).catch(caught)
      return ran
    })
    const runtime = await bench.open([wrong])
    await runtime.session('s').run([{ id: 'a', name: 'wrong' }])
    expect(ran).toEqual(['x', 'p'])
    expect(codes).toEqual([
      'step_id_empty',
      'step_id_duplicate',
      'step_id_duplicate',
      'step_nested',
      'step_nested',
      'step_nested',
    ])
  })

  test('DUR-4: sibling calls with equal step ids do not collide, and steps run concurrently', async () => {
    const many = argumentTool(
      'many',
      z.object({ n: z.number() }),
      { description: 'Ten steps at once', onCrash: 'rerun' },
      ({ n }, ctx) =>
        Promise.all(Array.from({ length: 10 }, (_, index) => ctx.step(`s${index}`, () => n * 100 + index))),
    )
    const runtime = await bench.open([many])
    const calls = Array.from({ length: 20 }, (_, n) => ({ id: 'same', name: 'many', input: { n } }))
    const outcomes = await runtime.session('s').run(calls)
    for (const [n, outcome] of outcomes.entries()) {
      expect(outcome).toMatchObject({ value: Array.from({ length: 10 }, (_, index) => n * 100 + index) })
    }
  })

  test('DUR-4: a body catches the recorded error of a step; uncaught it is internal', async () => {
    let caught: unknown
    const flaky = argumentTool(
      'flaky',
      z.object({ catch: z.boolean() }),
      { description: 'Catches the error of a step', onCrash: 'rerun' },
      async (input, ctx) => {
        const failing = ctx.step('read', () => {
          throw Object.assign(new Error('no file /etc/secret'), { code: 'ENOENT' })
        })
        if (input.catch) await failing.catch((error: unknown) => (caught = error))
        else await failing
      },
    )
    const runtime = await bench.open([flaky])
    const [kept, lost] = await runtime.session('s').run([
      { id: 'a', name: 'flaky', input: { catch: true } },
      { id: 'b', name: 'flaky', input: { catch: false } },
    ])
    expect(kept?.status).toBe('success')
    expect(caught).toBeInstanceOf(StepError)
    expect(caught).toMatchObject({ code: 'ENOENT', step: 'read' })
    expect(lost).toMatchObject({
      failure: { class: 'internal', message: 'An internal error occurred while executing the tool' },
    })
  })

  test('DUR-4: a step retries as configured and fails at its timeout', async () => {
    const clock = manualClock()
    let tries = 0
    const patient = rerunTool('patient', { description: 'Retries inside a step' }, async (_, ctx) => {
      const value = await ctx.step('flaky', () => (++tries < 3 ? Promise.reject(new Error('busy')) : 'through'), {
        retry: { attempts: 3, delay: '1s' },
      })
      const code = await ctx
        .step('stuck', () => new Promise(() => {}), { timeout: '5s' })
        .catch((error: StepError) => error.code)
      return { value, code }
    })
    const runtime = await bench.open([patient], { clock })
    const run = runtime.session('s').run([{ id: 'a', name: 'patient' }])
    await clock.advance('2s')
    expect(tries).toBe(2)
    await clock.advance('1s')
    expect(tries).toBe(3)
    await clock.advance('5s')
    expect((await run)[0]).toMatchObject({ value: { value: 'through', code: 'step_timeout' } })
  })

  test('DUR-4: a stop tool is warned once about steps; waits and sleeps in it are rejected', async () => {
    const codes: string[] = []
    const stops = simpleTool('stops', { description: 'Must not run twice' }, async (_, ctx) => {
      await ctx.step('a', () => 1)
      const caught = (error: { code: string }): void => void codes.push(error.code)
      await ctx.sleep(1).catch(caught)
      await (await ctx.later()).value.catch(caught)
    })
    const runtime = await bench.open([stops])
    await runtime.session('s').run([{ id: 'a', name: 'stops' }])
    expect(codes).toEqual(['wait_needs_rerun', 'wait_needs_rerun'])
    await runtime.session('s').run([{ id: 'b', name: 'stops' }])
    expect(bench.logged.filter(({ level }) => level === 'warn')).toHaveLength(1)
  })

  test('DUR-5: a sleep of 40 days ends on time; ctx.uuid and ctx.random belong to the call', async () => {
    const clock = manualClock()
    const start = clock.now()
    const sleeper = rerunTool('sleeper', async (_, ctx) => {
      const before = await ctx.now()
      await ctx.sleep('40d')
      return { slept: (await ctx.now()) - before, uuids: [ctx.uuid(), ctx.uuid()], random: ctx.random() }
    })
    const runtime = await bench.open([sleeper], { clock })
    let done = false
    const run = runtime.session('s').run([{ id: 'a', name: 'sleeper' }])
    void run.then(() => (done = true))
    await clock.advance('39d')
    expect(done).toBe(false)
    await clock.advance('1d')
    const [outcome] = await run
    expect(outcome).toMatchObject({ value: { slept: 40 * 86_400_000 } })
    expect(clock.now() - start).toBe(40 * 86_400_000)
    const { uuids, random } = (outcome as unknown as { value: { uuids: string[]; random: number } }).value
    expect(new Set(uuids).size).toBe(2)
    expect(uuids[0]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(random).toBeGreaterThanOrEqual(0)
    expect(random).toBeLessThan(1)
  })
})
