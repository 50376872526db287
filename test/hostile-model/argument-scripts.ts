// Attacks with arguments: hidden from a rule, unreadable, or expensive to parse.

import { one, type Script, visible } from './attack-script.ts'

/** `pay` takes any object. Policy allows up to 2000 cents, denies more, and does not allow values it cannot compare. */
const dodges: Record<string, unknown> = {
  'no field': {},
  'a number as text': { cents: '99999' },
  'a small number as text': { cents: '1' },
  'text with a space': { cents: ' 1' },
  'text with an exponent': { cents: '1e9' },
  'hexadecimal text': { cents: '0x7fffffff' },
  'text with a thousands mark': { cents: '1,000' },
  'full-width digits': { cents: '１' },
  'Arabic digits': { cents: '١' },
  'the word NaN': { cents: 'NaN' },
  'the word -Infinity': { cents: '-Infinity' },
  'a list of one': { cents: [1] },
  'a list of two': { cents: [1, 99_999] },
  'an empty list': { cents: [] },
  'an object': { cents: { value: 1 } },
  'an operator of a query': { cents: { $lte: 2000 } },
  'an object with valueOf': { cents: { valueOf: 1 } },
  'a list in a list': { cents: [[1]] },
  null: { cents: null },
  true: { cents: true },
  false: { cents: false },
  'another case': { Cents: 1 },
  'a space behind the name': { 'cents ': 1 },
  'a zero-width space in the name': { 'ce\u200Bnts': 1 },
  'a letter of another script in the name': { сents: 1 },
  'the field one level deeper': { payment: { cents: 1 } },
  'a path for a name': { 'payment.cents': 1 },
  'a list instead of an object of fields': { 0: { cents: 1 } },
  'an attachment for a number': {
    cents: { $pawl: 'attachment', ref: { id: 'att_1', mediaType: 'text/plain', bytes: 1 } },
  },
  'a little too much': { cents: 2000.0000000001 },
  'the largest number': { cents: 1.7976931348623157e308 },
  'less than nothing': { cents: -99_999 },
}
/** The same for a tool that only has an allow rule; values below its bound are left out. */
const { 'less than nothing': _, ...beyond } = dodges
const dodgesAsText: Record<string, string> = {
  'minus zero': '{"cents":-0}',
  'minus zero with an exponent': '{"cents":-0e0}',
  'the same name twice, the small one first': '{"cents":1,"cents":99999}',
  'the same name twice, once escaped': '{"cents":1,"\\u0063ents":99999}',
  'a prototype with the field': '{"__proto__":{"cents":1}}',
  'a constructor with a prototype with the field': '{"constructor":{"prototype":{"cents":1}}}',
  'a prototype of the prototype': '{"__proto__":{"__proto__":{"cents":1}}}',
  'a name with a NUL': '{"cents\\u0000":1}',
}
const { 'minus zero': __, 'minus zero with an exponent': ___, ...unseen } = dodgesAsText
const notNumbers: Record<string, string> = {
  'more than a number can be': '{"cents":1e309}',
  'less than a number can be': '{"cents":-1e309}',
  'a large integer that rounds': '{"cents":9007199254740993}',
  'a huge integer': '{"cents":99999999999999999999}',
  'a thousand digits': `{"cents":${'9'.repeat(1_000)}}`,
  'a leading zero': '{"cents":01}',
  'hexadecimal digits': '{"cents":0x1}',
  'a plus sign': '{"cents":+1}',
  'digits of another script': '{"cents":١}',
  'NaN itself': '{"cents":NaN}',
  'a lone surrogate in the text': '{"cents":1,"a":"\uD800"}',
}
const cut = [
  '{', '[', '"', '{"cents"', '{"cents":', '{"cents":1', '{"cents":1,', '{"cents":1,"to":"', '{"cents":1,"to":["a"', '{"cents":1}}', '{"cents":1} {"cents":99999}',
  '{"cents":1},', "{'cents':1}", '{cents:1}', '{"cents":1,}', '// c\n{"cents":1}', '\uFEFF{"cents":1}', '<cents>1</cents>', 'cents=1', '```json\n{"cents":1}\n```', 'tru',
] // prettier-ignore
const wrongForSchema: Record<string, unknown> = {
  'text for a number': { order: 'A1', cents: '1' },
  'a number for text': { order: 1, cents: 1 },
  'nothing': undefined,
  'blank text': '   ',
  'null for all of it': 'null',
  'a list for all of it': '[{"order":"A1","cents":1}]',
  'a text for all of it': '"{\\"order\\":\\"A1\\",\\"cents\\":1}"',
  'a number for all of it': '7',
  'fields that are only inherited': '{"__proto__":{"order":"A1","cents":1}}',
} // prettier-ignore

