// What makes two calls of the AI SDK the same call: the model's id and the arguments, not the texts of the conversation.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateText, isStepCount, jsonSchema, type ModelMessage, tool as aiTool } from 'ai'
import { createRuntime, fail, type Tool, tool } from 'pawl'
import { aiTools, pawlTools, wrapTools } from 'pawl/ai-sdk'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loops, resultsShown, type Said, scripted } from '../../kit/models/scripted-sdk-model.ts'
import { freshDir, quiet } from '../../kit/stores/fresh-store.ts'

const sdkTools = (ran: string[]) => ({
  refund: aiTool({
    description: 'Refunds',
    inputSchema: jsonSchema<{ order: string }>({ type: 'object' }),
    execute: async ({ order }) => (ran.push(order), { refunded: order, times: ran.length }),
  }),
})

async function shop(store = 'memory:') {
  const ran: string[] = []
  const existing = sdkTools(ran)
  const runtime = await createRuntime({ store, tools: pawlTools(existing), logger: quiet })
  const session = runtime.session('chat')
  /** Lets the model call refund once per script line, and returns the orders that were refunded until now. */
  const talk = async (messages: ModelMessage[], script: Said[], options: object = {}) => {
    const model = scripted(...script)
    const tools = wrapTools(session, existing, options)
    const result = await generateText({ model, messages, tools, stopWhen: isStepCount(script.length + 1) })
    return { ran: [...ran], messages: [...messages, ...result.responseMessages], shown: resultsShown(model.doGenerateCalls) } // prettier-ignore
  }
  return { runtime, session, existing, ran, talk }
}

const user = (content: string): ModelMessage => ({ role: 'user', content })
const refund = (id: string, order = 'A1'): Said => [[id, 'refund', JSON.stringify({ order })]]

describe('the same call', () => {
  test.for<[string, ModelMessage[]]>([
    ['a trailing space', [user('Refund A1 ')]],
    ['another text', [user('Please refund the order A1')]],
    ['text parts', [{ role: 'user', content: [{ type: 'text', text: 'Refund A1' }] }]],
    ['an edited earlier message', [user('Hello!'), { role: 'assistant', content: 'Hi' }, user('Refund A1')]],
  ])('CALL-6: %s does not run a call again', async ([, messages]) => {
    const { talk } = await shop()
    await talk([user('Refund A1')], [refund('call_1')])
    const { ran, shown } = await talk(messages, [refund('call_1')])
    expect(ran).toEqual(['A1'])
    expect(shown).toEqual([['call_1', { type: 'text', value: '{"refunded":"A1","times":1}' }]])
  })

  test('CALL-6: two requests at the same time run a call once', async () => {
    const { talk } = await shop()
    const both = await Promise.all(['Refund A1', 'Refund A1 '].map((text) => talk([user(text)], [refund('call_1')])))
    for (const { ran, shown } of both) {
      expect(ran).toEqual(['A1'])
      expect(shown).toEqual([['call_1', { type: 'text', value: '{"refunded":"A1","times":1}' }]])
    }
  })

  test('CALL-6: the order of keys in the arguments does not matter', async () => {
    const { talk } = await shop()
    await talk([user('Go')], [[['call_1', 'refund', '{"order":"A1","why":"late"}']]])
    expect((await talk([user('Go!')], [[['call_1', 'refund', '{"why":"late","order":"A1"}']]])).ran).toEqual(['A1'])
  })

  test('CALL-6: a call that the SDK resumes after its own approval runs once, however often it is sent', async () => {
    const ran: string[] = []
    const existing = {
      refund: aiTool({
        inputSchema: z.object({ order: z.string() }),
        needsApproval: true,
        execute: async ({ order }) => (ran.push(order), 'paid'),
      }),
    }
    const runtime = await createRuntime({
      store: 'memory:',
      tools: pawlTools(existing, { refund: { approval: 'never' } }),
      logger: quiet,
    })
    const tools = wrapTools(runtime.session('chat'), existing)
    const ask = await generateText({ model: scripted(refund('call_1')), messages: [user('Refund A1')], tools })
    const request = ask.content.find((part) => part.type === 'tool-approval-request')
    expect(ran).toEqual([])
    const approved = (text: string): ModelMessage[] => [
      user(text),
      ...ask.responseMessages,
      {
        role: 'tool',
        content: [{ type: 'tool-approval-response', approvalId: request?.approvalId ?? '', approved: true }],
      },
    ]
    for (const text of ['Refund A1', 'Refund A1', 'Refund A1 '])
      await generateText({ model: scripted('Done'), messages: approved(text), tools })
    expect(ran).toEqual(['A1'])
    await runtime.close()
  })

  test('CALL-6: after kill -9 an edited prompt joins the recorded call, and a repeated id in a later step does not', async () => {
    const file = join(freshDir(), 'app.db')
    const start = (prompt: string, mode: string) =>
      fork(join(import.meta.dirname, 'child-refund-app.ts'), [file, prompt, mode], {
        execArgv: ['--conditions=@pawl/source'],
      })
    const first = start('Refund A1', 'hang')
    await once(first, 'message')
    first.kill('SIGKILL')
    await once(first, 'exit')
    const second = start('Refund A1 ', '')
    const told: { results?: unknown[] }[] = []
    second.on('message', (message) => told.push(message as never))
    await once(second, 'exit')
    // The interrupted refund may have happened: it is reported as unknown and does not run again. The call of the second
    // step is another one, although the model repeats id and arguments.
    expect(told.at(-1)?.results).toEqual([expect.stringMatching(/^\[Tool outcome unknown\]/), { refunded: 'A1' }])
    expect(readFileSync(`${file}.ran`, 'utf8')).toBe('A1\nA1\n')
  })
})

