// A refund that needs approval, requested through each adapter, for tests that kill the process in between.

import { createRuntime, type Runtime, tool } from 'pawl'
import { aiTools } from 'pawl/ai-sdk'
import { runAnthropic } from 'pawl/anthropic'
import { runOpenAI } from 'pawl/openai'
import { z } from 'zod'
import { loops, resultsShown, scripted } from '../kit/models/scripted-sdk-model.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }

export async function refundRuntime(file: string) {
  const paid: string[] = []
  const refund = tool({
    name: 'refund',
    description: 'Refunds',
    input: z.object({ order: z.string() }),
    hints: { destructive: true },
    execute: ({ order }) => (paid.push(order), `refunded ${order}`),
  })
  const runtime = await createRuntime({ store: `sqlite:${file}`, tools: [refund], lease: '500ms', logger: silent })
  return { runtime, paid }
}

/** What each model reads. */
export async function refundThroughAdapters(
  runtime: Runtime,
  until: 'settled' | 'waiting',
  prompt = 'Refund it',
): Promise<string[]> {
  const { prompts } = await loops.generateText(
    scripted([['call_1', 'refund', '{"order":"ai"}']]),
    aiTools(runtime.session('ai'), { until }),
    { prompt },
  )
  const [chat] = await runOpenAI(
    runtime.session('openai'),
    {
      id: 'chatcmpl-1',
      choices: [
        { message: { tool_calls: [{ id: 'call_1', function: { name: 'refund', arguments: '{"order":"openai"}' } }] } },
      ] as never,
    },
    { until },
  )
  const [block] = await runAnthropic(
    runtime.session('anthropic'),
    {
      id: 'msg_1',
      content: [{ type: 'tool_use', id: 'toolu_1', name: 'refund', input: { order: 'anthropic' } }] as never,
    },
    { until },
  )
  const text = block?.content?.[0]
  return [
    ...resultsShown(prompts).map(([, output]) => (output as { value: string }).value),
    chat?.content ?? '',
    text?.type === 'text' ? text.text : '',
  ]
}
