// The recorded form of values and outcomes, and their projection for the model.

import { fc } from '../kit/seeded-fast-check.ts'
import { Attachment, fail, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { projectOutcome } from '../../src/models/outcome-to-model-parts.ts'
import { failure, type Outcome } from '../../src/core/outcome.ts'
import { decode, encode, isAttachment, type Json, mintAttachment } from '../../src/core/tool-value.ts'
import { onEachStore } from '../kit/stores/local-stores.ts'

const image = mintAttachment({ id: 'att_1', mediaType: 'image/png', bytes: 3, name: 'a.png' })

const isRounded = (value: unknown): boolean =>
  Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value as number) < 1e21

describe('recorded form', () => {
  test('VAL-1: any JSON value round-trips, including keys named like tags or prototype properties', () => {
    const key = fc.oneof(
      fc.constantFrom('$pawl', '__proto__', 'constructor', 'ref', 'entries', 'toJSON'),
      fc.string({ unit: 'binary' }),
    )
    const value = fc.letrec((tie) => ({
      any: fc.oneof({ depthSize: 'xsmall' }, fc.jsonValue(), fc.array(tie('any')), fc.dictionary(key, tie('any'))),
    })).any
    fc.assert(
      fc.property(value, (json) => {
        // fast-check can generate -0 and `toJSON` values; only the JSON text is compared.
        const plain = JSON.parse(JSON.stringify(json), (_, inner: unknown) =>
          isRounded(inner) ? String(inner) : inner,
        ) as Json
        expect(JSON.stringify(decode(encode(plain)))).toBe(JSON.stringify(plain))
        expect(encode(decode(encode(plain)))).toBe(encode(plain))
      }),
      { numRuns: 150 },
    )
  })

  test('VAL-1: a nested attachment is encoded with a tag and decoded as an attachment', () => {
    const text = encode({ list: [image, { deep: image }] })
    const ref = '{"id":"att_1","mediaType":"image/png","bytes":3,"name":"a.png"}'
    expect(text).toBe(`{"list":[{"$pawl":"attachment","ref":${ref}},{"deep":{"$pawl":"attachment","ref":${ref}}}]}`)
    const back = decode(text) as unknown as { list: [unknown, { deep: Attachment }] }
    expect(isAttachment(back.list[0])).toBe(true)
    expect(back.list[1].deep.ref).toEqual(image.ref)
  })

  test('VAL-1: an object that imitates an attachment is escaped', () => {
    const forged = { $pawl: 'attachment', ref: { id: 'att_9', mediaType: 'image/png', bytes: 1 } }
    expect(encode(forged)).toBe(
      '{"$pawl":"object","entries":{"$pawl":"attachment","ref":{"id":"att_9","mediaType":"image/png","bytes":1}}}',
    )
    expect(decode(encode(forged))).toEqual(forged)
    expect(isAttachment(decode(encode(forged)))).toBe(false)
    expect(isAttachment(decode(encode(new Attachment(image.ref))))).toBe(false)
  })

  test.for([
    ['{"$pawl":"attachment"}'],
    ['{"$pawl":"attachment","ref":{"id":"x","mediaType":"y","bytes":1},"extra":1}'],
    ['{"$pawl":"attachment","ref":{"id":7,"mediaType":"y","bytes":1}}'],
    ['{"$pawl":"object","entries":[]}'],
    ['{"$pawl":"video","ref":{}}'],
    ['[{"a":{"$pawl":null}}]'],
  ])('VAL-1: decode() rejects %s', ([text]) => {
    expect(() => decode(text as string)).toThrow(expect.objectContaining({ code: 'value_undecodable' }))
  })

  const cycle: { self?: unknown } = {}
  cycle.self = { cycle }
  let deep: unknown = 1
  for (let level = 0; level < 600; level++) deep = [deep]
  test.for([
    ['NaN', { a: [Number.NaN] }, '.a[0]'],
    ['Infinity', -Infinity, 'the top'],
    ['a BigInt', { n: 1n }, '.n'],
    ['a cycle', cycle, '.self.cycle'],
    ['a lone surrogate', { s: '\ud800' }, '.s'],
    ['a lone surrogate in a key', { '\udc00': 1 }, 'the top'],
    ['depth over 512', deep, '[0]'],
    ['an integer that was rounded', { id: [2 ** 60] }, '.id[0]'],
    ['a promise', { rows: Promise.resolve([]) }, '.rows'],
    ['a Map', { rows: new Map() }, '.rows'],
    ['a Set', [new Set()], '[0]'],
    ['an error', { error: new RangeError('no') }, '.error'],
    ['a regular expression', { like: /x/ }, '.like'],
    ['an iterator', [[1].values()], '[0]'],
  ] as const)('VAL-1: encode() rejects %s and names the path', ([, value, path]) => {
    const message = expect.stringContaining(path === 'the top' ? 'The value ' : `The value at ${path}`) as string
    expect(() => encode(value)).toThrow(expect.objectContaining({ code: 'value_invalid', message }))
  })
})

test('VAL-1: large floating-point numbers and class instances can be encoded', () => {
  class Point {
    x = 1
    #hidden = 2
    get sum(): number {
      return this.x + this.#hidden
    }
  }
  const at = new Date(0)
  expect(
    encode([1e21, -1.5e300, 0.1, Number.MAX_SAFE_INTEGER, new Point(), at, Object.create(null), new URL('http://a/')]),
  ).toBe('[1e+21,-1.5e+300,0.1,9007199254740991,{"x":1},"1970-01-01T00:00:00.000Z",{},"http://a/"]')
})

