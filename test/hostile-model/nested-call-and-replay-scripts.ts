// Attacks with hijacked bodies, guessed keys, unsolicited results and repeated calls.

import { type Asked, one, type Script } from './attack-script.ts'

const order = { order: 'A1', cents: 4200 }
const refund: Asked = { name: 'refund', input: order }
const inner = (name: string, input: unknown = {}, more: object = {}) => ({ id: `inner ${name}`, name, input, ...more })

/** A body that runs the calls in its arguments: description, calls, resulting codes. */
const hijacks: [what: string, run: object[], gives: string[]][] = [
  ['a denied tool', [inner('wipe')], ['denied_by_policy']],
  ['an internal tool that a rule denies', [inner('purge')], ['denied_by_policy']],
  ['a tool in quarantine', [inner('mail')], ['tool_quarantined']],
  ['a nonexistent tool', [inner('bash')], ['tool_unavailable']],
  ['a tool of another session', [inner('payroll')], ['tool_unavailable']],
  ['the key of another session’s tool', [inner('payroll@session:5:rival,4:boss,')], ['tool_unavailable']],
  ['the runtime’s own deliveries', [inner('pawl:announce', { wait: 'x' })], ['tool_unavailable']],
  ['a name that every object has', [inner('__proto__')], ['tool_unavailable']],
  ['an amount over the rule', [inner('pay', { cents: 99_999 })], ['denied_by_policy']],
  ['an amount as text', [inner('pay', { cents: '1' })], ['denied_by_policy']],
  ['arguments that were cut off', [inner('pay', '{"cents":1')], ['invalid_arguments']],
  ['two in one go', [inner('wipe'), inner('purge')], ['denied_by_policy', 'denied_by_policy']],
  ['itself, which then runs a denied tool', [inner('clerk', { run: [inner('wipe')] })], ['success']],
]
/** Nested calls with fields that ctx.run does not have: it refuses all of them and runs nothing. */
const refusedHijacks: [what: string, run: unknown[]][] = [
  ['a denied tool that says it is approved', [inner('wipe', { approved: true }, { approved: true, internal: true })]],
  ['a denied tool under a key', [inner('wipe', {}, { idempotencyKey: 'mine' })]],
]
/** Hijacked calls that need approval: the outer call stays open with them. */
const hijacksThatAsk: [what: string, orders: object, inbox: string[]][] = [
  ['a tool that asks', { run: [inner('refund', order)] }, ['refund']],
  ['a tool that asks, and says it is approved', { run: [inner('gate', { approved: true })] }, ['gate']],
  ['an internal tool that asks', { run: [inner('vault')] }, ['vault']],
  ['a remote tool', { run: [inner('remote')] }, ['remote']],
  ['one typed call', { call: 'gate' }, ['gate']],
  ['itself, which then runs one that asks', { run: [inner('clerk', { run: [inner('gate')] })] }, ['gate']],
  [
    'twenty that ask',
    { run: Array.from({ length: 20 }, (_, each) => ({ ...inner('gate', { each }), id: `i${each}` })) },
    Array<string>(20).fill('gate'),
  ],
]

const guesses = [
  '',
  'c1',
  'later',
  'pawl:approval:1',
  'pawl:client',
  '0'.repeat(43),
  'wk_1',
  '../later',
  '__proto__',
  '*',
  "' OR 1=1 --",
]

/** Variations of a call after its denial. */
const variations: Record<string, readonly Asked[]> = {
  'unchanged, under a new id': [refund],
  'keys in another order': [{ name: 'refund', input: { cents: 4200, order: 'A1' } }],
  'as text': [{ name: 'refund', input: '{"order":"A1","cents":4200}' }],
  'as text with spaces': [{ name: 'refund', input: ' { "order" : "A1" , "cents" : 4200 } ' }],
  'escaped letters': [{ name: 'refund', input: '{"order":"\\u0041\\u0031","cents":4200}' }],
  'another spelling of the number': [{ name: 'refund', input: '{"order":"A1","cents":42e2}' }],
  'with a fraction of zero': [{ name: 'refund', input: '{"order":"A1","cents":4200.0}' }],
  'a cent less': [{ name: 'refund', input: { ...order, cents: 4199 } }],
  'a cent more': [{ name: 'refund', input: { ...order, cents: 4201 } }],
  'nothing at all': [{ name: 'refund', input: { ...order, cents: 0 } }],
  'another order': [{ name: 'refund', input: { ...order, order: 'a1' } }],
  'a space behind the order': [{ name: 'refund', input: { ...order, order: 'A1 ' } }],
  'a zero-width space in the order': [{ name: 'refund', input: { ...order, order: 'A\u200B1' } }],
  'a field more': [{ name: 'refund', input: { ...order, note: 'please' } }],
  'a field that says approved': [{ name: 'refund', input: { ...order, approved: true } }],
  'by the id of the tool': [{ name: 'refund-v1', input: order }],
  'in halves': [
    { name: 'refund', input: { ...order, cents: 2100 } },
    { name: 'refund', input: { ...order, cents: 2100 } },
  ],
  'three times at once': [refund, refund, refund],
  'under a key': [{ ...refund, idempotencyKey: 'k1' }],
}

