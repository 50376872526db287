// Turns for the crash matrix: tools, an approval and a background task. After a crash at any write there must be one
// history, each effect once, and no answer paid twice.
/* oxlint-disable typescript/no-explicit-any -- bodies of many shapes and their inputs */

import {
  type ModelCall,
  ModelFailure,
  type ModelMessage,
  type RuntimeOptions,
  type StoredMessage,
  type Model,
} from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { type Scenario, t, type World } from '../../kit/fault-scenario.ts'
import { problemsIn } from '../../kit/models/conversation-rules.ts'

const taskIn = (messages: readonly ModelMessage[]): string =>
  /\\"task_id\\":\\"([^\\]+)\\"/.exec(JSON.stringify(messages))?.[1] ?? ''

const model = (w: World) => {
  const scripted = scriptedModel(
    [
      {
        say: 'I look.',
        call: [
          { name: 'look', input: { n: 1 } },
          { name: 'look', input: { n: 2 } },
        ],
      },
      { call: { name: 'refund', input: { cents: 4200 } } },
      {
        call: [
          { name: 'spawn_background', input: { tool: 'export', args: {} } },
          { name: 'note', input: { text: 'refunded' } },
        ],
      },
      ({ request }) => ({
        call: { name: 'wait_task', input: { task_id: taskIn(request.messages), timeout_seconds: 60 } },
      }),
      { call: { name: 'steps', input: {} } },
      'All done.',
    ],
    {
      name: 'm',
      async wait({ request, answers }) {
        w.did(`answer ${answers + 1}`)
        for (const problem of problemsIn(request.messages)) w.did(`problem: ${problem}`)
      },
    },
  )
  return scripted
}

const tools = (w: World) => [
  t('look', { hints: { readOnly: true }, execute: ({ n }: any) => ({ n, cents: 4200 }) }),
  t('refund', {
    hints: { destructive: true },
    onCrash: 'rerun',
    execute: async (_: unknown, ctx: any) =>
      ctx.step('refund', () => w.did(`refund ${ctx.idempotencyKey}`) && 'ok', { once: false }),
  }),
  t('note', {
    hints: { idempotent: true },
    execute: (_: unknown, ctx: any) => w.did(`note ${ctx.idempotencyKey}`) && 'noted',
  }),
  t('export', {
    onCrash: 'rerun',
    background: true,
    execute: async (_: unknown, ctx: any) =>
      ctx.step('export', () => w.did(`export ${ctx.key('export')}`) && 'exported'),
  }),
  t('steps', {
    onCrash: 'rerun',
    execute: async (_: unknown, ctx: any) => {
      await ctx.step('a', () => w.did(`step a ${ctx.key('a')}`) && 'a')
      await ctx.sleep('1s')
      return ctx.step('b', () => w.did(`step b ${ctx.key('b')}`) && 'b')
    },
  }),
]

/** External effects: each must have one idempotency key, whatever crashed, so that it happened once. */
const outside = ['refund', 'note', 'export', 'step a', 'step b']

/**
 * The conversation without variable parts: task ids, attempt numbers, and the status of a task when its start was
 * reported. Notices are moved to the end, because the notice of a task may arrive before the result of wait_task.
 */
