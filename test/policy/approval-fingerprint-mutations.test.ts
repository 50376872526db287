// 10,000 random mutations of arguments, tool definition or call identity: none has the fingerprint that was approved.
// The seed is printed; PAWL_SEED=<n> repeats it.

import { fc, seed } from '../kit/seeded-fast-check.ts'
import { expect, test } from 'vitest'
import { createRuntime, type InboxItem, type Runtime, tool, type Tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { encode, type Json } from '../../src/core/tool-value.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { type ApprovalBinding, approvalFingerprint } from '../../src/policy/approval-fingerprint.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

console.log(`PAWL_SEED=${seed}`)

type Fields = { [key: string]: Json }

/** Only recordable values: no lone surrogates, no rounded integers, no -0. */
const number = fc
  .oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }))
  .map((each) => each + 0 || 0)
const text = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((each) => each.isWellFormed())
const leaf = fc.oneof(number, text, fc.boolean(), fc.constant(null)) as fc.Arbitrary<Json>
const key = fc.oneof(
  text,
  fc.constantFrom('cents', 'order', '__proto__', 'constructor', 'toString', '$pawl', '0', '-1', 'é', 'e\u0301', ''),
)
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }) as fc.Arbitrary<Json>,
    fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map(fields),
  ),
}))
const args = fc.array(fc.tuple(key, value), { minLength: 1, maxLength: 5 }).map(fields)

/** Creates own keys only, including `__proto__`. */
function fields(entries: readonly (readonly [string, Json])[]): Fields {
  return Object.fromEntries(entries)
}

/** Every position inside a value, with a function that replaces the value there. */
function places(of: Json, put: (next: Json) => Json): { at: Json; put: (next: Json) => Json }[] {
  const own = { at: of, put }
  if (typeof of !== 'object' || of === null) return [own]
  const inner = Array.isArray(of)
    ? of.flatMap((each, n) => places(each, (next) => put(of.with(n, next))))
    : Object.keys(of).flatMap((name) =>
        places(of[name] as Json, (next) => put(fields(Object.entries(of).map(([k, v]) => [k, k === name ? next : v])))),
      )
  return [own, ...inner]
}

/** Small mutations that are easy to overlook: a digit, a letter, a type, a Unicode normal form, a space. */
function nearby(at: Json, any: Json): Json[] {
  if (typeof at === 'number') return [at + 1, -at, at / 2, at * 10, String(at), [at], at > 0, null]
  if (typeof at === 'string')
    return [
      `${at} `,
      `${at}\u200b`,
      at.toUpperCase(),
      at.normalize('NFD'),
      Array.from(at).slice(1).join(''),
      Number(at) || 0,
      [at],
      null,
      `${at}\0`,
    ]
  if (typeof at === 'boolean') return [!at, String(at), Number(at), null]
  if (at === null) return ['null', 0, '', false, {}, []]
  if (Array.isArray(at))
    return [[...at, null], at.slice(1), at.toReversed(), Object.fromEntries(at.entries()), [at], [...at, ...at]]
  const [first] = Object.keys(at)
  const without = Object.fromEntries(Object.entries(at).slice(1))
  const renamed = first === undefined ? {} : { ...without, [`${first} `]: at[first] as Json }
  return [without, renamed, { ...at, extra: any }, Object.entries(at), [at], null]
}

const isSame = (one: Json, other: Json): boolean => {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return Object.is(one, other) || one === other
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [a, b] = [Object.keys(one).toSorted(), Object.keys(other).toSorted()]
  return (
    a.length === b.length &&
    a.every((k, n) => k === b[n] && isSame((one as Fields)[k] as Json, (other as Fields)[k] as Json))
  )
}

/** Applies one mutation to one value. */
const mutated = (given: Fields): fc.Arbitrary<Json> =>
  fc.tuple(fc.nat(), fc.nat(), value).map(([where, how, any]) => {
    const all = places(given, (next) => next)
    const { at, put } = all[where % all.length] as (typeof all)[number]
    const near = [...nearby(at, any), any].filter((each) => !isSame(each, at))
    return put(near[how % near.length] as Json)
  })

