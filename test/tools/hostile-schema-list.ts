// Schemas and values made to be expensive, for the test of their refusal and for bench/schemas.

export const list = <T>(length: number, item: (index: number) => T): T[] =>
  Array.from({ length }, (_, index) => item(index))
export const record = (length: number, entry: (index: number) => [string, unknown]): Record<string, unknown> =>
  Object.fromEntries(list(length, entry))
const nested = (depth: number, wrap: (inner: object) => object): object =>
  list(depth, () => wrap).reduce<object>((inner, each) => each(inner), {})
/** Definitions of which each leads twice to the next. */
const doubling = (keyword: string, last: object): object => ({
  $ref: '#/$defs/d0',
  $defs: record(31, (index) => {
    const next = { $ref: `#/$defs/d${index + 1}` }
    return [`d${index}`, index === 30 ? last : { [keyword]: [next, next] }]
  }),
})
const wideObject = record(2_000, (index) => [`k${index}`, index])
const wideList = list(2_000, (index) => index)

/** Each item may be one of two equal branches, so each level doubles the work. */
const doublingRecursion = {
  $ref: '#/$defs/t',
  $defs: {
    t: {
      anyOf: [
        { type: 'array', items: { $ref: '#/$defs/t' } },
        { type: 'array', items: { $ref: '#/$defs/t' } },
        { type: 'number' },
      ],
    },
  },
}
const nestedArrays = (depth: number): unknown => list(depth, (n) => n).reduce<unknown>((inner) => [inner], 'x')

/** Refused when the tool is defined, with this message. */
export const refusedSchemas: readonly (readonly [name: string, schema: object, message: RegExp])[] = [
  ['101 levels of allOf', nested(101, (inner) => ({ allOf: [inner] })), /deeper than 64 levels/],
  ['101 levels of items', nested(101, (items) => ({ items })), /deeper than 64 levels/],
  [
    'a chain of 101 references',
    { $defs: record(102, (n) => [`d${n}`, n === 101 ? {} : { $ref: `#/$defs/d${n + 1}` }]) },
    /more than 100 references/,
  ],
  ['2,000 patterns', { patternProperties: record(2_000, (n) => [`^a${n}$`, {}]) }, /patterns are too many or repeat/],
  ['800 patterns', { patternProperties: record(800, (n) => [`^a${n}$`, {}]) }, /patterns are too many or repeat/],
  ['100 long repetitions', { patternProperties: record(100, (n) => [`a{0,900}${n}`, {}]) }, /patterns are too many/],
  ['a repetition of repetitions', { pattern: '((a{1,50}){1,50}){1,50}' }, /patterns are too many or repeat/],
  [
    '100 patterns with properties',
    { patternProperties: record(100, (n) => [String.raw`[\p{L}\p{N}${n}]`, {}]) },
    /patterns are too many or repeat/,
  ],
  [
    '100 ranges outside ASCII whose case is ignored',
    { patternProperties: record(100, (n) => [`(?i:[${String.fromCodePoint(0x100 + n)}-\uffee])`, {}]) },
    /patterns are too many or repeat/,
  ],
  [
    '4 long repetitions of a property',
    { patternProperties: record(4, (n) => [String.raw`[\p{L}${n}]{1,900}`, {}]) },
    /patterns are too many or repeat/,
  ],
  ['a class of 20,000 characters', { pattern: `[${'éa'.repeat(10_000)}]` }, /patterns are too many or repeat/],
  [
    'a million dynamic references',
    {
      $dynamicAnchor: 'n',
      $defs: record(1_000, (n) => [`r${n}`, { $id: `https://x.invalid/${n}`, $dynamicAnchor: 'n' }]),
      properties: record(1_000, (n) => [`p${n}`, { $dynamicRef: '#n' }]),
    },
    /more than 20000 references/,
  ],
]

