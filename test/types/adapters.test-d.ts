// The inputs and outputs of the adapters match the types of the installed SDKs.

import type Anthropic from '@anthropic-ai/sdk'
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { LanguageModelV2, LanguageModelV3, LanguageModelV3CallOptions } from 'ai-sdk-provider-3'
import { createAnthropic as createAnthropic3 } from 'ai-sdk-anthropic-3'
import { createOpenAICompatible as createOpenAICompatible2 } from 'ai-sdk-openai-compatible-2'
import { MockLanguageModelV3 } from 'ai-6/test'
import {
  generateText,
  type StopCondition,
  streamText,
  tool as aiTool,
  type ToolSet,
  type UIMessage,
  type UIMessageChunk,
} from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import type OpenAI from 'openai'
import { createRuntime, type Json, type Model, type Session, tool, type UiChunk, type UiMessage } from 'pawl'
import {
  type AiCallOptions,
  type AiCallOptions6,
  type AiLanguageModel,
  aiModel,
  type AiPromptMessage,
  aiTools,
  fromAiSdk,
  isLost,
  pawlTools,
  wrapTools,
} from 'pawl/ai-sdk'
import { anthropicResults, anthropicTools, callsFromAnthropic, fromAnthropic, runAnthropic } from 'pawl/anthropic'
import { callsFromOpenAI, fromOpenAI, openaiResults, openaiTools, runOpenAI } from 'pawl/openai'
import { expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const mine = tool({ name: 'mine', description: 'Mine', input: z.object({ n: z.number() }), execute: ({ n }) => n })
const runtime = await createRuntime({ store: 'memory:', tools: [mine] })
const session: Session = runtime.session('s')

test('TOOL-8: tools, results and responses match the OpenAI types', async () => {
  expectTypeOf(openaiTools([mine], { api: 'chat' })).toExtend<OpenAI.Chat.Completions.ChatCompletionTool[]>()
  expectTypeOf(openaiTools(session, { api: 'responses', strict: true })).toExtend<OpenAI.Responses.FunctionTool[]>()
  expectTypeOf(openaiTools(session, { api: 'responses' })).toExtend<OpenAI.Responses.Tool[]>()
  expectTypeOf(await openaiResults([], { api: 'chat' })).toExtend<
    OpenAI.Chat.Completions.ChatCompletionMessageParam[]
  >()
  expectTypeOf(await openaiResults([], { api: 'responses' })).toExtend<OpenAI.Responses.ResponseInputItem[]>()

  const completion = {} as OpenAI.Chat.Completions.ChatCompletion
  const message = {} as OpenAI.Chat.Completions.ChatCompletionMessage
  const kept = {} as OpenAI.Chat.Completions.ChatCompletionAssistantMessageParam
  const response = {} as OpenAI.Responses.Response
  for (const answer of [completion, message, kept, response, response.output] as const) callsFromOpenAI(answer)
  expectTypeOf(await runOpenAI(session, completion)).toExtend<
    OpenAI.Chat.Completions.ChatCompletionToolMessageParam[]
  >()
  expectTypeOf(await runOpenAI(session, response)).toExtend<OpenAI.Responses.ResponseInput>()
  expectTypeOf(await runOpenAI(session, message, { batch: 'b' })).toExtend<
    OpenAI.Chat.Completions.ChatCompletionToolMessageParam[]
  >()
  expectTypeOf(await runOpenAI(session, response.output, { batch: 'b' })).toExtend<OpenAI.Responses.ResponseInput>()
  // @ts-expect-error a bare message names no batch
  void runOpenAI(session, message)
  // @ts-expect-error the two APIs take different things
  openaiTools([mine], {})
  fromOpenAI({} as OpenAI.Chat.Completions.ChatCompletionFunctionTool, () => 1)
  fromOpenAI({} as OpenAI.Responses.FunctionTool, (input) =>
    expectTypeOf(input).toEqualTypeOf<{ [key: string]: Json }>(),
  )
})

test('TOOL-8: tools, results and messages match the Anthropic types', async () => {
  expectTypeOf(anthropicTools(session)).toExtend<Anthropic.Tool[]>()
  expectTypeOf(anthropicTools([mine])).toExtend<Anthropic.ToolUnion[]>()
  expectTypeOf(await anthropicResults([])).toExtend<Anthropic.ToolResultBlockParam[]>()
  callsFromAnthropic({} as Anthropic.Message)
  callsFromAnthropic({} as Anthropic.MessageParam)
  const content = await runAnthropic(session, {} as Anthropic.Message)
  expectTypeOf({ role: 'user' as const, content }).toExtend<Anthropic.MessageParam>()
  fromAnthropic({} as Anthropic.Tool, () => 1)
})

test('TOOL-8: tools match the AI SDK types, and wrapped tools keep their types', async () => {
  const model = new MockLanguageModelV4()
  expectTypeOf(aiTools(session)).toExtend<ToolSet>()
  const existing = {
    city: aiTool({ inputSchema: z.object({ at: z.string() }), execute: async ({ at }) => ({ found: at.length }) }),
    client: aiTool({ inputSchema: z.object({}), outputSchema: z.object({ ok: z.boolean() }) }),
  }
  expectTypeOf(wrapTools(session, existing)).toEqualTypeOf<typeof existing>()
  expectTypeOf(wrapTools<ToolSet>(session, {})).toEqualTypeOf<ToolSet>()
  pawlTools(existing, { city: { onCrash: 'rerun', showErrors: true } })
  // @ts-expect-error there is no such tool
  pawlTools(existing, { town: {} })
  fromAiSdk('city', existing.city)
  expectTypeOf(isLost).toExtend<StopCondition<typeof existing>>()
  const generated = await generateText({ model, prompt: 'x', tools: wrapTools(session, existing), stopWhen: [isLost] })
  const first = generated.toolCalls[0]
  if (first?.toolName === 'city' && !first.dynamic) expectTypeOf(first.input).toEqualTypeOf<{ at: string }>()
  streamText({
    model,
    prompt: 'x',
    tools: { ...aiTools(session), ...wrapTools(session, existing) },
    stopWhen: [isLost],
  })
})

test('SESS-2: aiModel() accepts every language model of the AI SDK', () => {
  const given = {} as LanguageModelV4
  expectTypeOf(aiModel(given)).toEqualTypeOf<Model>()
  aiModel(new MockLanguageModelV4(), { name: 'mock', contextTokens: 1_000, price: { input: 1, output: 2 } })
  expectTypeOf<LanguageModelV4>().toExtend<AiLanguageModel>()
  expectTypeOf<AiCallOptions>().toExtend<LanguageModelV4CallOptions>()
  expectTypeOf<AiPromptMessage[]>().toExtend<LanguageModelV4Prompt>()
  // @ts-expect-error its name alone is not a model
  aiModel('gpt-5')
})

test('SESS-12: the chunks and messages of a chat are those of the AI SDK', () => {
  expectTypeOf<UiChunk>().toExtend<UIMessageChunk>()
  expectTypeOf<UiMessage>().toExtend<UIMessage>()
})

test('SESS-12: aiModel() accepts the language models of AI SDK 6', () => {
  const given = {} as LanguageModelV3
  expectTypeOf(aiModel(given)).toEqualTypeOf<Model>()
  aiModel(createAnthropic3()('claude'))
  aiModel(createOpenAICompatible2({ name: 'lab', baseURL: 'http://127.0.0.1' })('m'))
  aiModel(new MockLanguageModelV3())
  expectTypeOf<LanguageModelV3>().toExtend<AiLanguageModel>()
  expectTypeOf<AiCallOptions6>().toExtend<LanguageModelV3CallOptions>()
  // @ts-expect-error AI SDK 5 is not supported
  aiModel({} as LanguageModelV2)
})
