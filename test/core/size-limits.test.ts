// The table of size limits: each limit is exceeded slightly and rejected with its code, without effect on other calls.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fc } from '../kit/seeded-fast-check.ts'
import { createRuntime, fail, result, type Sizes, StepError, tool, type Tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { utf8Bytes, fits, resolveSizes, sizeTable, truncateToBytes } from '../../src/core/size-limits.ts'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { argumentTool, rerunTool, simpleTool } from '../kit/simple-tools.ts'

const empty = z.object({})
const codeOf = (error: unknown): string => (error as { code: string }).code

describe('the size table', () => {
  test('VAL-8: every size has a default and is listed', () => {
    expect(resolveSizes()).toEqual({
      arguments: 1_048_576,
      result: 8_388_608,
      step: 8_388_608,
      event: 262_144,
      attachment: 67_108_864,
      trouble: 65_536,
      batch: 10_000,
      journal: 10_000,
      nesting: 32,
    })
    expect(resolveSizes({ batch: 3 })).toEqual({ ...resolveSizes(), batch: 3 })
    for (const { description } of Object.values(sizeTable)) expect(description).toMatch(/Above it /)
  })

  test('VAL-8: docs/reference/sizes.md matches the table (PAWL_WRITE=1 writes it)', () => {
    const page = join(import.meta.dirname, '../../docs/reference/sizes.md')
    const row = ([name, { most, unit, description }]: [
      string,
      { most: number; unit: string; description: string },
    ]): string => `| \`${name}\` | ${most.toLocaleString('en')} ${unit} | ${description} |`
    const text = [
      '# Sizes',
      '',
      'Size limits. Each can be set: `createRuntime({ sizes: { result: 1_048_576 } })`. Bytes are UTF-8 bytes of the recorded',
      'form. Exceeding a limit is an error with a code, never a crash, and other calls are not affected.',
      '',
      '| size | default | what is measured, and what happens above it |',
      '|---|---|---|',
      ...Object.entries(sizeTable).map(row),
      '',
    ].join('\n')
    if (process.env.PAWL_WRITE) writeFileSync(page, text)
    expect(readFileSync(page, 'utf8')).toBe(text)
  })

  test.for([0, -1, Number.NaN, Infinity, 1.5, '5' as unknown as number])(
    'VAL-8: createRuntime() rejects a limit of %s',
    async (most) => {
      const opening = createRuntime({ store: 'memory:', sizes: { step: most } })
      await expect(opening).rejects.toMatchObject({
        code: 'config_invalid',
        message: expect.stringContaining('sizes.step'),
      })
    },
  )

  test('VAL-8: createRuntime() rejects an unknown size', async () => {
    const opening = createRuntime({ store: 'memory:', sizes: { steps: 5 } as Partial<Sizes> })
    await expect(opening).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('`sizes` has no option `steps`; did you mean `step`'),
    })
  })

  test('VAL-8: size is counted in UTF-8 bytes, and truncation never splits a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.nat(120), (text, most) => {
        const bytes = Buffer.byteLength(text)
        expect(utf8Bytes(text)).toBe(bytes)
        expect(fits(text, most)).toBe(bytes <= most)
        const start = truncateToBytes(text, most)
        expect(text.startsWith(start)).toBe(true)
        expect(start.isWellFormed()).toBe(true)
        expect(Buffer.byteLength(start)).toBeLessThanOrEqual(most)
        const next = text.slice(start.length, start.length + 2)
        if (start !== text) expect(Buffer.byteLength(start + next)).toBeGreaterThan(most)
      }),
    )
  })
})

