// Builds request bodies with both provider packages and checks them against the rules of their servers. Nothing is
// sent.
/* oxlint-disable typescript/no-explicit-any -- request bodies in the wire format */

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import type { Model, ModelRequest } from 'pawl'
import { aiModel } from 'pawl/ai-sdk'
import { anthropicProblems, openaiProblems } from '../../kit/models/provider-request-rules.ts'
import { png } from '../../kit/shop-tools.ts'

const sent: string[] = []
const fetch = async (_: unknown, init?: { body?: unknown }): Promise<Response> => {
  sent.push(String(init?.body))
  throw new Error('It is not sent')
}

interface Wire {
  readonly model: Model
  readonly problems: (body: any) => string[]
}

const wires: readonly Wire[] = [
  {
    model: aiModel(createOpenAICompatible({ name: 'lab', baseURL: 'http://lab.test/v1', fetch })('m')),
    problems: openaiProblems,
  },
  { model: aiModel(createAnthropic({ apiKey: 'key', fetch })('claude-m')), problems: anthropicProblems },
]

const { signal } = new AbortController()

/** Returns one message for each violation of the rules of a provider. */
export async function problemsOnTheWire(request: ModelRequest): Promise<string[]> {
  const wrong: string[] = []
  for (const { model, problems } of wires) {
    sent.length = 0
    await model.generate({ request, signal, read: async () => png, told: () => {} }).catch(() => {})
    const [body] = sent
    if (body === undefined) wrong.push(`${model.name}: nothing was sent`)
    else wrong.push(...problems(JSON.parse(body)).map((problem) => `${model.name}: ${problem}`))
  }
  return wrong
}
