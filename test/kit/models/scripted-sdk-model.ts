// A scripted model for generateText and streamText that records its prompts.

import type { LanguageModelV4CallOptions, LanguageModelV4Content, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { generateText, isStepCount, type StopCondition, streamText, type ToolSet } from 'ai'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'

export type Said = string | [id: string, name: string, input: string][]

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
}

function contentOf(said: Said): LanguageModelV4Content[] {
  if (typeof said === 'string') return [{ type: 'text', text: said }]
  return said.map(([toolCallId, toolName, input]) => ({ type: 'tool-call', toolCallId, toolName, input }))
}

const finishOf = (said: Said) =>
  typeof said === 'string' ? { unified: 'stop' as const, raw: 'stop' } : { unified: 'tool-calls' as const, raw: 'tool' }

function streamOf(said: Said): LanguageModelV4StreamPart[] {
  const body: LanguageModelV4StreamPart[] =
    typeof said === 'string'
      ? [{ type: 'text-start', id: '1' }, { type: 'text-delta', id: '1', delta: said }, { type: 'text-end', id: '1' }] // prettier-ignore
      : (contentOf(said) as LanguageModelV4StreamPart[])
  return [{ type: 'stream-start', warnings: [] }, ...body, { type: 'finish', finishReason: finishOf(said), usage }]
}

export function scripted(...script: Said[]) {
  const left = [...script]
  const next = (): Said => left.shift() ?? 'done'
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const said = next()
      return { content: contentOf(said), finishReason: finishOf(said), usage, warnings: [] }
    },
    doStream: async () => ({
      stream: simulateReadableStream({ chunks: streamOf(next()), initialDelayInMs: null, chunkDelayInMs: null }),
    }),
  })
}

/** The tool results in the model's last prompt: [call id, output]. */
export function resultsShown(prompts: readonly LanguageModelV4CallOptions[]): [string, unknown][] {
  const last = prompts.at(-1)?.prompt.at(-1)
  if (last?.role !== 'tool') return []
  return last.content.flatMap((part) =>
    part.type === 'tool-result' ? [[part.toolCallId, part.output] as [string, unknown]] : [],
  )
}

interface Options {
  prompt?: string
  abortSignal?: AbortSignal
  toolCallConcurrency?: number
  stopWhen?: StopCondition<ToolSet>[]
  onToolExecutionStart?: (event: { toolCall: { toolCallId: string } }) => void | Promise<void>
}

/** The two loops of the SDK behind one signature. */
export const loops = {
  async generateText(model: MockLanguageModelV4, tools: ToolSet, options: Options = {}) {
    const result = await generateText({ model, tools, prompt: 'Go', stopWhen: isStepCount(8), ...options })
    return { text: result.text, prompts: model.doGenerateCalls, content: result.steps.flatMap((step) => step.content) }
  },
  async streamText(model: MockLanguageModelV4, tools: ToolSet, options: Options = {}) {
    const result = streamText({ model, tools, prompt: 'Go', stopWhen: isStepCount(8), onError() {}, ...options })
    await result.consumeStream()
    const steps = await result.steps
    return { text: await result.text, prompts: model.doStreamCalls, content: steps.flatMap((step) => step.content) }
  },
}