function contents(messages: readonly StoredMessage[]): string[] {
  const told = messages.map(({ message }) => message)
  const inOrder = [...told.filter(({ role }) => role !== 'notice'), ...told.filter(({ role }) => role === 'notice')]
  return inOrder.map((message) =>
    JSON.stringify(message)
      .replace(/task_[\w-]{8,}/g, 'task_id')
      .replace(/(\\?"attempt\\?":)\d+/g, '$1n')
      .replace(/(\\?"status\\?":\\?")(?:queued|running|succeeded)/g, '$1begun'),
  )
}

/** The history of the first run, which has no crash. */
let undisturbed: readonly string[] | null = null

const roles = (messages: readonly StoredMessage[]): string => messages.map(({ message }) => message.role).join(' ')

export const wholeTurn: Scenario = {
  name: 'a turn with five tools, an approval and a background task',
  cites: 'SESS-1',
  tools,
  options: (w): Partial<RuntimeOptions> => ({ models: [model(w)] }),
  asks: [],
  ask: async (w) => [
    await w.runtime.session('s').turn({ model: 'm', id: 't', message: 'Refund A1 and export it' }).outcome,
  ],
  async poke(w) {
    for (const { id } of await w.runtime.inbox()) await w.runtime.decide(id, { approve: true, by: 'user:bea' })
  },
  ends: [{ status: 'success', value: { end: 'answer', text: 'All done.', steps: 6 } }],
  most: {},
  async laws(w) {
    const wrong: string[] = []
    const session = w.runtime.session('s')
    const messages = await session.messages.list()
    // The notice of the task may arrive before the result of wait_task.
    const said = roles(messages.filter(({ message }) => message.role !== 'notice'))
    if (said !== `user${' assistant tool'.repeat(5)} assistant`) wrong.push(`history is ${said}`)
    if (messages.some(({ number }, index) => number !== index + 1)) wrong.push('numbers have gaps')
    for (const { message } of messages)
      if (message.role === 'tool')
        for (const { status, name } of message.results) if (status !== 'success') wrong.push(`${name} is ${status}`)
    const history = contents(messages)
    undisturbed ??= history
    for (let at = 0; at < Math.max(history.length, undisturbed.length); at++)
      if (history[at] !== undisturbed[at]) wrong.push(`message ${at} is ${history[at]}, and was ${undisturbed[at]}`)
    for (const [name, count] of Object.entries(w.effects)) {
      if (name.startsWith('problem')) wrong.push(name)
      // A recorded answer is not requested again; one that was in flight when the worker died is.
      if (name.startsWith('answer') && count > 2) wrong.push(`${name}: asked ${count} times`)
      if (outside.some((what) => name.startsWith(`${what} `)) && count > 2) wrong.push(`${name}: ${count} times`)
    }
    const asked = Object.entries(w.effects).filter(([name]) => name.startsWith('answer'))
    if (asked.reduce((sum, [, count]) => sum + count, 0) > 7) wrong.push(`asked ${JSON.stringify(w.effects)}`)
    for (const what of outside) {
      const keys = Object.keys(w.effects).filter((name) => name.startsWith(`${what} `))
      if (keys.length !== 1) wrong.push(`${what}: ${keys.length} keys`)
    }
    // There is one crash: only effects in flight at that moment are repeated, and only export and note are in flight
    // together.
    const again = outside.filter((what) =>
      Object.entries(w.effects).some(([name, count]) => name.startsWith(`${what} `) && count > 1),
    )
    if (again.length > 1 && again.join() !== 'note,export') wrong.push(`asked for again: ${again.join()}`)
    return wrong
  },
}

/** The tools of the turn; the runtime has more. After a crash the search must cover the same tools. */
const searchable = ['invoice', 'invoice_mail', 'invoice_print', 'order']
const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
const all = [...searchable, 'invoice_delete']

const searching = (w: World) =>
  scriptedModel(
    [
      { call: { name: 'tool_search', input: { query: 'invo' } } },
      { call: { name: 'order', input: { m: 1 } } },
      {
        call: [
          { name: 'invoice', input: { n: 1 } },
          { name: 'order', input: { n: 1 } },
        ],
      },
      'All done.',
    ],
    {
      name: 'm',
      async wait({ request, answers }) {
        for (const problem of problemsIn(request.messages)) w.did(`problem: ${problem}`)
        const shown = request.tools
          .filter(({ parameters }) => parameters.additionalProperties !== true)
          .map(({ name }) => name)
        w.did(`shown ${answers}: ${shown.join(' ')}`)
        w.did(`told ${request.tools.map(({ name }) => name).join(' ')}`)
        if (JSON.stringify(request.messages).includes('invoice_delete'))
          w.did('problem: it found what its turn does not have')
      },
    },
  )

export const searchTurn: Scenario = {
  name: 'a turn with tool search',
  cites: 'SESS-8',
  tools: () =>
    all.map((name) => t(name, { input: schema, hints: { readOnly: true }, execute: ({ n }: any) => ({ name, n }) })),
  options: (w): Partial<RuntimeOptions> => ({ models: [searching(w)], toolSearch: { from: 4 } }),
  asks: [],
  ask: async (w) => [
    await w.runtime.session('s').turn({ model: 'm', id: 't', message: 'Send the invoice', tools: searchable }).outcome,
  ],
  ends: [{ status: 'success', value: { end: 'answer', text: 'All done.', steps: 4 } }],
  most: {},
  async laws(w) {
    const found = 'invoice invoice_mail invoice_print'
    const right = new Set([
      'shown 0: tool_search',
      `shown 1: ${found} tool_search`,
      `shown 2: ${found} order tool_search`,
      `shown 3: ${found} order tool_search`,
      `told ${searchable.join(' ')} tool_search`,
    ])
    return Object.keys(w.effects).filter((name) => !right.has(name))
  },
}

const odd = (w: World) =>
  scriptedModel(
    [
      { call: [{ name: 'no_such_tool' }, { name: 'look', input: '{"n":' }, { name: 'look', input: { n: 1 } }] },
      { call: { name: 'odd name!', id: 'call_1_1' } },
      'Then not.',
    ],
    {
      name: 'm',
      async wait({ request }) {
        for (const problem of problemsIn(request.messages)) w.did(`problem: ${problem}`)
      },
    },
  )

/** The fields that the scenarios of a turn with one model share. */
const oneTurn = (model: (w: World) => Model) => ({
  tools,
  options: (w: World): Partial<RuntimeOptions> => ({ models: [model(w)] }),
  asks: [],
  ask: async (w: World) => [await w.runtime.session('s').turn({ model: 'm', id: 't', message: 'Go' }).outcome],
})

export const oddTurn: Scenario = {
  name: 'a turn that calls missing tools',
  cites: 'SESS-1',
  ...oneTurn(odd),
  ends: [{ status: 'success', value: { end: 'answer', text: 'Then not.', steps: 3 } }],
  most: {},
  async laws(w) {
    const messages = await w.runtime.session('s').messages.list()
    const said = roles(messages)
    return [
      ...(said === `user${' assistant tool'.repeat(2)} assistant` ? [] : [`history is ${said}`]),
      ...Object.keys(w.effects).filter((name) => name.startsWith('problem')),
    ]
  },
}

/** A model with a context size unknown to the runtime, which counts the requests it is paid for. */
const narrow = (w: World) => {
  const script = scriptedModel(
    [
      { when: /^(User|Assistant|Result|What was said before)/, say: 'SUMMARY' },
      ...Array.from({ length: 4 }, () => ({ call: { name: 'look', input: { n: 1, pad: 'x'.repeat(400) } } })),
      'All done.',
    ],
    { name: 'm' },
  )
  return {
    name: 'm',
    async generate(call: ModelCall) {
      const { messages, instructions } = call.request
      if (JSON.stringify(messages).length > 2_400) throw new ModelFailure('too long', { tooLong: true })
      for (const problem of problemsIn(messages)) w.did(`problem: ${problem}`)
      const isSummary = instructions?.startsWith('You sum up') === true
      w.did(isSummary ? `summary of ${JSON.stringify(messages).length}` : `answer to ${JSON.stringify(messages)}`)
      return script.generate(call)
    },
  }
}

export const tightTurn: Scenario = {
  name: 'a turn with context overflows',
  cites: 'SESS-10',
  ...oneTurn(narrow),
  ends: [{ status: 'success', value: { end: 'answer', text: 'All done.', steps: 5 } }],
  most: {},
  async laws(w) {
    const paid = Object.entries(w.effects)
    const summaries = paid.filter(([name]) => name.startsWith('summary'))
    // A request in flight when the worker died is repeated; a recorded one is not.
    const twice = paid.filter(([, count]) => count > 1)
    return [
      ...paid.flatMap(([name]) => (name.startsWith('problem') ? [name] : [])),
      ...(summaries.length > 0 ? [] : ['nothing was summed up']),
      ...(twice.length > 1 || twice.some(([, count]) => count > 2) ? [`paid again: ${JSON.stringify(twice)}`] : []),
    ]
  },
}

const waitingModel = (w: World) =>
  scriptedModel([{ call: { name: 'refund' } }, 'It is sunny.', 'It is refunded.'], {
    name: 'm',
    async wait({ request, answers }) {
      w.did(`answer ${answers + 1}`)
      for (const problem of problemsIn(request.messages)) w.did(`problem: ${problem}`)
    },
  })

/** The first turn waits for an approval when the second begins; the third reads the result. */
export const handedOverTurn: Scenario = {
  name: 'a turn that waits for an approval and hands its session over to the next one',
  cites: 'SESS-13',
  tools,
  options: (w): Partial<RuntimeOptions> => ({ models: [waitingModel(w)] }),
  asks: [],
  async ask(w) {
    const session = w.runtime.session('s')
    const first = session.turn({ model: 'm', id: 't1', message: 'Refund A1' })
    while ((await w.runtime.inbox()).length === 0 && !w.answered) await new Promise((later) => w.later(500, later))
    const second = await session.turn({ model: 'm', id: 't2', message: 'How is the weather?' }).outcome
    for (const { id } of await w.runtime.inbox()) await w.runtime.decide(id, { approve: true, by: 'user:bea' })
    w.answered = true
    while ((await session.calls.list({ tool: 'refund' })).some(({ state }) => state !== 'settled'))
      await new Promise((later) => w.later(500, later))
    const third = await session.turn({ model: 'm', id: 't3', message: 'And the refund?' }).outcome
    return [await first.outcome, second, third]
  },
  ends: [
    { status: 'success', value: { end: 'handed_over' } },
    { status: 'success', value: { end: 'answer', text: 'It is sunny.' } },
    { status: 'success', value: { end: 'answer', text: 'It is refunded.' } },
  ],
  most: {},
  async laws(w, store) {
    const wrong = Object.keys(w.effects).filter((name) => name.startsWith('problem'))
    const messages = await w.runtime.session('s').messages.list()
    const said = roles(messages)
    if (said !== 'user assistant tool user assistant notice user assistant') wrong.push(`history is ${said}`)
    const refunds = Object.keys(w.effects).filter((name) => name.startsWith('refund '))
    if (refunds.length !== 1) wrong.push(`refunded under ${refunds.length} keys`)
    const left = await store.documentsOf({ of: 'turn-queued', after: '', limit: 10 })
    if (left.length > 0) wrong.push(`${left.length} turns are still marked as queued`)
    return wrong
  },
}