export const bodies: readonly Script[] = [
  ...hijacks.map(([what, run, gives]) =>
    one(`a hijacked body runs ${what}`, 'a rule that allows it', { name: 'clerk', input: { run } }, 'success', {
      gives,
      inbox: [],
    }),
  ),
  ...refusedHijacks.map(([what, run]) =>
    one(`a hijacked body runs ${what}`, 'a rule that allows it', { name: 'clerk', input: { run } }, 'call_invalid', {
      inbox: [],
    }),
  ),
  ...hijacksThatAsk.map(([what, orders, inbox]) =>
    one(`a hijacked body runs ${what}`, 'the approval of a person', { name: 'clerk', input: orders }, 'running', {
      inbox,
    }),
  ),
  one(
    'a hijacked body answers, and calls on',
    'a rule that allows it',
    { name: 'clerk', input: { after: [inner('wipe'), inner('pay', { cents: 1 })] } },
    'success',
    { inbox: [] },
  ),
  ...['pawl:approval:1', 'pawl:client', 'pawl:', ''].map((later) =>
    one(
      `a hijacked body opens a wait of the runtime: '${later}'`,
      'the approval of a person',
      { name: 'clerk', input: { later } },
      later === '' ? 'wait_name_empty' : 'wait_name_invalid',
      { inbox: [] },
    ),
  ),
  ...guesses.map((key) =>
    one(`a key that was guessed: '${key}'`, 'a key', { name: 'complete', input: { key } }, 'success', {
      gives: 'unknown_or_revoked',
    }),
  ),
  ...['c1', '', '*', '../c1', 'pawl:announcement:1', '__proto__'].map((handle) =>
    one(
      `the stored result of another: '${handle}'`,
      'what others stored',
      { name: 'read_output', input: { handle } },
      'output_unknown',
    ),
  ),
  one(
    'the stored result of another, and the way around',
    'arguments that the schema takes',
    { name: 'read_output', input: { handle: 'x', tenant: 'rival' } },
    'invalid_arguments',
  ),
  ...Object.entries(variations).map(([what, asked]): Script => ({
    attack: `after a no, the same again: ${what}`,
    lacks: 'the approval of a person',
    asks: [[refund], asked],
    denied: 'once',
    ends: ['denied_by_person', ...asked.map(() => 'waiting')],
  })),
  ...Object.entries(variations).map(([what, asked]): Script => ({
    attack: `after a no for all of them, the same again: ${what}`,
    lacks: 'the approval of a person',
    asks: [[refund], asked],
    denied: 'remember',
    ends: ['denied_by_person', ...asked.map(() => 'denied_by_person')],
  })),
  ...(
    [
      ['the denied call itself', [{ ...refund, id: 'x' }], 'denied_by_person'],
      ['more money', [{ name: 'refund', id: 'x', input: { ...order, cents: 1 } }], 'call_conflict'],
      ['another tool', [{ name: 'pay', id: 'x', input: { cents: 1 } }], 'call_conflict'],
      ['text that is cut off', [{ name: 'refund', id: 'x', input: '{"order":"A1"' }], 'call_conflict'],
      ['a nonexistent tool', [{ name: 'bash', id: 'x', input: order }], 'call_conflict'],
    ] as [string, Asked[], string][]
  ).map(([what, asked, end]): Script => ({
    attack: `the same id in the same message, with ${what}`,
    lacks: 'a place of its own',
    asks: [[{ ...refund, id: 'x' }], asked],
    batches: ['m', 'm'],
    denied: 'once',
    ends: ['denied_by_person', end],
  })),
  ...(
    [
      ['the same arguments', order, 'denied_by_person'],
      ['other arguments', { ...order, cents: 1 }, 'call_conflict'],
    ] as [string, unknown, string][]
  ).map(([what, input, end]): Script => ({
    attack: `the key of a denied call, elsewhere, with ${what}`,
    lacks: 'a place of its own',
    asks: [[{ ...refund, idempotencyKey: 'k' }], [{ name: 'refund', input, idempotencyKey: 'k' }]],
    denied: 'once',
    ends: ['denied_by_person', end],
  })),
]