const nested = (depth: number): string => `{"cents":1,"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
function nestedValue(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = [value]
  return { cents: 1, a: value }
}
const heavy: Record<string, unknown> = {
  'one level too deep': nested(512),
  'five thousand levels': nested(5_000),
  'a hundred thousand levels': nested(100_000),
  'brackets without end': '['.repeat(300_000),
  'five thousand levels as a value': nestedValue(5_000),
  'twenty thousand levels as a value': nestedValue(20_000),
  'two megabytes of text': { cents: 1, a: 'x'.repeat(2 * 1024 * 1024) },
  'two megabytes as text': `{"cents":1,"a":"${'x'.repeat(2 * 1024 * 1024)}"}`,
  'two hundred thousand names': `{"cents":1${Array.from({ length: 200_000 }, (_, order) => `,"k${order}":0`).join('')}}`,
  'two megabytes of spaces': `{"cents":1${' '.repeat(2 * 1024 * 1024)}}`,
}
const countries: Record<string, unknown> = {
  'another case': { to: { country: 'de ' } },
  'a list of countries': { to: { country: ['DE'] } },
  'no country': { to: {} },
  'the country at the top': { country: 'DE', to: 'DE' },
  'a list of addresses': { to: [{ country: 'DE' }] },
  'a country of another script': { to: { country: 'DЕ' } },
  'null for an address': { to: null },
  'an inherited country': '{"to":{"__proto__":{"country":"DE"}}}',
}
const tags: Record<string, unknown> = {
  'the tag in a list': { tags: ['a', 'public'] },
  'the tag in a text': { tags: 'a,public' },
  'the tag as a name': { tags: { public: true } },
  'a list that holds other things too': { tags: ['a', 1] },
  'a list in a list': { tags: [['public']] },
}

const each = (of: Record<string, unknown>, make: (what: string, input: unknown) => Script): Script[] =>
  Object.entries(of).map(([what, input]) => make(what, input))

export const badArguments: readonly Script[] = [
  ...each({ ...dodges, ...dodgesAsText }, (what, input) =>
    one(
      `an amount that a rule cannot see: ${what}`,
      'a rule that allows it',
      { name: 'pay', input },
      'denied_by_policy',
    ),
  ),
  ...each({ ...beyond, ...unseen }, (what, input) =>
    one(`an amount that no rule allows: ${what}`, 'the approval of a person', { name: 'spend', input }, 'waiting'),
  ),
  one('a field that every object has', 'the approval of a person', { name: 'odd', input: {} }, 'waiting'),
  ...each(countries, (what, input) =>
    one(
      `a country that a rule cannot see: ${what}`,
      'a rule that allows it',
      { name: 'ship', input },
      'denied_by_policy',
    ),
  ),
  ...each(tags, (what, input) =>
    one(`a tag that a rule must find: ${what}`, 'a rule that allows it', { name: 'tag', input }, 'denied_by_policy'),
  ),
  ...each(notNumbers, (what, input) =>
    one(`a number that is none: ${what}`, 'arguments that can be read', { name: 'pay', input }, 'invalid_arguments'),
  ),
  ...cut.map((input) =>
    one(
      `text that is not JSON: ${visible(input)}`,
      'arguments that can be read',
      { name: 'pay', input },
      'invalid_arguments',
    ),
  ),
  ...each(heavy, (what, input) =>
    one(`arguments that weigh: ${what}`, 'arguments that can be read', { name: 'pay', input }, 'invalid_arguments'),
  ),
  ...each(wrongForSchema, (what, input) =>
    one(
      `what the schema does not take: ${what}`,
      'arguments that the schema takes',
      { name: 'refund', input },
      'invalid_arguments',
    ),
  ),
  // JSON.parse keeps the last of two equal keys, and the body receives the same value that policy checked.
  one(
    'the same name twice, the large one first',
    'a rule that allows it',
    { name: 'pay', input: '{"cents":99999,"cents":1}' },
    'success',
    {
      may: [{ tool: 'pay', input: { cents: 1 } }],
    },
  ),
]
