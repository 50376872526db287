// The arguments of a call while the model writes them: streamed in pieces, redacted, and not at all where they are secret.

import { type LiveEvent, type Model, type ModelDelta, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { PartialAnswer } from '../../src/feed/live-events.ts'
import { seeded } from '../kit/seeded-random.ts'
import { opened, printed, read } from '../kit/secret-leak-search.ts'

const secret = 'sk-live-4f9a71c2-zz'
const usage = { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 }
const objectOf = (name: string, property: object) => ({
  type: 'object' as const,
  properties: { [name]: { type: 'string', ...property } },
})

const tools = [
  tool({ name: 'search', description: 'd', input: objectOf('query', {}), execute: () => 'found' }),
  tool({ name: 'lookup', description: 'd', input: objectOf('query', {}), execute: () => 'found' }),
  tool({
    name: 'pay',
    description: 'd',
    input: objectOf('card', {}),
    sensitive: true,
    background: true,
    execute: () => 'paid',
  }),
  tool({ name: 'login', description: 'd', input: objectOf('pin', { writeOnly: true }), execute: () => 'in' }),
]

const saying = (deltas: readonly ModelDelta[]): Model => ({
  name: 'm',
  generate({ told }) {
    for (const delta of deltas) told(delta)
    return Promise.resolve({ parts: [{ type: 'text', text: 'Done.' }], finish: 'stop', usage })
  },
})

async function deltasOf(runtime: Runtime, model: Model): Promise<ModelDelta[]> {
  const session = runtime.session('s')
  const all = read(session.events({ live: true }), ({ type }) => type === 'turn.ended')
  await session.turn({ model, message: 'Go' }).outcome
  const live = (await all).filter((event): event is LiveEvent => event.live === true)
  return live.flatMap((event) => {
    if (event.type !== 'turn.delta') return []
    const { turn: _, step: __, offset: ___, ...delta } = event.body
    return delta
  })
}

const call = (id: string, name: string): ModelDelta => ({ type: 'call', id, name })
const input = (id: string, delta: string): ModelDelta => ({ type: 'input', id, delta })

test('SESS-12: the arguments of a call are streamed as the model writes them', async () => {
  const model = scriptedModel([{ call: { id: 'c1', name: 'search', input: { query: 'a, b' } } }, 'Done.'])
  const deltas = await deltasOf(await opened({ tools }), model)
  expect(deltas[0]).toEqual(call('c1', 'search'))
  expect(deltas.flatMap((delta) => (delta.type === 'input' ? delta.delta : '')).join('')).toBe('{"query":"a, b"}')
})

test('SESS-12: the scripted model streams arguments in pieces', async () => {
  const pieces: ModelDelta[] = []
  await scriptedModel([{ call: { id: 'c1', name: 'search', input: { a: 1, b: 2 } } }]).generate({
    request: {
      instructions: null,
      messages: [],
      tools: [],
      toolChoice: 'auto',
      output: null,
      parallel: true,
      settings: {},
    },
    signal: new AbortController().signal,
    read: () => Promise.reject(new Error('there is no file')),
    told: (delta) => pieces.push(delta),
  })
  expect(pieces).toEqual([call('c1', 'search'), input('c1', '{"a":1,'), input('c1', '"b":2}')])
})

test('SESS-12 DUR-12: a secret split across pieces of the arguments is redacted, also with two calls at once', async () => {
  const runtime = await opened({ tools })
  await runtime.session('s').secrets.set('key', secret)
  const deltas = await deltasOf(
    runtime,
    saying([
      call('c1', 'search'),
      input('c1', `{"query":"${secret.slice(0, 9)}`),
      call('c2', 'lookup'),
      input('c2', '{"query":"b"}'),
      input('c1', `${secret.slice(9)}"}`),
    ]),
  )
  expect(printed(deltas)).not.toContain(secret.slice(9))
  const textOf = (id: string): string =>
    deltas.map((delta) => (delta.type === 'input' && delta.id === id ? delta.delta : '')).join('')
  expect(textOf('c1')).toBe('{"query":"[redacted]"}')
  expect(textOf('c2')).toBe('{"query":"b"}')
})

test.for(['pay', 'login', 'spawn_background', 'no_such_tool'])(
  'SESS-12 DUR-12: the arguments of %s, which may be secret, are not streamed',
  async (name) => {
    const deltas = await deltasOf(
      await opened({ tools: tools.filter((each) => name !== 'spawn_background' || each.name !== 'login') }),
      saying([call('c1', name), input('c1', '{"card":"4242424242424242"}'), { type: 'text', delta: 'Done.' }]),
    )
    expect(deltas).toEqual([call('c1', name), { type: 'text', delta: 'Done.' }])
  },
)

test('SESS-12: arguments of a call that was not announced are not streamed', async () => {
  const deltas = await deltasOf(await opened({ tools }), saying([call('c1', 'search'), input('c2', '{}')]))
  expect(deltas).toEqual([call('c1', 'search')])
})

test('FEED-2: an answer under way can be read from any offset inside the arguments', () => {
  const of = { turn: 't', step: 1 }
  const deltas = [call('a', 'search'), input('a', '{"q'), input('a', '":1}'), input('b', '{}'), call('c', 'lookup')]
  const answer = new PartialAnswer(of, 1)
  for (const delta of deltas) answer.add(delta)
  expect(answer.parts).toEqual([call('a', 'search'), input('a', '{"q":1}'), input('b', '{}'), call('c', 'lookup')])
  expect(answer.size).toBe(11)
  expect(answer.from(3)).toEqual([
    { ...of, ...input('a', 'q":1}'), offset: 3 },
    { ...of, ...input('b', '{}'), offset: 8 },
    { ...of, ...call('c', 'lookup'), offset: 10 },
  ])
})

/** One entry for each offset that the deltas take. */
const offsetsOf = (deltas: readonly ModelDelta[]): string[] =>
  deltas.flatMap((delta) => {
    if (delta.type === 'call') return [`call ${delta.id}`]
    return delta.delta.split('').map((character) => `${delta.type} ${'id' in delta ? delta.id : ''} ${character}`)
  })

test('FEED-2: whatever was streamed, what is read from an offset is the rest of it', () => {
  const random = seeded(3)
  const pick = <T>(...from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  for (let round = 0; round < 200; round++) {
    const answer = new PartialAnswer({ turn: 't', step: 1 }, 1)
    const deltas = Array.from({ length: 12 }, () => {
      const [id, delta] = [pick('a', 'b'), pick('x', 'yz', 'xyz')]
      return pick<ModelDelta>(call(id, 'search'), input(id, delta), { type: 'text', delta })
    })
    for (const delta of deltas) answer.add(delta)
    const offset = Math.floor(random() * (answer.size + 1))
    const rest = answer.from(offset)
    expect(rest[0]?.offset ?? answer.size).toBe(offset)
    expect(offsetsOf(rest)).toEqual(offsetsOf(deltas).slice(offset))
  }
})
