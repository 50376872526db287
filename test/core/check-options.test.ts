import { expect, test } from 'vitest'
import { checkOptions, checkRequiredOptions, option, type OptionTable } from '../../src/core/check-options.ts'

interface Example {
  name: string
  tenant?: string
  onFailure?: 'continue' | 'stop'
  timeout?: number | string | { total?: string }
  rates?: readonly { count: number }[]
  tools?: Record<string, { concurrent?: number }>
  key?: string
  meta?: unknown
}

const table = {
  name: option.required(option.nonEmptyString),
  tenant: option.string,
  onFailure: option.oneOf('continue', 'stop'),
  timeout: option.either(
    option.duration,
    option.nested({ total: option.duration } satisfies OptionTable<{ total?: string }>),
  ),
  rates: option.listOf(option.nested({ count: option.required(option.positiveLimit) })),
  tools: option.recordOf(option.nested({ concurrent: option.positiveLimit })),
  key: option.hidden(option.string),
  meta: option.anything,
} satisfies OptionTable<Example>

const problemOf = (given: unknown): string => {
  try {
    checkRequiredOptions(given, table, 'example()', 'call_invalid')
  } catch (error) {
    return (error as Error).message
  }
  return ''
}

test('CALL-12: valid options pass, and undefined counts as absent', () => {
  const all = { tenant: 't', onFailure: 'stop', timeout: '3s', rates: [{ count: 1 }], key: 'k', meta: () => 1 }
  expect(problemOf({ name: 'n', ...all })).toBe('')
  expect(problemOf({ name: 'n', tenant: undefined, timeout: { total: '1s' }, tools: { a: {} } })).toBe('')
  expect(() => checkOptions(undefined, table, 'example()')).not.toThrow()
})

test.each([
  [{ name: 'n', tenent: 't' }, '`example()` has no option `tenent`; did you mean `tenant`?'],
  [{ name: 'n', onFailure: 'halt' }, "`onFailure` is 'halt'; it must be 'continue' or 'stop'."],
  [{ name: 'n', timeout: { totl: 1 } }, '`timeout` has no option `totl`; did you mean `total`?'],
  [
    { name: 'n', rates: [{ count: 1 }, { count: 0 }] },
    '`rates[1].count` is 0; it must be a whole number of at least 1',
  ],
  [{ name: 'n', rates: [{}] }, '`rates[0].count` is missing'],
  [{ name: 'n', tools: { a: { concurent: 1 } } }, '`tools.a` has no option `concurent`; did you mean `concurrent`?'],
  [{ name: 'n', tools: [] }, '`tools` is []; it must be an object.'],
  [{ tenant: 't' }, '`name` is missing; it must be a non-empty string.'],
  [{ name: 'n', zzz: 1 }, '`example()` has no option `zzz`; its options are `name`, `tenant`'],
  [{ name: 'n', constructor: 1 }, '`example()` has no option `constructor`'],
  [JSON.parse('{"name":"n","__proto__":1}'), '`example()` has no option `__proto__`'],
  [Object.create({ name: 'n', tenent: 't' }), '`example()` has no option `tenent`'],
  [null, 'The options of `example()` are null; they must be an object.'],
  ['x', "The options of `example()` are 'x'; they must be an object."],
  [undefined, 'The options of `example()` are undefined; they must be an object.'],
])('CALL-12: %o is refused: %s', (given, message) => {
  expect(problemOf(given)).toContain(message)
})

test('CALL-12: the error about a secret option does not show its value', () => {
  expect(problemOf({ name: 'n', key: 12345678 })).toBe('`key` is invalid; it must be a string.')
})

test('CALL-12: a table with a missing or an unknown row does not compile', () => {
  // @ts-expect-error `b` has no row
  const missing = { a: option.boolean } satisfies OptionTable<{ a?: boolean; b?: boolean }>
  // @ts-expect-error `b` is no option
  const unknown = { a: option.boolean, b: option.boolean } satisfies OptionTable<{ a?: boolean }>
  expect([missing, unknown]).toHaveLength(2)
})
