// Subjects other than Pawl: the floor, and common tool loops. The peers are installed in this folder and not in the
// package, so they are loaded by a specifier that the compiler does not follow, with minimal types.

import {
  expectAll,
  input,
  inputText,
  many,
  noop,
  type Opened,
  perSize,
  schema,
  sizes,
  type Subject,
} from './workload.ts'
import { z } from 'zod'

type Run = (size: number) => Promise<void>

async function load<T>(specifier: string): Promise<T> {
  try {
    return (await import(specifier)) as T
  } catch (cause) {
    throw new Error(`'${specifier}' cannot be loaded. The peers are installed by: npm ci --prefix bench/calls`, {
      cause,
    })
  }
}

function subject(name: string, batch: Run, how: { sizes?: readonly number[]; hasModel?: boolean } = {}): Subject {
  const opened: Opened = { batch, close: async () => {} }
  return { name, sizes: how.sizes ?? sizes, hasModel: how.hasModel ?? false, open: async () => opened }
}

export const bare = (): Subject =>
  subject('bare `await fn(args)`', async (size) => {
    const results = await Promise.all(many(size, () => noop(input)))
    expectAll('bare', results.length, size)
  })

/** The minimum for untrusted arguments: parse the JSON, validate it, run the tool, serialize the result. */
export async function floor(): Promise<Subject> {
  const { Ajv } = await load<{ Ajv: new () => { compile(schema: object): (value: unknown) => boolean } }>('ajv')
  const valid = new Ajv().compile(z.toJSONSchema(schema, { target: 'draft-7' }))
  const call = async (text: string): Promise<string> => {
    const args: unknown = JSON.parse(text)
    if (!valid(args)) throw new Error('floor: refused')
    return JSON.stringify(await noop(args))
  }
  return subject('floor: JSON.parse + ajv + await fn + JSON.stringify', async (size) => {
    const results = await Promise.all(many(size, () => call(inputText)))
    expectAll('floor', results.length, size)
  })
}

interface AiSdk {
  tool(definition: object): object
  isStepCount(count: number): unknown
  generateText(options: object): Promise<{ steps: { toolResults: unknown[] }[] }>
}

/**
 * `answers`: the model gets the results and answers. Without it the run ends with the results, like a batch of Pawl.
 */
export async function aiSdk(name: string, answers: boolean): Promise<Subject> {
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
  const { tool, isStepCount, generateText } = await load<AiSdk>('ai')
  const tools = { noop: tool({ description: 'Does nothing', inputSchema: schema, execute: noop }) }
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  }
  const says = (content: object[], reason: string): object => ({
    content,
    finishReason: { unified: reason, raw: undefined },
    usage,
    warnings: [],
  })
  const answer = says([{ type: 'text', text: 'done' }], 'stop')
  const asks = perSize((size) => {
    const calls = many(size, (index) => ({
      type: 'tool-call',
      toolCallId: `c${index}`,
      toolName: 'noop',
      input: inputText,
    }))
    return size === 0 ? answer : says(calls, 'tool-calls')
  })
  const stopWhen = isStepCount(answers ? 2 : 1)
  const batch: Run = async (size) => {
    let turn = 0
    const model = {
      specificationVersion: 'v4',
      provider: 'stub',
      modelId: 'stub',
      supportedUrls: {},
      doGenerate: async () => (turn++ === 0 ? asks(size) : answer),
    }
    const { steps } = await generateText({ model, tools, prompt: 'go', stopWhen })
    expectAll(name, steps[0]?.toolResults.length ?? 0, size)
    expectAll(name, steps.length, answers && size > 0 ? 2 : 1)
  }
  return subject(name, batch, { hasModel: true })
}

interface LangChain {
  tools: { tool(run: typeof noop, definition: object): object }
  messages: { AIMessage: new (fields: object) => object }
  prebuilt: {
    ToolNode: new (tools: object[]) => { invoke(state: object): Promise<{ messages: { status?: string }[] }> }
  }
}

export async function langGraph(): Promise<Subject> {
  process.env.LANGSMITH_TRACING = 'false' // read at import time: prevents network requests
  const { tool } = await load<LangChain['tools']>('@langchain/core/tools')
  const { AIMessage } = await load<LangChain['messages']>('@langchain/core/messages')
  const { ToolNode } = await load<LangChain['prebuilt']>('@langchain/langgraph/prebuilt')
  const node = new ToolNode([tool(noop, { name: 'noop', description: 'Does nothing', schema })])
  const asks = perSize(
    (size) =>
      new AIMessage({
        content: '',
        tool_calls: many(size, (index) => ({ id: `c${index}`, name: 'noop', args: input, type: 'tool_call' })),
      }),
  )
  return subject('LangGraph ToolNode.invoke', async (size) => {
    const { messages } = await node.invoke({ messages: [asks(size)] })
    expectAll('LangGraph', messages.filter(({ status }) => status !== 'error').length, size)
  })
}

interface OpenAiAgents {
  tool(definition: object): object
  setTracingDisabled(disabled: boolean): void
  Usage: new () => object
  Agent: new (options: object) => object
  Runner: new (options: object) => { run(agent: object, prompt: string): Promise<{ newItems: { type: string }[] }> }
}

export async function openAiAgents(): Promise<Subject> {
  const { tool, setTracingDisabled, Usage, Agent, Runner } = await load<OpenAiAgents>('@openai/agents')
  setTracingDisabled(true)
  const own = tool({ name: 'noop', description: 'Does nothing', parameters: schema, execute: noop })
  const runner = new Runner({ tracingDisabled: true })
  const answer = [
    {
      type: 'message',
      id: 'm',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'done' }],
    },
  ]
  const agents = perSize((size) => {
    const asks = many(size, (index) => ({
      type: 'function_call',
      id: `f${index}`,
      callId: `c${index}`,
      name: 'noop',
      status: 'completed',
      arguments: inputText,
    }))
    const model = {
      getResponse: async () => ({ usage: new Usage(), responseId: 'r', output: size === 0 ? answer : asks }),
    }
    // Ends with the results, like the other subjects.
    return new Agent({ name: 'bench', model, tools: [own], toolUseBehavior: 'stop_on_first_tool' })
  })
  const batch: Run = async (size) => {
    const { newItems } = await runner.run(agents(size), 'go')
    expectAll('OpenAI Agents', newItems.filter(({ type }) => type === 'tool_call_output_item').length, size)
  }
  // Quadratic in the batch size: 512 calls at once would take ten seconds.
  return subject('OpenAI Agents Runner.run', batch, { sizes: [1, 8, 64], hasModel: true })
}
