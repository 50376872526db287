// What really goes out: a request by way of both provider packages, and what their servers would refuse of it. The packages make the bodies; nothing is sent.
/* oxlint-disable typescript/no-explicit-any -- bodies as they came over the wire */

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
  { model: aiModel(createOpenAICompatible({ name: 'lab', baseURL: 'http://lab.test/v1', fetch })('m')), problems: openaiProblems },
  { model: aiModel(createAnthropic({ apiKey: 'key', fetch })('claude-m')), problems: anthropicProblems },
]

const { signal } = new AbortController()

/** A sentence for each thing that one of the two would refuse. */
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