function reordered(given: Json): Json {
  if (typeof given !== 'object' || given === null) return given
  if (Array.isArray(given)) return given.map(reordered)
  return fields(Object.entries(given).map(([name, inner]) => [name, reordered(inner)] as const).toReversed()) // prettier-ignore
}

const definition = {
  id: 'refund',
  name: 'refund',
  description: 'Refund an order',
  version: '1',
  hints: { destructive: true } as object,
  input: { type: 'object', properties: { cents: { type: 'number' } } } as object,
  output: { type: 'object' } as object,
}
const toolOf = (over: Partial<typeof definition> = {}): Tool =>
  tool({ ...definition, ...over, execute: () => ({}) } as never)

// Tool names of Object.prototype properties are rejected.
const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,20}$/).filter((each) => !(each in Object.prototype))
const otherTool = fc.oneof(
  name.filter((each) => each !== 'refund').map((id) => ({ id })),
  name.filter((each) => each !== 'refund').map((each) => ({ name: each })),
  text.filter((each) => each.trim() !== '').map((each) => ({ description: `${definition.description}${each}` })),
  text.filter((each) => each !== '1').map((version) => ({ version })),
  fc
    .record({ destructive: fc.boolean(), readOnly: fc.boolean(), idempotent: fc.boolean(), openWorld: fc.boolean() })
    .filter(
      ({ destructive, readOnly, idempotent, openWorld }) =>
        (readOnly || idempotent || openWorld || !destructive) && !(destructive && readOnly),
    )
    .map((hints) => ({ hints })),
  number.map((maximum) => ({ input: { type: 'object', properties: { cents: { type: 'number', maximum } } } })),
  name.map((property) => ({ output: { type: 'object', properties: { [property]: {} } } })),
)

const runs = 10_000

test('POL-2: 10,000 random mutations each change the fingerprint', { timeout: 60_000 }, () => {
  const base = toolOf()
  const identity = (bound: ApprovalBinding): fc.Arbitrary<ApprovalBinding> =>
    fc.oneof(
      text.map((more) => ({ ...bound, tenant: `${bound.tenant}${more || ' '}` })),
      text.map((more) => ({ ...bound, call: `${more || ' '}${bound.call}` })),
      // Swapped fields must not produce the same fingerprint.
      fc.constant({ ...bound, tenant: bound.call, call: bound.tenant }),
      fc.constant({ ...bound, tool: bound.call, call: bound.tool }),
    )
  const change = args.chain((given) => {
    const bound: ApprovalBinding = { tenant: 'acme', call: 'u1', tool: base.fingerprint, args: encode(given) }
    const other = fc.oneof(
      { weight: 6, arbitrary: mutated(given).map((each) => ({ ...bound, args: encode(each) })) },
      { weight: 2, arbitrary: otherTool.map((over) => ({ ...bound, tool: toolOf(over as never).fingerprint })) },
      { weight: 2, arbitrary: identity(bound) },
    )
    return fc.tuple(fc.constant(bound), other, fc.constant(given))
  })
  let seen = 0
  fc.assert(
    fc.property(change, ([bound, other, given]) => {
      seen++
      const fingerprint = approvalFingerprint(bound)
      expect(approvalFingerprint(other)).not.toBe(fingerprint)
      // Key order does not matter.
      expect(approvalFingerprint({ ...bound, args: encode(reordered(given)) })).toBe(fingerprint)
    }),
    { seed, numRuns: runs, endOnFailure: true },
  )
  expect(seen).toBe(runs)
  // Equal definitions have equal fingerprints.
  expect(toolOf().fingerprint).toBe(base.fingerprint)
})