onEachStore('sizes', (bench) => {
  const one = async (body: Tool, sizes: Partial<Sizes>, input?: unknown) => {
    const runtime = await bench.open([body], { sizes })
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: body.name, input }])
    return outcome
  }

  test('VAL-8: arguments over the limit are rejected, as text or value, and the body does not run', async () => {
    let ran = 0
    const takes = argumentTool(
      'takes',
      z.object({ text: z.string() }),
      { description: 'Takes text' },
      ({ text }) => (ran++, text.length),
    )
    const runtime = await bench.open([takes], { sizes: { arguments: 100 } })
    const text = 'é'.repeat(45)
    const outcomes = await runtime.session('s').run([
      { id: 'value', name: 'takes', input: { text } },
      { id: 'text', name: 'takes', input: JSON.stringify({ text }) },
      { id: 'small', name: 'takes', input: { text: 'é'.repeat(44) } },
    ])
    for (const outcome of outcomes.slice(0, 2)) {
      expect(outcome).toMatchObject({
        status: 'failure',
        failure: {
          class: 'invalid_request',
          code: 'invalid_arguments',
          message: expect.stringContaining('101 bytes; at most 100'),
        },
      })
    }
    expect(outcomes[2]).toMatchObject({ status: 'success', value: 44 })
    expect(ran).toBe(1)
  })

  test('VAL-8: arguments enlarged by a schema default, hook or prepare() are rejected', async () => {
    let ran = 0
    const body = {
      description: 'Takes text',
      input: z.object({ text: z.string().default('x'.repeat(200)) }),
      execute: () => ran++,
    }
    const defaults = tool({ name: 'defaults', ...body })
    const prepares = tool({ name: 'prepares', ...body, prepare: () => ({ input: { text: 'x'.repeat(200) } }) })
    const hooked = tool({ name: 'hooked', ...body })
    const hooks = [
      {
        name: 'grow',
        before: ({ tool: name }: { tool: string }) =>
          name === 'hooked' ? { replace: { text: 'x'.repeat(200) } } : undefined,
      },
    ]
    const runtime = await bench.open([defaults, prepares, hooked], { sizes: { arguments: 100 }, hooks })
    const outcomes = await runtime.session('s').run([
      { id: 'a', name: 'defaults' },
      { id: 'b', name: 'prepares', input: { text: 'x' } },
      { id: 'c', name: 'hooked', input: { text: 'x' } },
    ])
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        failure: { code: 'invalid_arguments', message: expect.stringContaining('211 bytes; at most 100') },
      })
    }
    expect(ran).toBe(0)
  })

  test('VAL-8: meta over the arguments limit is rejected before anything is recorded', async () => {
    const fine = tool({ name: 'fine', description: 'Fine', input: empty, execute: () => 1 })
    const runtime = await bench.open([fine], { sizes: { arguments: 100 } })
    const run = runtime.session('s').run([{ id: 'a', name: 'fine', meta: 'x'.repeat(100) }])
    await expect(run).rejects.toMatchObject({ code: 'call_invalid' })
    expect(await runtime.session('s').run([{ id: 'a', name: 'fine' }])).toMatchObject([{ status: 'success' }])
  })

  test('VAL-1, VAL-8: a result over the limit fails with advice, and siblings keep their results', async () => {
    const big = tool({
      name: 'big',
      description: 'Returns much',
      input: z.object({ length: z.number() }),
      concurrency: 'parallel',
      execute: ({ length }) => 'é'.repeat(length),
    })
    const runtime = await bench.open([big], { sizes: { result: 1000 } })
    const outcomes = await runtime.session('s').run([
      { id: 'a', name: 'big', input: { length: 300 } },
      { id: 'b', name: 'big', input: { length: 500 } },
      { id: 'c', name: 'big', input: { length: 480 } },
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['success', 'failure', 'success'])
    expect(outcomes[1]).toMatchObject({
      attempts: 1,
      failure: {
        class: 'resource_limit',
        code: 'result_too_large',
        message: expect.stringMatching(
          /The tool ran.*1,0\d\d bytes; at most 1,000.*Ask for less.*ctx\.attachments\.create/s,
        ),
        retry: { when: 'never' },
      },
    })
    expect(bench.logged).toContainEqual(
      expect.objectContaining({ level: 'error', message: expect.stringContaining('ctx.attachments') }),
    )
    expect(await runtime.session('s').run([{ id: 'b', name: 'big', input: { length: 500 } }])).toMatchObject([
      { failure: { code: 'result_too_large' } },
    ])
  })

  const ways: Readonly<Record<string, Tool>> = {
    'raw beside the value': tool({
      name: 't',
      description: 'T',
      input: empty,
      execute: () => result(1, { raw: 'x'.repeat(2000) }),
    }),
    'an answer of prepare': tool({
      name: 't',
      description: 'T',
      input: empty,
      prepare: () => ({ answer: 'x'.repeat(2000) }),
      execute: () => 1,
    }),
  }
  test.for(Object.entries(ways))('VAL-8: %s counts toward the result limit', async ([, each]) => {
    expect(await one(each, { result: 1000 })).toMatchObject({ failure: { code: 'result_too_large' } })
  })

  test('VAL-8: an oversized failure keeps its code, with a truncated message', async () => {
    const wordy = tool({
      name: 'wordy',
      description: 'Fails at length',
      input: empty,
      execute() {
        throw fail('\u0001'.repeat(5000), { code: 'not_found', raw: 'x'.repeat(5000) })
      },
    })
    const outcome = await one(wordy, { result: 2000 })
    expect(outcome).toMatchObject({
      failure: { class: 'execution', code: 'not_found', message: expect.stringMatching(/\[…\]$/) },
    })
    expect(JSON.stringify((outcome as { failure: unknown }).failure).length).toBeLessThan(2000)
  })

  test('VAL-8: an answer over the result limit is rejected and the wait stays open', async () => {
    let key = ''
    const asks = tool({
      name: 'asks',
      description: 'Asks',
      input: empty,
      async execute(_, ctx) {
        const later = await ctx.later<string>()
        key = later.key
        return later
      },
    })
    const clock = manualClock()
    const runtime = await bench.open([asks], { clock, sizes: { result: 1000 } })
    const run = runtime.session('s').run([{ id: 'a', name: 'asks' }])
    await clock.advance(100)
    for (const answer of [
      { value: 'x'.repeat(1000) },
      { cancelled: 'x'.repeat(1000) },
      { failure: { code: 'x', message: 'x'.repeat(1000) } },
    ]) {
      expect(await runtime.resolve(key, answer)).toMatchObject({
        answer: 'invalid',
        problems: [expect.stringContaining('the limit is 1000')],
      })
    }
    expect(await runtime.resolve(key, { value: 'x'.repeat(900) })).toEqual({ answer: 'accepted' })
    await clock.advance(100)
    expect(await run).toMatchObject([{ status: 'success', value: 'x'.repeat(900) }])
  })

  test('VAL-8: a step value over the limit throws a StepError and is not retried', async () => {
    let ran = 0
    const steps = rerunTool('steps', { description: 'Takes large steps', retry: { attempts: 1 } }, async (_, ctx) => {
      const fits = await ctx.step('fits', () => 'x'.repeat(900))
      const caught = await ctx
        .step('large', () => (ran++, 'x'.repeat(2000)), { retry: { attempts: 3 } })
        .catch((error: unknown) => error)
      return {
        fits: fits.length,
        isStepError: caught instanceof StepError,
        code: codeOf(caught),
        message: (caught as Error).message,
      }
    })
    expect(await one(steps, { step: 1000 })).toMatchObject({
      value: {
        fits: 900,
        isStepError: true,
        code: 'step_too_large',
        message: expect.stringContaining('2002 bytes; the limit is 1000'),
      },
    })
    expect(ran).toBe(1)
  })

  test('VAL-8: a step input over the limit is rejected, and a long step error is truncated', async () => {
    let ran = 0
    const steps = rerunTool('steps', { description: 'Takes large steps' }, async (_, ctx) => {
      const input = await ctx.step('in', 'x'.repeat(2000), () => ran++).catch(codeOf)
      const thrown = await ctx
        .step('out', () => {
          throw Object.assign(new Error('y'.repeat(2000)), { code: 'E_LONG' })
        })
        .catch((error: unknown) => error)
      return { input, code: codeOf(thrown), length: (thrown as Error).message.length }
    })
    expect(await one(steps, { step: 1000 })).toMatchObject({
      value: { input: 'step_too_large', code: 'E_LONG', length: 125 },
    })
    expect(ran).toBe(0)
  })

  test('VAL-8: the payload of prepare() counts toward the step limit', async () => {
    const prepares = tool({
      name: 'prepares',
      description: 'Prepares much',
      input: empty,
      prepare: () => ({ payload: 'x'.repeat(2000) }),
      execute: () => 1,
    })
    expect(await one(prepares, { step: 1000 })).toMatchObject({
      failure: { class: 'internal', code: 'step_too_large' },
    })
  })

  test('VAL-8: an attachment over the limit is rejected when created, as bytes or text', async () => {
    const makes = rerunTool('makes', (_, ctx) => {
      const make = (data: Uint8Array | string): string => {
        try {
          return ctx.attachments.create(data, { mediaType: 'text/plain' }).ref.id.slice(0, 4)
        } catch (error) {
          return codeOf(error)
        }
      }
      return [new Uint8Array(10), new Uint8Array(11), 'é'.repeat(5), 'é'.repeat(6)].map(make)
    })
    const outcome = await one(makes, { attachment: 10 })
    expect(outcome).toMatchObject({ value: ['att_', 'attachment_too_large', 'att_', 'attachment_too_large'] })
  })

  test('VAL-8: a batch over the limit is rejected and not recorded, even when nested', async () => {
    const fine = tool({ name: 'fine', description: 'Fine', input: empty, concurrency: 'parallel', execute: () => 1 })
    const nests = tool({
      name: 'nests',
      description: 'Nests',
      input: empty,
      onCrash: 'rerun',
      execute: (_, ctx) => ctx.run(calls(4)).then(() => 'ran', codeOf),
    })
    const calls = (count: number) => Array.from({ length: count }, (_, n) => ({ id: `c${n}`, name: 'fine' }))
    const runtime = await bench.open([fine, nests], { sizes: { batch: 3 } })
    const session = runtime.session('s')
    await expect(session.run(calls(4))).rejects.toMatchObject({
      code: 'batch_too_long',
      message: expect.stringContaining('4 calls; the limit is 3'),
    })
    expect(await session.run(calls(3))).toHaveLength(3)
    expect(await session.run([{ id: 'n', name: 'nests' }])).toMatchObject([{ value: 'batch_too_long' }])
    const seen: string[] = []
    const stop = new AbortController()
    for await (const event of session.events({ signal: stop.signal })) {
      if (event.type === 'call.received') seen.push(event.body.tool)
      if (event.type === 'call.settled' && seen.includes('nests')) stop.abort()
    }
    expect(seen).toEqual(['fine', 'fine', 'fine', 'nests'])
  })

  test('VAL-8: a journal at its limit rejects the next entry of any kind before it runs', async () => {
    const kinds = ['step', 'now', 'sleep', 'later'] as const
    const ran: string[] = []
    const long = tool({
      name: 'long',
      description: 'Records much',
      input: z.object({ kind: z.enum(kinds) }),
      onCrash: 'rerun',
      concurrency: 'parallel',
      async execute({ kind }, ctx) {
        await ctx.step('one', () => 1)
        await ctx.now()
        const third = {
          step: () => ctx.step('three', () => ran.push('three')),
          now: () => ctx.now(),
          sleep: () => ctx.sleep(0),
          later: () => ctx.later({ name: 'x' }),
        }
        const code = await third[kind]().then(() => 'took it', codeOf)
        return [kind, code]
      },
    })
    const runtime = await bench.open([long], { sizes: { journal: 2 } })
    const outcomes = await runtime.session('s').run(kinds.map((kind) => ({ id: kind, name: 'long', input: { kind } })))
    expect(outcomes.map((outcome) => (outcome as { value: unknown }).value)).toEqual(
      kinds.map((kind) => [kind, 'journal_full']),
    )
    expect(ran).toEqual([])
  })

  test('VAL-8, CALL-10: live output and cancel reasons are truncated at the event limit', async () => {
    const clock = manualClock()
    const talks = simpleTool('talks', async (_, ctx) => {
      ctx.progress({ label: 'l'.repeat(50) })
      ctx.output('o'.repeat(50))
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      throw ctx.signal.reason
    })
    const runtime = await bench.open([talks], { clock, sizes: { event: 20 } })
    const session = runtime.session('s')
    const live: unknown[] = []
    const reading = (async () => {
      for await (const event of session.events({ live: true })) {
        if (event.live) live.push(event.body)
        if (event.type === 'call.settled') return
      }
    })()
    const call = session.call(talks, {}, { id: 'a' })
    await clock.advance(200)
    await call.cancel('r'.repeat(50))
    await clock.advance(200)
    expect(await call.outcome).toMatchObject({ status: 'cancelled', cancellation: { message: 'r'.repeat(20) } })
    await reading
    expect(live).toEqual([
      { label: 'l'.repeat(20) },
      { stream: 'stdout', text: `${'o'.repeat(20)}\n[output cut after 20 characters]` },
    ])
  })
})
