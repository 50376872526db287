// turn({ output }): the last answer is JSON that matches a schema.

import { createRuntime, jsonSchema, result, type Runtime, tool } from 'pawl'
import { type Line, scriptedModel, type ScriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { closedAfterEach } from '../kit/open-runtime.ts'
import { readOnlyTool } from '../kit/simple-tools.ts'
import { freshDir, quiet } from '../kit/stores/fresh-store.ts'

const runtimes = closedAfterEach()
const lookUp = readOnlyTool('look_up', { description: 'Looks an order up' }, () => 4200)
const city = z.object({ city: z.string(), people: z.number().int() })

async function opened(options: Partial<Parameters<typeof createRuntime>[0]> = {}): Promise<Runtime> {
  const runtime = await createRuntime({ store: 'memory:', tools: [lookUp], logger: quiet, ...options })
  runtimes.push(runtime)
  return runtime
}

const answering = (...lines: readonly Line[]): ScriptedModel => scriptedModel(lines)
const rome = '{"city":"Rome","people":2800000}'

test('SESS-12: the answer is returned as the schema describes it, after calls too', async () => {
  const model = answering({ call: { name: 'look_up' } }, rome)
  const session = (await opened()).session('s')
  const outcome = await session.turn({ model, message: 'Where?', output: city }).outcome
  expect(outcome).toMatchObject({
    status: 'success',
    value: { end: 'answer', text: rome, output: { city: 'Rome', people: 2_800_000 } },
  })
  expect(model.requests.map(({ output }) => output)).toEqual(
    [city, city].map((each) => z.toJSONSchema(each, { io: 'input' })),
  )
})

test('SESS-12: without a schema, and if a tool ends the turn, the output is null', async () => {
  const finish = tool({
    name: 'finish',
    description: 'd',
    input: z.object({}),
    execute: () => result('Done', { control: { finish: { n: 1 } } }),
  })
  const runtime = await opened({ tools: [finish] })
  const plain = await runtime.session('a').turn({ model: answering('Hello'), message: 'Go' }).outcome
  expect(plain).toMatchObject({ status: 'success', value: { text: 'Hello', output: null } })
  const ended = await runtime
    .session('b')
    .turn({ model: answering({ call: { name: 'finish' } }), message: 'Go', output: city }).outcome
  expect(ended).toMatchObject({ status: 'success', value: { end: 'finish', value: { n: 1 }, output: null } })
})

test('SESS-12: the model is told what is wrong, with the schema, and answers again', async () => {
  const model = answering('Rome, of course.', '{"city":"Rome","people":"many"}', `\`\`\`json\n${rome}\n\`\`\``)
  const session = (await opened()).session('s')
  const outcome = await session.turn({ model, message: 'Where?', output: city }).outcome
  expect(outcome).toMatchObject({ status: 'success', value: { steps: 3, output: { city: 'Rome' } } })
  const notices = (await session.messages.list()).filter(({ message }) => message.role === 'notice')
  const texts = notices.map(({ message }) => JSON.stringify(message))
  expect(texts).toHaveLength(2)
  expect(texts[0]).toContain('The answer is not JSON')
  expect(texts[1]).toContain('people: ')
  for (const text of texts) expect(text).toContain('JSON Schema:')
})

test.for([
  ['three answers by default', {}, 3],
  ['as many as limits.invalid', { limits: { invalid: 1 } }, 1],
  ['as many as limits.steps', { limits: { steps: 2 } }, 2],
] as const)('SESS-12: a turn that never gets a valid answer fails after %s', async ([, options, asked]) => {
  const model = answering('No.', 'Never.', '', '{}')
  const outcome = await (await opened()).session('s').turn({ model, message: 'Where?', output: city, ...options })
    .outcome
  expect(outcome).toMatchObject({
    status: 'failure',
    failure: { code: 'output_invalid', class: 'external', retry: { when: 'safe' } },
  })
  expect(model.asked).toBe(asked)
})

test('SESS-12: the handle applies the transforms of its schema; the record has the JSON', async () => {
  const dated = z.object({ day: z.iso.date().transform((text) => new Date(text)), note: z.string().default('none') })
  const session = (await opened()).session('s')
  const ask = { model: answering('{"day":"2026-01-02"}'), message: 'When?', id: 't1' }
  const outcome = await session.turn({ ...ask, output: dated }).outcome
  expect(outcome).toMatchObject({
    status: 'success',
    value: { output: { day: new Date('2026-01-02'), note: 'none' } },
  })
  const recorded = (await session.messages.list()).at(-1)?.message
  expect(recorded).toMatchObject({ parts: [{ text: '{"day":"2026-01-02"}' }] })
  // The same request joins the turn and reads the record.
  expect(await session.turn({ ...ask, output: dated }).outcome).toEqual(outcome)
})

test('SESS-12: an answer that only a refinement of the schema rejects is a failure of the handle', async () => {
  const even = z.object({ n: z.number().refine((n) => n % 2 === 0, 'must be even') })
  const outcome = await (await opened()).session('s').turn({ model: answering('{"n":3}'), message: 'Go', output: even })
    .outcome
  expect(outcome).toMatchObject({ status: 'failure', failure: { code: 'output_invalid' } })
  expect(JSON.stringify(outcome)).toContain('must be even')
})

test('SESS-12: a plain JSON Schema works like a Standard Schema', async () => {
  const schema = jsonSchema<{ n: number }>({ type: 'object', properties: { n: { type: 'number' } }, required: ['n'] })
  const model = answering('{"n":"x"}', '{"n":3}')
  const outcome = await (await opened()).session('s').turn({ model, message: 'Go', output: schema }).outcome
  expect(outcome).toMatchObject({ status: 'success', value: { output: { n: 3 }, steps: 2 } })
})

test('SESS-12: a schema that a provider could not take is refused by turn()', async () => {
  const session = (await opened()).session('s')
  const asking = (output: never) => () => session.turn({ model: answering(rome), message: 'Go', output })
  expect(asking(z.array(z.string()) as never)).toThrow('`output` of turn() accepts no object.')
  expect(asking(z.object({ at: z.date() }) as never)).toThrow(
    '`output` of turn(): a part of it has no JSON Schema form',
  )
  expect(asking('text' as never)).toThrow(
    '`output` of turn(): it is neither a Standard Schema nor a JSON Schema object',
  )
  expect(asking({ type: 'objct' } as never)).toThrow(expect.objectContaining({ code: 'turn_invalid' }))
})

test('SESS-12: another process, which does not have the schema, checks the answer against the record', async () => {
  const store = `sqlite:${freshDir()}/agent.db` as const
  const web = await opened({ store, worker: false, models: [answering()] })
  const model = answering('Rome.', rome)
  const turn = web.session('s').turn({ model: 'scripted', message: 'Where?', output: city, id: 't1' })
  await turn.accepted
  await opened({ store, models: [model] })
  expect(await turn.outcome).toMatchObject({
    status: 'success',
    value: { output: { city: 'Rome', people: 2_800_000 } },
  })
  expect(model.asked).toBe(2)
})

test('SESS-12: a worker that takes over after an invalid answer does not ask for it again', async () => {
  const store = `sqlite:${freshDir()}/agent.db` as const
  const ask = { model: 'scripted', message: 'Where?', output: city, id: 't1' }
  const hang = (signal: AbortSignal): Promise<void> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  const first = scriptedModel(['Rome.', rome], {
    wait: ({ answers }, signal) => (answers === 1 ? hang(signal) : Promise.resolve()),
  })
  const runtime = await opened({ store, models: [first] })
  runtime
    .session('s')
    .turn(ask)
    .outcome.catch(() => {})
  await expect.poll(() => first.asked).toBe(2)
  await runtime.close({ grace: 0 })
  const second = answering('Rome.', rome)
  const session = (await opened({ store, models: [second] })).session('s')
  expect(await session.turn(ask).outcome).toMatchObject({
    status: 'success',
    value: { steps: 2, output: { city: 'Rome' } },
  })
  expect(second.asked).toBe(1)
  const roles = (await session.messages.list()).map(({ message }) => message.role)
  expect(roles).toEqual(['user', 'assistant', 'notice', 'assistant'])
})
