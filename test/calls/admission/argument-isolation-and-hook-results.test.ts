// Adversary: what a body sees, what hooks and prepare may do, what comes out (CALL-4, CALL-7, CALL-8, TOOL-7, VAL).

import { fail, type Logger, result, retry, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'

const empty = z.object({})

onEachStore('adversary: arguments', (bench) => {
  test('CALL-1 CALL-4: what prepare changes in place never reaches the body unvalidated', async () => {
    const seen: unknown[] = []
    const pay = tool({
      name: 'pay',
      description: 'Pays',
      input: z.object({ cents: z.number().int().positive() }),
      prepare: (input) => {
        input.cents = -1
        return {}
      },
      execute: (input) => void seen.push(input.cents),
    })
    const runtime = await bench.open([pay])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'pay', input: { cents: 5 } }])
    expect([end?.status, seen]).not.toEqual(['success', [-1]])
  })

  test('CALL-7 DUR-1: every attempt gets the recorded arguments, whatever the one before did to its own', async () => {
    const clock = manualClock()
    const seen: unknown[] = []
    const list = tool({
      name: 'list',
      description: 'Takes its input apart',
      input: z.object({ items: z.array(z.string()) }),
      execute: ({ items }) => {
        seen.push([...items])
        items.pop()
        if (seen.length < 2) throw retry({ after: 0 })
      },
    })
    const runtime = await bench.open([list], { clock })
    await after(runtime.session('s').run([{ id: 'a', name: 'list', input: { items: ['x', 'y'] } }]), clock)
    expect(seen).toEqual([
      ['x', 'y'],
      ['x', 'y'],
    ])
  })

  test('CALL-7: every attempt gets the payload of prepare as it was recorded', async () => {
    const clock = manualClock()
    const seen: unknown[] = []
    const list = tool({
      name: 'list',
      description: 'Uses up its payload',
      input: empty,
      prepare: () => ({ payload: { left: 2 } }),
      execute: (_, ctx) => {
        const prepared = ctx.prepared as { left: number }
        seen.push(prepared.left)
        prepared.left--
        if (seen.length < 2) throw retry({ after: 0 })
      },
    })
    const runtime = await bench.open([list], { clock })
    await after(runtime.session('s').run([{ id: 'a', name: 'list' }]), clock)
    expect(seen).toEqual([2, 2])
  })

  test('CALL-4: a key function cannot change what the body sees', async () => {
    const seen: unknown[] = []
    const keyed = tool({
      name: 'keyed',
      description: 'Keyed',
      input: z.object({ id: z.string() }),
      concurrency: { key: (input) => (input.id = input.id.toLowerCase()) },
      execute: ({ id }) => void seen.push(id),
    })
    const runtime = await bench.open([keyed])
    await runtime.session('s').run([{ id: 'a', name: 'keyed', input: { id: 'ABC' } }])
    expect(seen).toEqual(['ABC'])
  })

  test('CALL-8: a hook cannot change in place what another hook and the body see', async () => {
    const seen: unknown[] = []
    const plain = tool({
      name: 'plain',
      description: 'Plain',
      input: z.object({ path: z.string() }),
      execute: ({ path }) => void seen.push(path),
    })
    const hooks = [
      { name: 'a', before: ({ input }: { input: unknown }) => void ((input as { path: string }).path = '/safe') },
      { name: 'b', before: ({ input }: { input: unknown }) => ((input as { path: string }).path === '/etc' ? { deny: 'no' } : undefined) },
    ]
    const runtime = await bench.open([plain], { hooks })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain', input: { path: '/etc' } }])
    expect([end?.status, seen]).toEqual(['failure', []])
  })

  test('CALL-8: an abort is stronger than an answer of undefined', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 1 })
    const hooks = [
      { name: 'cache', before: () => ({ answer: undefined }) },
      { name: 'guard', before: () => ({ abort: 'stop everything' }) },
    ]
    const runtime = await bench.open([plain], { hooks })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain' }])
    expect(end).toMatchObject({ failure: { code: 'turn_aborted' } })
  })

  test('CALL-8: a hook that answers with nothing answers with null', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 1 })
    const runtime = await bench.open([plain], { hooks: [{ name: 'cache', before: () => ({ answer: undefined }) }] })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain' }])
    expect(end).toMatchObject({ status: 'success', value: null })
  })

  test('CALL-1: a prepare that answers with nothing has answered: the body does not run', async () => {
    let ran = 0
    const plain = tool({
      name: 'plain',
      description: 'Plain',
      input: empty,
      prepare: () => ({ answer: undefined }),
      execute: () => void ran++,
    })
    const runtime = await bench.open([plain])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain' }])
    expect([end?.status, ran]).toEqual(['success', 0])
  })

  test('CALL-8: two hooks that replace different things both count, or the call is refused', async () => {
    const seen: unknown[] = []
    const plain = tool({
      name: 'plain',
      description: 'Plain',
      input: z.object({ text: z.string(), locale: z.string().optional() }),
      execute: (input) => void seen.push(input.text),
    })
    const hooks = [
      { name: 'locale', before: ({ input }: { input: unknown }) => ({ replace: { ...(input as object), locale: 'de' } }) },
      { name: 'redact', before: ({ input }: { input: unknown }) => ({ replace: { ...(input as object), text: '***' } }) },
    ]
    const runtime = await bench.open([plain], { hooks })
    await runtime.session('s').run([{ id: 'a', name: 'plain', input: { text: 'secret' } }])
    expect(seen).not.toContain('secret')
  })

  test('CALL-8: a single hook that replaces does not disagree with itself', async () => {
    let n = 0
    const plain = tool({ name: 'plain', description: 'Plain', input: z.object({ n: z.number() }), execute: ({ n: got }) => got })
    const runtime = await bench.open([plain], { hooks: [{ name: 'stamp', before: () => ({ replace: { n: ++n } }) }] })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain', input: { n: 0 } }])
    expect(end?.status).toBe('success')
  })

  test('CALL-2 CALL-8: what an after hook gives is an outcome, or it changes nothing', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 'done' })
    const runtime = await bench.open([plain], { hooks: [{ name: 'shape', after: () => ({ replace: { redacted: true } as never }) }] })
    const end = await runtime
      .session('s')
      .run([{ id: 'a', name: 'plain' }])
      .catch((error: unknown) => error)
    expect(end).toMatchObject([{ status: 'success', value: 'done' }])
  })

  test('TOOL-7: an answer of prepare is checked against the output schema', async () => {
    const plain = tool({
      name: 'plain',
      description: 'Plain',
      input: empty,
      output: z.number(),
      prepare: () => ({ answer: 'not a number' }),
      execute: () => 1,
    })
    const runtime = await bench.open([plain])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain' }])
    expect(end).toMatchObject({ status: 'failure', failure: { code: 'invalid_output' } })
  })

  test('CALL-1 CALL-8: an answer of prepare passes the after hooks', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, prepare: () => ({ answer: 'secret' }), execute: () => 1 })
    const runtime = await bench.open([plain], {
      hooks: [{ name: 'redact', after: () => ({ replace: { status: 'success', value: '***' } }) }],
    })
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'plain' }])
    expect(end).toMatchObject({ value: '***' })
  })

  test('CALL-2 CALL-11: a logger that throws makes no batch reject', async () => {
    const bad = tool({
      name: 'bad',
      description: 'Throws',
      input: empty,
      hints: { readOnly: true },
      execute: () => {
        throw new Error('x')
      },
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

  test('VAL-2: a failure always has one of the eight classes and a text as message and code', async () => {
    const odd = tool({
      name: 'odd',
      description: 'Odd',
      input: empty,
      execute: () => {
        throw fail(undefined as never, { class: 'oops' as never, code: 7 as never })
      },
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
    expect([classes.includes(failure.class as string), typeof failure.code, typeof failure.message]).toEqual([true, 'string', 'string'])
  })

  test('VAL-4: a declared failure keeps its message when its raw has no recorded form', async () => {
    const odd = tool({
      name: 'odd',
      description: 'Odd',
      input: empty,
      execute: () => {
        throw fail('No such order', { code: 'not_found', raw: { rate: Number.NaN } })
      },
    })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'odd' }])
    expect(end).toMatchObject({ failure: { code: 'not_found', message: 'No such order' } })
  })

  test('CALL-2: a meta that cannot be recorded is refused with a typed error that names it', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 1 })
    const runtime = await bench.open([plain])
    const error = await runtime
      .session('s')
      .run([{ id: 'a', name: 'plain', meta: { n: 10n } as never }])
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'call_invalid' })
  })

  test('CALL-6 DUR-11: a batch name or an idempotency key with a lone surrogate, a NUL or no text is refused at the door', async () => {
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
      const end = await s.run([{ id: 'a', name: 'plain', ...call }], how).catch((error: { code?: string }) => error.code)
      codes.push(typeof end === 'string' ? end : 'accepted')
    }
    expect(codes.filter((code) => code !== 'call_invalid' && code !== 'config_invalid')).toEqual([])
  })

  test('CALL-2: a bad ask of ctx.run is refused before anything is recorded', async () => {
    const plain = tool({ name: 'plain', description: 'Plain', input: empty, execute: () => 1 })
    const parent = tool({
      name: 'parent',
      description: 'Asks badly',
      input: empty,
      execute: async (_, ctx) => {
        const seen: string[] = []
        for (const ask of [{ id: '', name: 'plain' }, { name: 'plain' }, { id: 'x\ud800', name: 'plain' }, { id: 7, name: 'plain' }]) {
          seen.push(
            await ctx.run([ask as never]).then(
              ([end]) => end?.status ?? 'none',
              (error: { code?: string }) => error.code ?? 'error',
            ),
          )
        }
        return seen
      },
    })
    const runtime = await bench.open([plain, parent])
    const [end] = await runtime.session('s').run([{ id: 'p', name: 'parent' }])
    expect(end).toMatchObject({ value: ['call_invalid', 'call_invalid', 'call_invalid', 'call_invalid'] })
  })

  test('CALL-4: arguments that the schema itself turns into something unrecordable are not the model’s fault', async () => {
    const odd = tool({
      name: 'odd',
      description: 'Odd',
      input: z.object({ n: z.string().transform(Number) }),
      execute: () => 1,
    })
    const big = tool({
      name: 'big',
      description: 'Big',
      input: z.object({ n: z.string().transform((text) => BigInt(text)) }),
      execute: () => 1,
    })
    const runtime = await bench.open([odd, big])
    const [end] = await runtime.session('s').run([{ id: 'b', name: 'big', input: { n: '5' } }])
    expect(end).toMatchObject({ failure: { class: 'internal' } })
  })

  test('VAL-4: a validator that throws is internal, and the log says which call', async () => {
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
    expect(bench.logged.filter(({ level }) => level === 'error')).toMatchObject([{ fields: { callId: 'the-call', tool: 'odd' } }])
  })

  test('VAL-4 CALL-11: a thrown thing that throws when looked at is logged with its tool and call', async () => {
    const odd = tool({
      name: 'odd',
      description: 'Odd',
      input: empty,
      execute: () => {
        throw {
          get cause() {
            throw new Error('do not look')
          },
        }
      },
    })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'the-call', name: 'odd' }])
    expect(end).toMatchObject({ failure: { class: 'internal' } })
    expect(bench.logged.filter(({ level }) => level === 'error')).toMatchObject([{ fields: { callId: 'the-call', tool: 'odd' } }])
  })

  test('VAL-1 DUR-11: a Promise, a Map, a Set or an Error inside a value is refused, not recorded as {}', async () => {
    const odd = [Promise.resolve(1), new Map([['a', 1]]), new Set([1]), new Error('no'), /x/]
    const tools = odd.map((value, i) =>
      tool({ name: `odd${i}`, description: 'Odd', input: empty, hints: { readOnly: true }, execute: () => ({ value }) }),
    )
    const runtime = await bench.open(tools)
    const ends = await runtime.session('s').run(tools.map(({ name }) => ({ id: name, name })))
    expect(ends.map(({ status }) => status)).toEqual(odd.map(() => 'failure'))
  })

  test('TIME-3: the reason of the signal that cancelled a batch is recorded', async () => {
    const hang = tool({
      name: 'hang',
      description: 'Listens',
      input: empty,
      execute: (_, ctx) => new Promise<void>((resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error('stopped')))),
    })
    const runtime = await bench.open([hang])
    const stop = new AbortController()
    const run = runtime.session('s').run([{ id: 'a', name: 'hang' }], { signal: stop.signal })
    await new Promise((resolve) => setImmediate(resolve))
    stop.abort(new Error('the user closed the tab'))
    expect(JSON.stringify(await run)).toContain('the user closed the tab')
  })

  test('CALL-8: an abort of the turn by a hook reaches the batch of the outermost call', async () => {
    const inner = tool({ name: 'inner', description: 'Inner', input: empty, execute: () => 1 })
    const outer = tool({ name: 'outer', description: 'Outer', input: empty, execute: async (_, ctx) => (await ctx.call(inner, {})).status })
    const next = tool({ name: 'next', description: 'Next', input: empty, execute: () => 'ran' })
    const runtime = await bench.open([inner, outer, next], {
      hooks: [
        { name: 'guard', before: ({ tool: name }: { tool: string }) => (name === 'inner' ? { abort: 'stop everything' } : undefined) },
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

  test('CALL-6 DUR-1: everyone who asks gets the recorded outcome, whatever another asker did to his', async () => {
    const list = tool({ name: 'list', description: 'List', input: empty, execute: () => ({ items: ['a', 'b'] }) })
    const runtime = await bench.open([list])
    const s = runtime.session('s')
    const ask = () => s.run([{ id: 'a', name: 'list' }], { batch: 'm' })
    const [one, two] = await Promise.all([ask(), ask()])
    if (one[0]?.status === 'success') (one[0].value as { items: string[] }).items.pop()
    expect(two).toMatchObject([{ value: { items: ['a', 'b'] } }])
  })

  test('VAL-2 VAL-4: a fail() that a body returns is a failure, and an Error that it returns is no success', async () => {
    const returned = tool({
      name: 'returned',
      description: 'Returns',
      input: empty,
      hints: { readOnly: true },
      execute: () => fail('No such order', { code: 'not_found' }) as never,
    })
    const error = tool({
      name: 'error',
      description: 'Returns',
      input: empty,
      hints: { readOnly: true },
      execute: () => new Error('secret') as never,
    })
    const runtime = await bench.open([returned, error])
    const ends = await runtime.session('s').run([
      { id: 'a', name: 'returned' },
      { id: 'b', name: 'error' },
    ])
    expect(ends).toMatchObject([{ status: 'failure', failure: { code: 'not_found' } }, { status: 'failure' }])
  })

  test('VAL-1 CALL-8: the answer of a hook keeps its attachments, and what has no recorded form is refused', async () => {
    const draw = tool({
      name: 'draw',
      description: 'Draws',
      input: z.object({ again: z.boolean().optional() }),
      execute: (_, ctx) => ({ image: ctx.attachments.create('png', { mediaType: 'image/png' }) }),
    })
    let cached: unknown
    const hooks = [
      { name: 'cache', before: ({ input }: { input: unknown }) => ((input as { again?: boolean }).again ? { answer: cached } : undefined) },
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

  test('VAL-1 VAL-3: a body that returns a function or a symbol has failed, or has the value null', async () => {
    const odd: (() => unknown)[] = [() => () => 1, () => Symbol('x')]
    const tools = odd.map((execute, i) => tool({ name: `odd${i}`, description: 'Odd', input: empty, hints: { readOnly: true }, execute }))
    const runtime = await bench.open(tools)
    const ends = await runtime.session('s').run(tools.map(({ name }) => ({ id: name, name })))
    for (const end of ends) {
      if (end.status === 'success') expect(end).toMatchObject({ value: null, parts: [{ type: 'text', text: 'null' }] })
      else expect(end.status).toBe('failure')
    }
  })

  test('VAL-1 TIME-1: a body that is a generator is not a success that did nothing', async () => {
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

  test('VAL-6: a control that is none of finish, fail and switchFrame is refused', async () => {
    const odd = tool({ name: 'odd', description: 'Odd', input: empty, execute: () => result(1, { control: { finnish: 1 } as never }) })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'odd' }])
    expect(end).toMatchObject({ status: 'failure', failure: { class: 'internal' } })
  })

  test('CALL-10 CALL-11: a progress that throws when it is read does not cost the call its result', async () => {
    const odd = tool({
      name: 'odd',
      description: 'Odd',
      input: empty,
      execute: (_, ctx) => {
        ctx.progress({ current: 1 })
        ctx.progress({
          get current(): number {
            throw new Error('later')
          },
        })
        return 'done'
      },
    })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'odd' }])
    expect(end).toMatchObject({ status: 'success', value: 'done' })
  })

  test('DUR-11: an unsafe integer in a result is refused like one in arguments', async () => {
    const odd = tool({ name: 'odd', description: 'Odd', input: empty, execute: () => ({ id: Number('1152921504606846977') }) })
    const runtime = await bench.open([odd])
    const [end] = await runtime.session('s').run([{ id: 'a', name: 'odd' }])
    expect(end?.status).toBe('failure')
  })
})

test('TOOL-1 TOOL-2: fields and hints that do not exist, and hints that are not true or false, are refused when the tool is defined', () => {
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