test('POL-2: number format and key order do not change the fingerprint', () => {
  const of = (text: string): string =>
    approvalFingerprint({ tenant: 't', call: 'u', tool: 'f', args: encode(JSON.parse(text)) })
  for (const [one, other] of [
    ['{"a":1}', '{"a":1.0}'],
    ['{"a":100}', '{"a":1e2}'],
    ['{"a":0}', '{"a":-0}'],
    ['{"a":{"b":[{"x":1,"y":2}],"c":3}}', '{"a":{"c":3.0,"b":[{"y":2,"x":1}]}}'],
    [String.raw`{"a":"é"}`, String.raw`{"a":"\u00e9"}`],
  ] as const)
    expect(of(one), other).toBe(of(other))
  for (const [one, other] of [
    ['{"a":[1,2]}', '{"a":[2,1]}'],
    ['{"a":1}', '{"a":"1"}'],
    ['{"a":1}', '{"a":1.0000000000000002}'],
    ['{"a":"é"}', '{"a":"e\u0301"}'],
    ['{"a":null}', '{}'],
    ['{"__proto__":1}', '{}'],
    ['{"a":{}}', '{"a":[]}'],
    ['{"$pawl":"attachment","ref":{}}', '{"$pawl":"object","entries":{"$pawl":"attachment","ref":{}}}'],
  ] as const)
    expect(of(one), other).not.toBe(of(other))
})

test(
  'POL-2: sampled mutations sent to the runtime ask for approval again and run nothing',
  { timeout: 60_000 },
  async () => {
    const ran: unknown[] = []
    const made = (over: object = {}): Tool =>
      tool({
        ...definition,
        input: { type: 'object' },
        ...over,
        execute: (input: unknown) => (ran.push(input), {}),
      } as never)
    const clock = manualClock()
    const store = memoryStore({ clock })
    const open = (over?: object): Promise<Runtime> =>
      createRuntime({ store, tools: [made(over)], clock, logger: quiet })
    const bea = { by: 'user:bea' }
    const asked = async (runtime: Runtime, id: string, input: Json): Promise<InboxItem> => {
      const outcomes = await runtime
        .session('s', { tenant: 'acme' })
        .run([{ id, name: 'refund', input }], { until: 'waiting' })
      expect(outcomes, encode(input)).toMatchObject([{ status: 'waiting', for: 'approval' }])
      return (await runtime.inbox({ tenant: 'acme', session: 's' })).find(({ callId }) => callId === id) as InboxItem
    }
    const samples = fc.sample(
      args.chain((given) => fc.tuple(fc.constant(given), mutated(given).filter(isObject))),
      { seed, numRuns: 250 },
    )
    const runtime = await open()
    for (const [n, [given, other]] of samples.entries()) {
      const first = await asked(runtime, `c${n}`, given)
      expect(encode(first.args)).toBe(encode(given))
      const second = await asked(runtime, `d${n}`, other)
      // An approval with the fingerprint of the other item is rejected.
      for (const [one, shown] of [
        [first, second],
        [second, first],
      ] as const) {
        const { fingerprint } = shown
        expect(await runtime.decide(one.id, { approve: true, ...bea, fingerprint })).toMatchObject({
          answer: 'refused',
        })
        expect(await runtime.decide(one.id, { deny: true, ...bea })).toMatchObject({ answer: 'accepted' })
      }
    }
    await runtime.close({ grace: 0 })
    const changes = fc.sample(otherTool, { seed, numRuns: 100 }).filter((over) => !('name' in over) && !('id' in over))
    for (const [n, over] of changes.entries()) {
      const input = { cents: -1e12 }
      const before = await open()
      const first = await asked(before, `t${n}`, input)
      await before.close({ grace: 0 })
      const upgrade = 'version' in over ? { upgrade: ({ args: old }: { args: Json }) => old } : {}
      const after = await open({ ...over, ...upgrade, approval: 'always' })
      expect(await after.decide(first.id, { approve: true, ...bea })).toMatchObject({ answer: 'accepted' })
      const second = await asked(after, `t${n}`, input)
      expect(second.id, JSON.stringify(over)).not.toBe(first.id)
      expect(second.approvals).toEqual([])
      await after.decide(second.id, { deny: true, ...bea })
      await after.session('s', { tenant: 'acme' }).run([{ id: `t${n}`, name: 'refund', input }])
      await after.close({ grace: 0 })
    }
    expect(samples.length + changes.length).toBeGreaterThan(280)
    expect(ran).toEqual([])
  },
)

const isObject = (given: Json): boolean => typeof given === 'object' && given !== null && !Array.isArray(given)