/** The check of the value ends at the step budget. */
export const costlyChecks: readonly (readonly [name: string, schema: object, value: unknown])[] = [
  ['references that double (allOf)', doubling('allOf', {}), 1],
  ['references that double (anyOf)', doubling('anyOf', { type: 'string' }), 1],
  ['references that double (oneOf)', doubling('oneOf', { type: 'string' }), 1],
  [
    'evaluated keys that are merged again and again',
    { unevaluatedProperties: false, ...doubling('anyOf', { additionalProperties: true }) },
    wideObject,
  ],
  ['2,900 counts of keys', { allOf: list(2_900, () => ({ maxProperties: 9_999 })) }, wideObject],
  [
    '20,000 required keys of 1,000 items',
    { items: { required: list(20_000, (n) => `r${n}`) } },
    list(1_000, () => ({})),
  ],
  [
    '20,000 dependent keys of 1,000 items',
    { items: { dependentRequired: { a: list(20_000, (n) => `r${n}`) } } },
    list(1_000, () => ({ a: 1 })),
  ],
  ['2,000 constants that are objects', { allOf: list(2_000, () => ({ enum: [{}] })) }, wideObject],
  ['2,000 times unique items', { allOf: list(2_000, () => ({ uniqueItems: true })) }, wideList],
  ['1,400 times contains', { allOf: list(1_400, () => ({ contains: { const: 1 }, minContains: 0 })) }, wideList],
  ['1,400 times property names', { allOf: list(1_400, () => ({ propertyNames: { maxLength: 9 } })) }, wideObject],
  ['200 patterns on 2,000 keys', { patternProperties: record(200, (n) => [`^a${n}b*$`, {}]) }, wideObject],
  ['2,900 formats of a long text', { allOf: list(2_900, () => ({ format: 'iri' })) }, `https://${'éa'.repeat(5_000)}`],
  ['2,900 lengths of a long text', { allOf: list(2_900, () => ({ maxLength: 20_000 })) }, '😀'.repeat(15_000)],
  ['2,900 multiples of a tiny number', { allOf: list(2_900, () => ({ multipleOf: 1e-300 })) }, 1e300],
  [
    'evaluated keys of 200 branches and 5,000 keys',
    {
      properties: {
        a: { allOf: list(200, (n) => ({ properties: { [`k${n}`]: true } })), unevaluatedProperties: false },
      },
    },
    { a: record(5_000, (n) => [`k${n}`, n]) },
  ],
  ['a recursion that doubles in 25 nested arrays', doublingRecursion, nestedArrays(25)],
  ['20,000 unique objects', { uniqueItems: true }, list(20_000, (n) => ({ n, kind: `k${n}` }))],
]

/** Accepted, however many rules or values there are. */
export const acceptedChecks: readonly (readonly [name: string, schema: object, value: unknown])[] = [
  [
    '500 properties',
    {
      type: 'object',
      properties: record(500, (n) => [`k${n}`, { type: ['integer', 'null'], minimum: 0 }]),
      required: list(500, (n) => `k${n}`),
      additionalProperties: false,
    },
    record(500, (n) => [`k${n}`, n]),
  ],
  [
    '30 patterns with a property',
    { patternProperties: record(30, (n) => [String.raw`^[\p{L}${n}]+$`, { type: 'number' }]) },
    { a: 1 },
  ],
  ['10,000 numbers', { type: 'array', items: { type: 'number' }, uniqueItems: true }, list(10_000, (n) => n)],
  [
    '1,000 unique objects',
    { type: 'array', items: { type: 'object', required: ['id'] }, uniqueItems: true },
    list(1_000, (n) => ({ id: n, name: `name ${n}`, tags: ['a', 'b'] })),
  ],
  [
    '2,000 rows of 10 fields in a union',
    {
      items: {
        anyOf: [
          { type: 'object', properties: { kind: { const: 'x' } }, required: ['kind'] },
          {
            type: 'object',
            properties: { kind: { const: 'row' }, ...record(9, (n) => [`f${n}`, { type: 'string', maxLength: 99 }]) },
            unevaluatedProperties: false,
          },
        ],
      },
    },
    list(2_000, (n) => ({ kind: 'row', ...record(9, (f) => [`f${f}`, `text ${n}`]) })),
  ],
  [
    'a text of 200,000 characters',
    { type: 'string', pattern: '^[a-z ]+$', maxLength: 1_000_000 },
    'ab '.repeat(66_000),
  ],
]
