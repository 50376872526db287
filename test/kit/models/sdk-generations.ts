// The provider packages of the supported generations of the AI SDK.

import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createAnthropic as createAnthropic3 } from 'ai-sdk-anthropic-3'
import { createOpenAICompatible as createOpenAICompatible2 } from 'ai-sdk-openai-compatible-2'
import type { AiLanguageModel } from 'pawl/ai-sdk'

type LabOptions = Parameters<typeof createOpenAICompatible>[0] & Parameters<typeof createOpenAICompatible2>[0]

export interface SdkGeneration {
  readonly sdk: 6 | 7
  /** A model of Anthropic's messages protocol. */
  anthropic(baseURL: string, id?: string): AiLanguageModel
  /** A model of the chat completions protocol. */
  lab(baseURL: string, options?: Partial<LabOptions>): AiLanguageModel
}

const labOptions = (baseURL: string): LabOptions => ({ name: 'my-lab', baseURL, apiKey: 'key', includeUsage: true })

export const sdkGenerations: readonly SdkGeneration[] = [
  {
    sdk: 7,
    anthropic: (baseURL, id = 'claude-test') => createAnthropic({ baseURL, apiKey: 'key' })(id),
    lab: (baseURL, options) => createOpenAICompatible({ ...labOptions(baseURL), ...options })('gpt-test'),
  },
  {
    sdk: 6,
    anthropic: (baseURL, id = 'claude-test') => createAnthropic3({ baseURL, apiKey: 'key' })(id),
    lab: (baseURL, options) => createOpenAICompatible2({ ...labOptions(baseURL), ...options })('gpt-test'),
  },
]
