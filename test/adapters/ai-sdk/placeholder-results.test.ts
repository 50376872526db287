// The open call that `execute` returns with until: 'waiting', in the SDK's results and in a stored history.

import { convertToModelMessages, generateText, isStepCount, tool as aiTool } from 'ai'
import { createRuntime, type OpenCall, tool } from 'pawl'
import { aiTools, pawlTools, wrapTools } from 'pawl/ai-sdk'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { resultsShown, scripted } from '../../kit/models/scripted-sdk-model.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

async function start() {
  const existing = {
    pay: aiTool({
      inputSchema: z.object({}),
      execute: async () => ({ paid: 1 }),
      toModelOutput: ({ output }) => ({ type: 'text', value: `paid ${output.paid}` }),
    }),
  }
  const refund = tool({
    name: 'refund',
    description: 'Refunds',
    input: z.object({}),
    hints: { destructive: true },
    execute: () => 'refunded',
  })
  const runtime = await createRuntime({
    store: 'memory:',
    tools: [refund, ...pawlTools(existing, { pay: { hints: { destructive: true } } })],
    logger: quiet,
  })
  closing.push(() => runtime.close({ grace: 0 }))
  return { runtime, session: runtime.session('s'), existing, refund }
}

const placeholder = expect.stringMatching(/^\[Tool call waiting\]\nIt waits for the approval of a person/)

test('POL-7: the result for the program is the open call, with what it waits for', async () => {
  const { runtime, session } = await start()
  const { toolResults } = await generateText({
    model: scripted([['call_1', 'refund', '{}']]),
    prompt: 'Go',
    tools: aiTools(session, { until: 'waiting' }),
  })
  const [item] = await runtime.inbox()
  expect(toolResults.map(({ output }) => output as OpenCall)).toEqual([
    {
      status: 'waiting',
      for: 'approval',
      waitId: item?.id,
      until: expect.any(Number),
      callId: 'call_1',
      name: 'refund',
      parts: [{ type: 'text', text: placeholder }],
    },
  ])
})

test('POL-7: a stored history shows the placeholder to the model, also for a tool with its own toModelOutput', async () => {
  const { session, existing, refund } = await start()
  const tools = { ...aiTools(session, { tools: [refund], until: 'waiting' }), ...wrapTools(session, existing, { until: 'waiting' }) } // prettier-ignore
  const { toolResults } = await generateText({
    model: scripted([['call_1', 'refund', '{}'], ['call_2', 'pay', '{}']]), // prettier-ignore
    prompt: 'Go',
    tools,
  })
  const stored = JSON.parse(JSON.stringify(toolResults)) as { toolName: string; toolCallId: string; output: unknown }[]
  const parts = stored.map(({ toolName, toolCallId, output }) => ({ type: `tool-${toolName}`, toolCallId, state: 'output-available', input: {}, output })) // prettier-ignore
  const messages = await convertToModelMessages([{ role: 'assistant', parts }] as never, { tools })
  expect(messages.at(-1)).toMatchObject({
    role: 'tool',
    content: [
      { toolCallId: 'call_1', output: { type: 'text', value: placeholder } },
      { toolCallId: 'call_2', output: { type: 'text', value: placeholder } },
    ],
  })
})

test('VAL-1: what only looks like an open call is shown as JSON', async () => {
  const { session, refund } = await start()
  const tools = aiTools(session, { tools: [refund] })
  const shown = async (output: unknown) => tools.refund?.toModelOutput({ toolCallId: 'call_1', output })
  const like = { status: 'waiting', callId: 'call_1', name: 'refund', parts: [{ type: 'text', text: 'x' }] }
  expect(await shown(like)).toEqual({ type: 'text', value: 'x' })
  const attachment = { ref: { id: 'att_other', mediaType: 'image/png', bytes: 8 } }
  const others = [
    { ...like, callId: 'call_2' },
    { ...like, status: 'success' },
    { ...like, parts: [] },
    { ...like, parts: [{ type: 'attachment', attachment }] },
    { ...like, parts: [null] },
  ]
  for (const other of others) expect(await shown(other)).toEqual({ type: 'text', value: JSON.stringify(other) })
})

test('POL-7: of two toolsets in one message only the one that says so returns early', async () => {
  const { runtime, session, existing, refund } = await start()
  const model = scripted([['call_1', 'refund', '{}'], ['call_2', 'pay', '{}']]) // prettier-ignore
  const done = generateText({
    model,
    prompt: 'Go',
    tools: { ...aiTools(session, { tools: [refund], until: 'waiting' }), ...wrapTools(session, existing) },
    stopWhen: isStepCount(2),
  })
  await expect.poll(async () => (await runtime.inbox()).length).toBe(2)
  const pay = (await runtime.inbox()).find((item) => item.tool === 'pay')
  await runtime.decide(pay?.id ?? '', { approve: true, by: 'user:bea' })
  await done
  expect(new Map(resultsShown(model.doGenerateCalls))).toEqual(
    new Map([
      ['call_1', { type: 'text', value: placeholder }],
      ['call_2', { type: 'text', value: 'paid 1' }],
    ]),
  )
})

test('CALL-6: a model that repeats a call whose result is a placeholder joins it, and so does the program', async () => {
  const { runtime, session } = await start()
  const tools = aiTools(session, { until: 'waiting' })
  const first = await generateText({
    model: scripted([['call_1', 'refund', '{}']], [['call_1', 'refund', '{}']], 'I wait.'),
    messages: [{ role: 'user', content: 'Go' }],
    tools,
    stopWhen: isStepCount(3),
  })
  const items = await runtime.inbox()
  expect(items).toHaveLength(1)
  await runtime.decide(items[0]?.id ?? '', { approve: true, by: 'user:bea' })
  const messages = [{ role: 'user', content: 'Go' }, ...first.responseMessages]
  expect(await aiTools(session).refund?.execute({}, { toolCallId: 'call_1', messages })).toBe('refunded')
  expect(await session.calls.list()).toHaveLength(1)
})
