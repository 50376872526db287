// prepare, hooks, progress, and the results that a tool may return and declare.

import { type Hook, result, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { argumentTool, simpleTool } from '../../kit/simple-tools.ts'

const input = z.object({ cents: z.number() })

onEachStore('hooks', (bench) => {
  const seen: unknown[] = []
  let asked = 0
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input,
    execute: ({ cents }) => (seen.push(cents), `paid ${cents}`),
  })
  const ask = async (hooks: readonly Hook[]) => {
    seen.length = 0
    const runtime = await bench.open([pay], { hooks })
    const [outcome] = await runtime.session(`s${asked++}`).run([{ id: 'a', name: 'pay', input: { cents: 5 } }])
    await runtime.close()
    return outcome
  }
  const before = (name: string, verdict: unknown): Hook => ({ name, before: () => verdict as never })
  const abort = before('abort', { abort: 'stop everything' })
  const deny = before('deny', { deny: 'not today' })
  const answer = before('answer', { answer: 'from the cache' })
  const replace = before('replace', { replace: { cents: 3 } })

  test('CALL-8: the strongest verdict applies, in any order of registration', async () => {
    const orders = (hooks: Hook[]) => [hooks, hooks.toReversed()]
    for (const hooks of orders([replace, answer, deny, abort]))
      expect(await ask(hooks)).toMatchObject({ failure: { code: 'turn_aborted', source: 'hook' } })
    for (const hooks of orders([replace, answer, deny]))
      expect(await ask(hooks)).toMatchObject({ failure: { class: 'permission_denied', code: 'denied_by_hook' } })
    for (const hooks of orders([replace, answer])) expect(await ask(hooks)).toMatchObject({ value: 'from the cache' })
    expect(seen).toEqual([])
    expect(await ask([replace])).toMatchObject({ value: 'paid 3' })
    expect(await ask([])).toMatchObject({ value: 'paid 5' })
  })

  test('CALL-8: replaced arguments are validated and pass all hooks again; conflicts deny the call', async () => {
    expect(await ask([before('bad', { replace: { cents: 'x' } })])).toMatchObject({
      failure: { code: 'invalid_arguments' },
    })
    const limit: Hook = {
      name: 'limit',
      before: ({ input: given }) => ((given as { cents: number }).cents > 4 ? undefined : { deny: 'too little' }),
    }
    expect(await ask([limit, replace])).toMatchObject({
      failure: { code: 'denied_by_hook', message: expect.stringContaining('too little') },
    })
    const other: Hook = {
      name: 'other',
      before: ({ input: given }) => ((given as { cents: number }).cents === 3 ? { replace: { cents: 9 } } : undefined),
    }
    expect(await ask([replace, other])).toMatchObject({ failure: { code: 'denied_by_hook' } })
    expect(seen).toEqual([])
  })

  test('CALL-8 CALL-11: a broken before hook denies the call, a broken after hook is ignored', async () => {
    const broken: Hook = { name: 'broken', before: () => Promise.reject(new Error('secret sauce')) }
    const outcome = await ask([broken])
    expect(outcome).toMatchObject({ failure: { code: 'denied_by_hook' } })
    expect(JSON.stringify(outcome)).not.toContain('secret sauce')
    expect(await ask([before('odd', 'yes please')])).toMatchObject({ failure: { code: 'denied_by_hook' } })
    expect(await ask([{ name: 'after', after: () => Promise.reject(new Error('late')) }])).toMatchObject({
      value: 'paid 5',
    })
  })

  test('CALL-8: an after hook may replace the outcome or abort', async () => {
    expect(
      await ask([{ name: 'after', after: () => ({ replace: { status: 'success', value: 'redacted' } }) }]),
    ).toMatchObject({
      value: 'redacted',
    })
    expect(await ask([{ name: 'after', after: () => ({ abort: 'enough' }) }])).toMatchObject({
      failure: { code: 'turn_aborted', message: 'enough' },
    })
    expect(seen).toEqual([5])
  })

  test('CALL-7: prepare can replace arguments (validated again), pass a payload, or answer', async () => {
    let prepared = 0
    const define = (prepare: () => unknown) =>
      argumentTool('prepared', input, { prepare: prepare as never }, ({ cents }, ctx) => ({
        cents,
        payload: ctx.prepared,
      }))
    const run = async (prepare: () => unknown) => {
      const runtime = await bench.open([define(prepare)])
      const [outcome] = await runtime
        .session('s')
        .run([{ id: `p${prepared++}`, name: 'prepared', input: { cents: 1 } }])
      await runtime.close()
      return outcome
    }
    expect(await run(() => ({ input: { cents: 2 }, payload: { quote: 7 } }))).toMatchObject({
      value: { cents: 2, payload: { quote: 7 } },
    })
    expect(await run(() => undefined)).toMatchObject({ value: { cents: 1, payload: null } })
    expect(await run(() => ({ answer: 'done already' }))).toMatchObject({ value: 'done already', attempts: 0 })
    expect(await run(() => ({ input: { cents: 'no' } }))).toMatchObject({ failure: { code: 'invalid_arguments' } })
    expect(await run(() => Promise.reject(new Error('no quote')))).toMatchObject({ failure: { class: 'internal' } })
  })

  test('CALL-10: progress and output are live, coalesced and bounded, and not recorded', async () => {
    const clock = manualClock()
    const busy = simpleTool('busy', { description: 'Shows what it does' }, async (_, ctx) => {
      for (let current = 1; current <= 50; current++) ctx.progress({ current, total: 50 })
      ctx.output('line 1\n')
      ctx.output('line 2\n')
      ctx.output('x'.repeat(300_000))
      await new Promise<void>((resolve) => clock.timer(1_000, resolve))
      return 'done'
    })
    const runtime = await bench.open([busy], { clock })
    const live: { type: string; body: unknown }[] = []
    const watching = (async () => {
      for await (const event of runtime.session('s').events({ live: true })) {
        if (event.live) live.push(event)
        else if (event.type === 'call.settled') break
      }
    })()
    const run = runtime.session('s').run([{ id: 'a', name: 'busy' }])
    await clock.advance('2s')
    await run
    await watching
    const progress = live.filter(({ type }) => type === 'call.progress')
    expect(progress.length).toBeLessThanOrEqual(3)
    expect(progress.at(-1)?.body).toEqual({ current: 50, total: 50 })
    const output = live
      .filter(({ type }) => type === 'call.output')
      .map(({ body }) => (body as { text: string }).text)
      .join('')
    expect(output.startsWith('line 1\nline 2\nxxx')).toBe(true)
    expect(output.length).toBeLessThan(262_144 + 100)
    expect(output).toContain('[output cut after 262144 characters]')
    const kept: string[] = []
    for await (const event of runtime.session('s').events()) {
      kept.push(event.type)
      if (event.type === 'call.settled') break
    }
    expect(kept).toEqual(['call.received', 'call.started', 'call.settled'])
  })

  test('VAL-5 VAL-6 TOOL-7: raw is hidden from the model, control is passed on, output is checked', async () => {
    const tools = [
      simpleTool('rich', { concurrency: 'parallel' }, () =>
        result({ ok: true }, { raw: { log: 'long' }, control: { finish: 'bye' }, summary: 'Fine' }),
      ),
      simpleTool('right', { output: z.object({ n: z.number() }), concurrency: 'parallel' }, () => ({ n: 1 })),
      simpleTool('wrong', { output: z.object({ n: z.number() }), concurrency: 'parallel' }, () => ({ n: 'x' })),
    ]
    const runtime = await bench.open(tools)
    const [rich, right, wrong] = await runtime
      .session('s')
      .run(tools.map(({ name }) => ({ id: name, name, meta: { of: name } })))
    expect(rich).toMatchObject({
      value: { ok: true },
      raw: { log: 'long' },
      control: { finish: 'bye' },
      meta: { of: 'rich' },
    })
    expect(JSON.stringify(rich?.parts)).not.toContain('long')
    expect(right?.status).toBe('success')
    expect(wrong).toMatchObject({
      failure: {
        class: 'internal',
        code: 'invalid_output',
        message: 'An internal error occurred while executing the tool',
      },
    })
  })
})
