// Release of slots and keys after sleeps and cancels, and small regressions of call options.

import { createRuntime, tool } from 'pawl'
import { openaiTools } from 'pawl/openai'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { argumentTool, rerunTool, simpleTool } from '../../kit/simple-tools.ts'

const empty = z.object({})

onEachStore('slots and keys', (bench) => {
  test('SCHED-2 DUR-4: a body that ends two sleeps while another call has its key resumes', async () => {
    const clock = manualClock()
    let go = (): void => {}
    const both = rerunTool(
      'both',
      { concurrency: { key: () => 'k' } },
      async (_, ctx) => void (await Promise.all([ctx.sleep('1s'), ctx.sleep('1s')])),
    )
    const other = simpleTool(
      'other',
      {
        description: 'Has the key meanwhile',
        concurrency: { key: () => 'k' },
      },
      () => new Promise<void>((resolve) => (go = resolve)),
    )
    const runtime = await bench.open([both, other], { clock })
    const s = runtime.session('s')
    const a = s.call(both, {})
    await clock.advance(100)
    const b = s.call(other, {})
    await clock.advance('2s') // both sleeps are over, the key is taken
    go()
    await b.outcome
    expect(await after(a.outcome, clock)).toMatchObject({ value: { status: 'success' } })
  })

  test('SCHED-3: a body that ends two sleeps while all slots are taken resumes', async () => {
    const clock = manualClock()
    let go = (): void => {}
    const both = rerunTool('both', async (_, ctx) => void (await Promise.all([ctx.sleep('1s'), ctx.sleep('1s')])))
    const other = simpleTool('other', () => new Promise<void>((resolve) => (go = resolve)))
    const runtime = await bench.open([both, other], { clock, limits: { perSession: 1 } })
    const s = runtime.session('s')
    const a = s.call(both, {})
    await clock.advance(100)
    const b = s.call(other, {})
    await clock.advance('2s')
    go()
    await b.outcome
    expect(await after(a.outcome, clock)).toMatchObject({ value: { status: 'success' } })
  })

  test('SCHED-2: an abandoned sleep does not take the key after its call ended', async () => {
    const clock = manualClock()
    const race = rerunTool(
      'race',
      {
        description: 'Work with a timeout of its own',
        concurrency: { key: () => 'k' },
      },
      (_, ctx) => Promise.race([ctx.sleep('10s'), ctx.step('work', () => 'done')]),
    )
    const runtime = await bench.open([race], { clock })
    const s = runtime.session('s')
    expect(await after(s.run([{ id: 'a', name: 'race' }]), clock, 1_000, 1_000)).toMatchObject({
      value: [{ status: 'success' }],
    })
    await clock.advance('1m')
    expect(await after(s.run([{ id: 'b', name: 'race' }]), clock)).toMatchObject({ value: [{ status: 'success' }] })
  })

  test('SCHED-3 TIME-3: a cancelled call does not count against the rate limit', async () => {
    const clock = manualClock()
    const ran: string[] = []
    const rated = argumentTool(
      'rated',
      z.object({ n: z.string() }),
      { hints: { readOnly: true }, limits: { rate: { count: 1, per: '1m' } } },
      ({ n }) => void ran.push(n),
    )
    const runtime = await bench.open([rated], { clock })
    const s = runtime.session('s')
    const a = s.call(rated, { n: 'a' })
    await clock.advance('1s')
    const b = s.call(rated, { n: 'b' })
    await clock.advance('1s')
    await b.cancel()
    await clock.advance('59s') // the minute is over and b is cancelled
    const c = s.call(rated, { n: 'c' })
    await clock.advance('5s')
    const seen = [...ran]
    await after(Promise.all([a.outcome, b.outcome, c.outcome]), clock)
    expect(seen).toEqual(['a', 'c'])
  })

  test('TIME-3: the actor that cancels a parked call is recorded', async () => {
    const clock = manualClock()
    const park = rerunTool('park', (_, ctx) => ctx.later({ deadline: '1d' }))
    const runtime = await bench.open([park], { clock })
    const s = runtime.session('s')
    const call = s.call(park, {})
    await clock.advance('1s')
    await call.cancel('changed my mind', 'user:ada')
    await clock.advance('1s')
    expect((await call.outcome).status).toBe('cancelled')
    const events: unknown[] = []
    for await (const event of s.events()) {
      events.push(event)
      if (event.type === 'call.settled') break
    }
    expect(JSON.stringify(events)).toContain('user:ada')
  })

  test('CALL-9 CALL-6: ctx.batch is the batch of the call, even with an idempotency key', async () => {
    const where = tool({ name: 'where', description: 'Where', input: empty, execute: (_, ctx) => ctx.batch })
    const runtime = await bench.open([where])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'where', idempotencyKey: 'k' }], { batch: 'msg_7' })
    expect(end).toMatchObject({ value: 'msg_7' })
  })

  test("CALL-10 CALL-6: progress events carry the model's call id", async () => {
    const clock = manualClock()
    const work = simpleTool('work', (_, ctx) => ctx.progress({ current: 1 }))
    const runtime = await bench.open([work], { clock })
    const s = runtime.session('s')
    const seen: unknown[] = []
    const stop = new AbortController()
    const reading = (async () => {
      for await (const event of s.events({ live: true, signal: stop.signal })) if (event.live) seen.push(event.callId)
    })()
    await clock.advance(0)
    await s.run([{ id: 'call_1', name: 'work', idempotencyKey: 'secret-key' }], { batch: 'b' })
    await clock.advance('1s')
    stop.abort()
    await reading
    expect(seen).toEqual(['call_1'])
  })

  test('CALL-4: a validator that returns a thenable is awaited', async () => {
    const schema = {
      '~standard': {
        version: 1,
        vendor: 'own',
        // oxlint-disable-next-line unicorn/no-thenable
        validate: () => ({
          then: (resolve: (r: unknown) => void) => resolve({ issues: [{ message: 'never valid' }] }),
        }),
        jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
      },
    }
    const seen: unknown[] = []
    const odd = tool({
      name: 'odd',
      description: 'Odd',
      input: schema as never,
      execute: (input) => void seen.push(input),
    })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'odd', input: { x: 1 } }])
    expect([end?.status, seen]).toEqual(['failure', []])
  })

  test('CALL-10: truncated output contains a notice', async () => {
    const clock = manualClock()
    const loud = simpleTool('loud', (_, ctx) => {
      ctx.output('x'.repeat(262_144))
      ctx.output('the end, with the error in it')
    })
    const runtime = await bench.open([loud], { clock })
    const s = runtime.session('s')
    let text = ''
    const stop = new AbortController()
    const reading = (async () => {
      for await (const event of s.events({ live: true, signal: stop.signal }))
        if (event.live) text += (event.body as { text: string }).text
    })()
    await clock.advance(0)
    await s.run([{ id: 'a', name: 'loud' }])
    await clock.advance('1s')
    stop.abort()
    await reading
    expect(text.slice(262_144)).toContain('cut')
  })

  test('TIME-1: unknown timeout options and a timeout of zero are rejected', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 1 })
    const runtime = await bench.open([plain])
    const s = runtime.session('s')
    const codes: unknown[] = []
    for (const timeout of [{ attmpt: '1s' } as never, 0, { total: 0 }]) {
      const end = await s
        .run([{ id: `a${codes.length}`, name: 'plain', timeout }])
        .catch((error: { code?: string }) => error.code)
      codes.push(typeof end === 'string' ? 'refused' : 'accepted')
    }
    expect(codes).toEqual(['refused', 'refused', 'refused'])
  })
})

test('SCHED-3: unknown limits are rejected at configuration', async () => {
  const open = (limits: object) =>
    createRuntime({ store: 'memory:', limits, logger: quiet }).then(
      async (runtime) => (await runtime.close(), 'accepted'),
      (error: { code: string }) => error.code,
    )
  expect([await open({ perWorkr: 1 }), await open({ perSesion: 4 })]).toEqual(['config_invalid', 'config_invalid'])
})

test('TOOL-8: a long user-defined pattern next to a format reaches the model', () => {
  const pattern = `^(?:${Array.from({ length: 12 }, (_, i) => `team${i}`).join('|')})@example\\.com$`
  const input = { type: 'object', properties: { to: { type: 'string', format: 'email', pattern } } } as const
  const own = tool({ name: 'own', description: 'Own', input: input as never, execute: () => 1 })
  const [shape] = openaiTools([own], { api: 'chat' })
  expect(JSON.stringify(shape)).toContain('team11')
})