describe('projection for the model', () => {
  const success = (value: unknown): Outcome => ({ status: 'success', value: value as Json })
  const text = (outcome: Outcome): string =>
    projectOutcome(outcome)
      .map((part) => (part.type === 'text' ? part.text : 'null'))
      .join('')

  test('VAL-3: strings are shown as text, other values as compact JSON; empty text has no part', () => {
    expect(projectOutcome(success('hi'))).toEqual([{ type: 'text', text: 'hi' }])
    expect(projectOutcome(success(''))).toEqual([])
    expect(projectOutcome(success({ b: 1, a: [true, null, 'x"y'] }))).toEqual([
      { type: 'text', text: '{"b":1,"a":[true,null,"x\\"y"]}' },
    ])
  })

  test('VAL-3: attachments keep their position and split the text around them', () => {
    expect(projectOutcome(success(image))).toEqual([{ type: 'attachment', attachment: image }])
    expect(projectOutcome(success({ before: 1, image, after: [image, image] }))).toEqual([
      { type: 'text', text: '{"before":1,"image":' },
      { type: 'attachment', attachment: image },
      { type: 'text', text: ',"after":[' },
      { type: 'attachment', attachment: image },
      { type: 'text', text: ',' },
      { type: 'attachment', attachment: image },
      { type: 'text', text: ']}' },
    ])
  })

  test('VAL-3: JSON shown to the model is valid when attachments are read as null', () => {
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: 'xsmall' },
        fc.jsonValue(),
        fc.constant(image),
        fc.array(tie('any')),
        fc.dictionary(fc.string(), tie('any')),
      ),
    })).any
    const asNull = (json: unknown): unknown =>
      JSON.parse(JSON.stringify(json, (_, inner: unknown) => (isAttachment(inner) ? null : inner)))
    fc.assert(
      fc.property(value, (json) => {
        if (typeof json === 'string') return
        expect(JSON.parse(text(success(json)))).toEqual(asNull(json))
      }),
      { numRuns: 150 },
    )
  })

  test('VAL-3: failed, cancelled and unknown outcomes have a header; raw attachments follow', () => {
    const failed = (message: string, raw?: Json): Outcome =>
      failure({ class: 'execution', code: 'x', message, ...(raw === undefined ? {} : { raw }) })
    expect(text(failed('No such order'))).toBe('[Tool execution failed]\nNo such order')
    expect(text(failed(''))).toBe('[Tool execution failed]')
    expect(projectOutcome(failed('broken', { log: 'hidden', shot: image as unknown as Json }))).toEqual([
      { type: 'text', text: '[Tool execution failed]\nbroken' },
      { type: 'attachment', attachment: image },
    ])
    expect(text({ status: 'cancelled', cancellation: { message: 'stop', source: 'cancellation' } })).toBe(
      '[Tool execution cancelled]\nstop',
    )
    expect(text({ status: 'unknown', unknown: { message: 'who knows', startedAt: 0, evidence: null } })).toBe(
      '[Tool outcome unknown]\nwho knows',
    )
  })
})

onEachStore('outcomes', (bench) => {
  test('VAL-2: a plain fail() is execution/tool_error from the tool and is not retried', async () => {
    const fails = tool({
      name: 'fails',
      description: 'Fails',
      input: z.object({}),
      execute() {
        throw fail('It broke')
      },
    })
    const runtime = await bench.open([fails])
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'fails' }])
    expect(outcome).toMatchObject({
      status: 'failure',
      failure: {
        class: 'execution',
        code: 'tool_error',
        message: 'It broke',
        source: 'tool',
        retry: { when: 'never' },
      },
    })
  })

  test.for([
    ['nothing', () => fail(undefined as never)],
    ['an error', () => fail(new Error('password=hunter2') as never)],
    ['an object', () => fail({ reason: 1n } as never)],
  ] as const)('VAL-2 VAL-4: fail with %s is a failure with a readable message', async ([, thrown]) => {
    const fails = tool({
      name: 'fails',
      description: 'Fails',
      input: z.object({}),
      retry: { attempts: 1 },
      execute: () => Promise.reject(thrown()),
    })
    const runtime = await bench.open([fails])
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'fails' }])
    expect(outcome).toMatchObject({
      status: 'failure',
      failure: { message: 'The tool failed without saying why', source: 'tool' },
    })
    expect(outcome?.parts).toEqual([
      { type: 'text', text: '[Tool execution failed]\nThe tool failed without saying why' },
    ])
  })

  test('VAL-4: an error passed to fail() becomes its cause', () => {
    const error = new Error('ECONNREFUSED')
    expect(fail(error as never).cause).toBe(error)
    expect(fail('No', { cause: error }).cause).toBe(error)
    expect(fail('No')).not.toHaveProperty('cause')
  })

  test('VAL-1: attachments are stored and readable, and a BigInt result is an internal failure', async () => {
    const make = tool({
      name: 'make',
      description: 'Makes a picture',
      input: z.object({}),
      onCrash: 'rerun',
      async execute(_, ctx) {
        const made = ctx.attachments.create(new Uint8Array([1, 2, 3]), { mediaType: 'image/png', name: 'a.png' })
        const [kept] = await ctx.step('keep', () => [made])
        return { kept, bytes: [...(await ctx.attachments.read(kept))] }
      },
    })
    const odd = tool({ name: 'odd', description: 'Returns a BigInt', input: z.object({}), execute: () => ({ n: 1n }) })
    const runtime = await bench.open([make, odd])
    const [made, refused] = await runtime.session('s').run([
      { id: 'a', name: 'make' },
      { id: 'b', name: 'odd' },
    ])
    expect(made).toMatchObject({ value: { bytes: [1, 2, 3] } })
    expect(made?.parts.map((part) => part.type)).toEqual(['text', 'attachment', 'text'])
    expect(refused).toMatchObject({ failure: { class: 'internal', code: 'value_invalid' } })
  })
})