describe('different calls with the same id', () => {
  test('CALL-6: other arguments are another call, and each is found again', async () => {
    const { talk, session } = await shop()
    const orders = ['A1', 'A2', 'A3']
    for (const order of orders) await talk([user('Refund')], [refund('call_1', order)])
    for (const order of orders) {
      const { ran, shown } = await talk([user('Refund ')], [refund('call_1', order)])
      expect(ran).toEqual(orders)
      expect(shown).toEqual([['call_1', { type: 'text', value: expect.stringContaining(`"${order}"`) }]])
    }
    expect((await session.calls.list()).map(({ callId }) => callId)).toEqual(['call_1', 'call_1', 'call_1'])
  })

  test('CALL-6: a model that repeats an id in the next step makes a new call', async () => {
    const { talk } = await shop()
    const { ran, messages } = await talk([user('Refund A1, twice')], [refund('call_1'), refund('call_1')])
    expect(ran).toEqual(['A1', 'A1'])
    // The next turn of the same conversation, and the same turn again.
    const next = [...messages, user('Once more')]
    expect((await talk(next, [refund('call_1')])).ran).toHaveLength(3)
    expect((await talk([...next.slice(0, -1), user('Once more ')], [refund('call_1')])).ran).toHaveLength(3)
  })

  test.each(Object.entries(loops))('CALL-6: %s: equal ids in one message are separate calls', async (_, loop) => {
    const { existing, session, ran } = await shop()
    const answer: Said = [
      ['call_1', 'refund', '{"order":"A1"}'],
      ['call_1', 'refund', '{"order":"A2"}'],
      ['call_1', 'refund', '{"order":"A2"}'],
    ]
    for (const prompt of ['Go', 'Go ']) await loop(scripted(answer), wrapTools(session, existing), { prompt })
    expect(ran).toEqual(['A1', 'A2', 'A2'])
    // One after the other, each call is compared with what is on record: nothing runs again.
    await loop(scripted(answer), wrapTools(session, existing), { toolCallConcurrency: 1 })
    expect(ran).toEqual(['A1', 'A2', 'A2'])
  })

  test('CALL-6: equal ids of two tools are separate calls', async () => {
    const ran: string[] = []
    const make = (name: string): Tool =>
      tool({ name, description: name, input: z.object({}), execute: () => (ran.push(name), name) })
    const runtime = await createRuntime({ store: 'memory:', tools: [make('a'), make('b')], logger: quiet })
    const tools = aiTools(runtime.session('s'))
    for (const name of ['a', 'b', 'a', 'b']) await loops.generateText(scripted([['call_1', name, '{}']]), tools)
    expect(ran).toEqual(['a', 'b'])
    await runtime.close()
  })

  test('CALL-6: sessions do not share calls', async () => {
    const { existing, runtime, ran } = await shop()
    for (const id of ['one', 'two'])
      await loops.generateText(scripted(refund('call_1')), wrapTools(runtime.session(id), existing))
    expect(ran).toEqual(['A1', 'A1'])
  })
})

describe('batch', () => {
  test('CALL-6: the name of the host replaces the default: equal names join, other names do not', async () => {
    const { talk } = await shop()
    const go = (batch: string, text: string, order = 'A1') =>
      talk([user(text)], [refund('call_1', order)], { batch: () => batch })
    await go('request-1', 'Refund A1')
    expect((await go('request-1', 'Refund A1 ')).ran).toEqual(['A1'])
    expect((await go('request-2', 'Refund A1')).ran).toEqual(['A1', 'A1'])
    const { ran, shown } = await go('request-1', 'Refund A2', 'A2')
    expect(ran).toEqual(['A1', 'A1'])
    expect(shown).toEqual([['call_1', { type: 'error-text', value: expect.stringContaining('is on record with other content') }]]) // prettier-ignore
  })
})

test('CALL-6: a failure of a tool with the code of a conflict does not run it again', async () => {
  let runs = 0
  const odd = tool({
    name: 'odd',
    description: 'Fails',
    input: z.object({}),
    execute() {
      runs++
      throw fail('No', { code: 'call_conflict' })
    },
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [odd], logger: quiet })
  await loops.generateText(scripted([['call_1', 'odd', '{}']]), aiTools(runtime.session('s')))
  expect(runs).toBe(1)
  await runtime.close()
})
