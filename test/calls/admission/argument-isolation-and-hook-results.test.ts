// Isolation of arguments between hooks, prepare and attempts; validation of hook results, outcomes and requests.

import { fail, type Logger, result, retry, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { argumentTool, readOnlyTool, simpleTool } from '../../kit/simple-tools.ts'

const empty = z.object({})

onEachStore('arguments and hook results', (bench) => {
  test('CALL-1 CALL-4: in-place changes by prepare do not reach the body unvalidated', async () => {
    const seen: unknown[] = []
    const pay = argumentTool(
      'pay',
      z.object({ cents: z.number().int().positive() }),
      {
        prepare: (input) => {
          input.cents = -1
          return {}
        },
      },
      (input) => void seen.push(input.cents),
    )
    const runtime = await bench.open([pay])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'pay', input: { cents: 5 } }])
    expect([end?.status, seen]).not.toEqual(['success', [-1]])
  })

  test('CALL-7 DUR-1: every attempt gets the recorded arguments, unmutated', async () => {
    const clock = manualClock()
    const seen: unknown[] = []
    const list = argumentTool(
      'list',
      z.object({ items: z.array(z.string()) }),
      { description: 'Takes its input apart' },
      ({ items }) => {
        seen.push([...items])
        items.pop()
        if (seen.length < 2) throw retry({ after: 0 })
      },
    )
    const runtime = await bench.open([list], { clock })
    await after(runtime.session('s').run([{ id: 'a', name: 'list', input: { items: ['x', 'y'] } }]), clock)
    expect(seen).toEqual([
      ['x', 'y'],
      ['x', 'y'],
    ])
  })

  test('CALL-7: every attempt gets the recorded payload of prepare', async () => {
    const clock = manualClock()
    const seen: unknown[] = []
    const list = simpleTool(
      'list',
      {
        description: 'Uses up its payload',
        prepare: () => ({ payload: { left: 2 } }),
      },
      (_, ctx) => {
        const prepared = ctx.prepared as { left: number }
        seen.push(prepared.left)
        prepared.left--
        if (seen.length < 2) throw retry({ after: 0 })
      },
    )
    const runtime = await bench.open([list], { clock })
    await after(runtime.session('s').run([{ id: 'a', name: 'list' }]), clock)
    expect(seen).toEqual([2, 2])
  })

  test('CALL-4: a key function cannot change the input of the body', async () => {
    const seen: unknown[] = []
    const keyed = argumentTool(
      'keyed',
      z.object({ id: z.string() }),
      { concurrency: { key: (input) => (input.id = input.id.toLowerCase()) } },
      ({ id }) => void seen.push(id),
    )
    const runtime = await bench.open([keyed])
    await runtime.session('s').run([{ id: 'a', name: 'keyed', input: { id: 'ABC' } }])
    expect(seen).toEqual(['ABC'])
  })

  test('CALL-8: a hook cannot change the input of other hooks and the body in place', async () => {
    const seen: unknown[] = []
    const plain = argumentTool('plain', z.object({ path: z.string() }), {}, ({ path }) => void seen.push(path))
    const hooks = [
      { name: 'a', before: ({ input }: { input: unknown }) => void ((input as { path: string }).path = '/safe') },
      {
        name: 'b',
        before: ({ input }: { input: unknown }) =>
          (input as { path: string }).path === '/etc' ? { deny: 'no' } : undefined,
      },
    ]
    const runtime = await bench.open([plain], { hooks })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain', input: { path: '/etc' } }])
    expect([end?.status, seen]).toEqual(['failure', []])
  })

  test('CALL-8: an abort takes precedence over an answer of undefined', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 1 })
    const hooks = [
      { name: 'cache', before: () => ({ answer: undefined }) },
      { name: 'guard', before: () => ({ abort: 'stop everything' }) },
    ]
    const runtime = await bench.open([plain], { hooks })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain' }])
    expect(end).toMatchObject({ failure: { code: 'turn_aborted' } })
  })

  test('CALL-8: a hook that answers with undefined answers with null', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 1 })
    const runtime = await bench.open([plain], { hooks: [{ name: 'cache', before: () => ({ answer: undefined }) }] })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain' }])
    expect(end).toMatchObject({ status: 'success', value: null })
  })

  test('CALL-1: prepare that answers with undefined skips the body', async () => {
    let ran = 0
    const plain = simpleTool('plain', { prepare: () => ({ answer: undefined }) }, () => void ran++)
    const runtime = await bench.open([plain])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain' }])
    expect([end?.status, ran]).toEqual(['success', 0])
  })

  test('CALL-8: replacements of different fields by two hooks both apply, or the call is denied', async () => {
    const seen: unknown[] = []
    const plain = argumentTool(
      'plain',
      z.object({ text: z.string(), locale: z.string().optional() }),
      {},
      (input) => void seen.push(input.text),
    )
    const hooks = [
      {
        name: 'locale',
        before: ({ input }: { input: unknown }) => ({ replace: { ...(input as object), locale: 'de' } }),
      },
      {
        name: 'redact',
        before: ({ input }: { input: unknown }) => ({ replace: { ...(input as object), text: '***' } }),
      },
    ]
    const runtime = await bench.open([plain], { hooks })
    await runtime.session('s').run([{ id: 'a', name: 'plain', input: { text: 'secret' } }])
    expect(seen).not.toContain('secret')
  })

  test('CALL-8: a single hook that replaces its own replacement does not cause a conflict', async () => {
    let n = 0
    const plain = argumentTool('plain', z.object({ n: z.number() }), {}, ({ n: got }) => got)
    const runtime = await bench.open([plain], { hooks: [{ name: 'stamp', before: () => ({ replace: { n: ++n } }) }] })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain', input: { n: 0 } }])
    expect(end?.status).toBe('success')
  })

  test('CALL-2 CALL-8: an after hook that returns no valid outcome is ignored', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 'done' })
    const runtime = await bench.open([plain], {
      hooks: [{ name: 'shape', after: () => ({ replace: { redacted: true } as never }) }],
    })
    const end = await runtime
      .session('s')
      .run([{ id: 'a', name: 'plain' }])
      .catch((error: unknown) => error)
    expect(end).toMatchObject([{ status: 'success', value: 'done' }])
  })

  test('TOOL-7: an answer from prepare is checked against the output schema', async () => {
    const plain = simpleTool('plain', { output: z.number(), prepare: () => ({ answer: 'not a number' }) }, () => 1)
    const runtime = await bench.open([plain])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain' }])
    expect(end).toMatchObject({ status: 'failure', failure: { code: 'invalid_output' } })
  })

  test('CALL-1 CALL-8: an answer from prepare passes through the after hooks', async () => {
    const plain = tool({
      name: 'plain',
      description: 'Plain',
      input: empty,
      prepare: () => ({ answer: 'secret' }),
      execute: () => 1,
    })
    const runtime = await bench.open([plain], {
      hooks: [{ name: 'redact', after: () => ({ replace: { status: 'success', value: '***' } }) }],
    })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain' }])
    expect(end).toMatchObject({ value: '***' })
  })

  test('CALL-2 CALL-11: a logger that throws does not reject the batch', async () => {
    const bad = readOnlyTool('bad', () => {
      throw new Error('x')
    })
    const good = tool({ name: 'good', description: 'Good', input: empty, hints: { readOnly: true }, execute: () => 1 })
    const logger: Logger = {
      ...quiet,
      error: () => {
        throw new Error('disk full')
      },
    }
    const runtime = await bench.open([bad, good], { logger })
    const end = await runtime
      .session('s')
      .run([
        { id: 'a', name: 'bad' },
        { id: 'b', name: 'good' },
      ])
      .catch((error: unknown) => error)
    expect(end).toMatchObject([{ status: 'failure' }, { status: 'success' }])
  })

  test('TOOL-3: the host can run an internal tool with session.call', async () => {
    const inner = tool({ name: 'inner', description: 'Internal', input: empty, internal: true, execute: () => 'ran' })
    const runtime = await bench.open([inner])
    expect(await runtime.session('s').call(inner, {}).outcome).toMatchObject({ status: 'success', value: 'ran' })
  })

  test('VAL-2: a failure always has a valid class and string message and code', async () => {
    const odd = simpleTool('odd', () => {
      throw fail(undefined as never, { class: 'oops' as never, code: 7 as never })
    })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'odd' }])
    const classes = [
      'invalid_request',
      'unavailable',
      'permission_denied',
      'timeout',
      'execution',
      'external',
      'resource_limit',
      'internal',
    ]
    const failure = (end as unknown as { failure: Record<string, unknown> }).failure
    expect([classes.includes(failure.class as string), typeof failure.code, typeof failure.message]).toEqual([
      true,
      'string',
      'string',
    ])
  })

  test('VAL-4: a declared failure keeps its message if its raw value cannot be recorded', async () => {
    const odd = simpleTool('odd', () => {
      throw fail('No such order', { code: 'not_found', raw: { rate: Number.NaN } })
    })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'odd' }])
    expect(end).toMatchObject({ failure: { code: 'not_found', message: 'No such order' } })
  })

  test('CALL-2: a meta value that cannot be recorded is rejected with call_invalid', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 1 })
    const runtime = await bench.open([plain])
    const error = await runtime
      .session('s')
      .run([{ id: 'a', name: 'plain', meta: { n: 10n } as never }])
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'call_invalid' })
  })

  test('CALL-6 DUR-11: invalid batch names and idempotency keys are rejected at submission', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 1 })
    const runtime = await bench.open([plain])
    const s = runtime.session('s')
    const codes: unknown[] = []
    for (const [how, call] of [
      [{ batch: '\ud800' }, {}],
      [{ batch: 7 as never }, {}],
      [{ batch: 'x'.repeat(100_000) }, {}],
      [{}, { idempotencyKey: '\ud800' }],
      [{}, { idempotencyKey: 7 as never }],
      [{}, { idempotencyKey: '' }],
    ] as const) {
      const end = await s
        .run([{ id: 'a', name: 'plain', ...call }], how)
        .catch((error: { code?: string }) => error.code)
      codes.push(typeof end === 'string' ? end : 'accepted')
    }
    expect(codes.filter((code) => code !== 'call_invalid' && code !== 'config_invalid')).toEqual([])
  })

  test('CALL-2: an invalid call in ctx.run is rejected before anything is recorded', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 1 })
    const parent = simpleTool('parent', async (_, ctx) => {
      const seen: string[] = []
      for (const ask of [
        { id: '', name: 'plain' },
        { name: 'plain' },
        { id: 'x\ud800', name: 'plain' },
        { id: 7, name: 'plain' },
      ]) {
        seen.push(
          await ctx.run([ask as never]).then(
            ([end]) => end?.status ?? 'none',
            (error: { code?: string }) => error.code ?? 'error',
          ),
        )
      }
      return seen
    })
    const runtime = await bench.open([plain, parent])
    const [end] = await runtime.session('s').run([{ id: 'p', name: 'parent' }])
    expect(end).toMatchObject({ value: ['call_invalid', 'call_invalid', 'call_invalid', 'call_invalid'] })
  })

  test('CALL-4: arguments that the schema makes unrecordable are an internal failure', async () => {
    const odd = argumentTool('odd', z.object({ n: z.string().transform(Number) }), {}, () => 1)
    const big = argumentTool(
      'big',
      z.object({ n: z.string().transform((text) => BigInt(text)) }),
      { description: 'Big' },
      () => 1,
    )
    const runtime = await bench.open([odd, big])
    const [end] = await runtime.session('s').run([{ id: 'b', name: 'big', input: { n: '5' } }])
    expect(end).toMatchObject({ failure: { class: 'internal' } })
  })

  test('VAL-4: a validator that throws is an internal failure, logged with its call', async () => {
    const odd = tool({
      name: 'odd',
      description: 'Odd',
      input: z.object({
        n: z.string().refine(() => {
          throw new Error('validator broke')
        }),
      }),
      execute: () => 1,
    })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'the-call', name: 'odd', input: { n: '5' } }])
    expect(end).toMatchObject({ failure: { class: 'internal' } })
    expect(bench.logged.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { callId: 'the-call', tool: 'odd' } },
    ])
  })

  test('VAL-4 CALL-11: an error object with a throwing getter is logged with its tool and call', async () => {
    const odd = simpleTool('odd', () => {
      throw {
        get cause() {
          throw new Error('do not look')
        },
      }
    })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'the-call', name: 'odd' }])
    expect(end).toMatchObject({ failure: { class: 'internal' } })
    expect(bench.logged.filter(({ level }) => level === 'error')).toMatchObject([
      { fields: { callId: 'the-call', tool: 'odd' } },
    ])
  })

  test('VAL-1 DUR-11: a Promise, Map, Set, RegExp or Error is rejected, not recorded as {}', async () => {
    const odd = [Promise.resolve(1), new Map([['a', 1]]), new Set([1]), new Error('no'), /x/]
    const tools = odd.map((value, i) =>
      tool({
        name: `odd${i}`,
        description: 'Odd',
        input: empty,
        hints: { readOnly: true },
        execute: () => ({ value }),
      }),
    )
    const runtime = await bench.open(tools)
    const ends = await runtime.session('s').run(tools.map(({ name }) => ({ id: name, name })))
    expect(ends.map(({ status }) => status)).toEqual(odd.map(() => 'failure'))
  })

  test('TIME-3: the abort reason of a batch signal is recorded', async () => {
    const hang = simpleTool(
      'hang',
      (_, ctx) =>
        new Promise<void>((resolve, reject) =>
          ctx.signal.addEventListener('abort', () => reject(new Error('stopped'))),
        ),
    )
    const runtime = await bench.open([hang])
    const stop = new AbortController()
    const run = runtime.session('s').run([{ id: 'a', name: 'hang' }], { signal: stop.signal })
    await new Promise((resolve) => setImmediate(resolve))
    stop.abort(new Error('the user closed the tab'))
    expect(JSON.stringify(await run)).toContain('the user closed the tab')
  })

  test('CALL-8: a hook that aborts the turn in a nested call stops the outermost batch', async () => {
    const inner = tool({ name: 'inner', description: 'Inner', input: empty, execute: () => 1 })
    const outer = tool({
      name: 'outer',
      description: 'Outer',
      input: empty,
      execute: async (_, ctx) => (await ctx.call(inner, {})).status,
    })
    const next = tool({ name: 'next', description: 'Next', input: empty, execute: () => 'ran' })
    const runtime = await bench.open([inner, outer, next], {
      hooks: [
        {
          name: 'guard',
          before: ({ tool: name }: { tool: string }) => (name === 'inner' ? { abort: 'stop everything' } : undefined),
        },
      ],
    })
    const ends = await runtime.session('s').run(
      [
        { id: 'a', name: 'outer' },
        { id: 'b', name: 'next' },
      ],
      { batch: 'm' },
    )
    expect(ends[1]?.status).toBe('cancelled')
  })

  test('CALL-6 DUR-1: each caller gets its own copy of the recorded outcome', async () => {
    const list = tool({ name: 'list', description: 'List', input: empty, execute: () => ({ items: ['a', 'b'] }) })
    const runtime = await bench.open([list])
    const s = runtime.session('s')
    const ask = () => s.run([{ id: 'a', name: 'list' }], { batch: 'm' })
    const [one, two] = await Promise.all([ask(), ask()])
    if (one[0]?.status === 'success') (one[0].value as { items: string[] }).items.pop()
    expect(two).toMatchObject([{ value: { items: ['a', 'b'] } }])
  })

  test('VAL-2 VAL-4: a returned fail() is a failure, and a returned Error is not a success', async () => {
    const returned = readOnlyTool('returned', () => fail('No such order', { code: 'not_found' }))
    const error = readOnlyTool('error', () => new Error('secret'))
    const runtime = await bench.open([returned, error])
    const ends = await runtime.session('s').run([
      { id: 'a', name: 'returned' },
      { id: 'b', name: 'error' },
    ])
    expect(ends).toMatchObject([{ status: 'failure', failure: { code: 'not_found' } }, { status: 'failure' }])
  })

  test('VAL-1 CALL-8: a hook answer keeps its attachments and must be recordable', async () => {
    const draw = argumentTool('draw', z.object({ again: z.boolean().optional() }), {}, (_, ctx) => ({
      image: ctx.attachments.create('png', { mediaType: 'image/png' }),
    }))
    let cached: unknown
    const hooks = [
      {
        name: 'cache',
        before: ({ input }: { input: unknown }) =>
          (input as { again?: boolean }).again ? { answer: cached } : undefined,
      },
    ]
    const runtime = await bench.open([draw], { hooks })
    const s = runtime.session('s')
    const [one] = await s.run([{ id: 'a', name: 'draw' }])
    if (one?.status === 'success') cached = one.value
    const [two] = await s.run([{ id: 'b', name: 'draw', input: { again: true } }])
    cached = { rate: Number.NaN }
    const [three] = await s.run([{ id: 'c', name: 'draw', input: { again: true } }])
    expect(one?.parts.map(({ type }) => type)).toEqual(['text', 'attachment', 'text'])
    expect(two?.parts.map(({ type }) => type)).toEqual(['text', 'attachment', 'text'])
    expect(three?.status).toBe('failure')
  })

  test('VAL-1 VAL-3: a body that returns a function or a symbol fails or returns null', async () => {
    const odd: (() => unknown)[] = [() => () => 1, () => Symbol('x')]
    const tools = odd.map((execute, i) =>
      tool({ name: `odd${i}`, description: 'Odd', input: empty, hints: { readOnly: true }, execute }),
    )
    const runtime = await bench.open(tools)
    const ends = await runtime.session('s').run(tools.map(({ name }) => ({ id: name, name })))
    for (const end of ends) {
      if (end.status === 'success') expect(end).toMatchObject({ value: null, parts: [{ type: 'text', text: 'null' }] })
      else expect(end.status).toBe('failure')
    }
  })

  test('VAL-1 TIME-1: a generator body does not succeed without running', async () => {
    let ran = 0
    const generators: (() => unknown)[] = [
      function* () {
        yield ran++
      },
      async function* () {
        yield ran++
      },
    ]
    const tools = generators.map((execute, i) =>
      tool({ name: `gen${i}`, description: 'Generator', input: empty, hints: { readOnly: true }, execute }),
    )
    const runtime = await bench.open(tools)
    const ends = await runtime.session('s').run(tools.map(({ name }) => ({ id: name, name })))
    expect(ends.map(({ status }, i) => (status === 'success' ? ran > i : true))).toEqual([true, true])
  })

  test('VAL-6: a control other than finish, fail and switchFrame is rejected', async () => {
    const odd = tool({
      name: 'odd',
      description: 'Odd',
      input: empty,
      execute: () => result(1, { control: { finnish: 1 } as never }),
    })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'odd' }])
    expect(end).toMatchObject({ status: 'failure', failure: { class: 'internal' } })
  })

  test('CALL-10 CALL-11: a progress object that throws when read does not fail the call', async () => {
    const odd = simpleTool('odd', (_, ctx) => {
      ctx.progress({ current: 1 })
      ctx.progress({
        get current(): number {
          throw new Error('later')
        },
      })
      return 'done'
    })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'odd' }])
    expect(end).toMatchObject({ status: 'success', value: 'done' })
  })

  test('DUR-11: an unsafe integer in a result is rejected, as in arguments', async () => {
    const odd = tool({
      name: 'odd',
      description: 'Odd',
      input: empty,
      execute: () => ({ id: Number('1152921504606846977') }),
    })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'odd' }])
    expect(end?.status).toBe('failure')
  })
})

test('TOOL-1 TOOL-2: tool() rejects unknown fields, unknown hints and non-boolean hints', () => {
  const define = (more: object): string => {
    try {
      tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 1, ...more })
      return 'accepted'
    } catch (error) {
      return (error as { code: string }).code
    }
  }
  const odd = [
    { hints: { readOnly: 'false' } },
    { hints: { readonly: true } },
    { timeuot: '1s' },
    { retry: { attempts: 2, bse: '1s' } },
    { limits: { concurent: 1 } },
  ]
  expect(odd.map(define)).toEqual(odd.map(() => 'tool_invalid'))
})
