// The model of the desk: a script, or a real model if there is an API key.

import type { Model, ModelMessage } from '../../index.ts'
import { scriptedModel } from '../../testing/testing.ts'
import { CliError, exitCodes } from '../exit-codes.ts'

export const instructions = `You work at the support desk of a shop. Look an order up before you refund it. Start exports in the background with
spawn_background, and wait for them with wait_task before you answer. Be brief.`

export async function deskModel(): Promise<Model> {
  const {
    OPENAI_API_KEY: apiKey,
    OPENAI_BASE_URL: baseURL = 'https://api.openai.com/v1',
    OPENAI_MODEL: name = 'gpt-5-mini',
  } = process.env
  if (!apiKey) return scripted
  const { aiModel } = await import('../../adapters/ai-sdk/ai-sdk.ts')
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible').catch((cause: unknown) => {
    throw new CliError(
      exitCodes.usage,
      'OPENAI_API_KEY is set, so a real model answers; for that, install `ai` and `@ai-sdk/openai-compatible`, or unset it.',
      { cause },
    )
  })
  return aiModel(createOpenAICompatible({ name: 'openai', baseURL, apiKey })(name))
}

const taskIn = (messages: readonly ModelMessage[]): string =>
  /\\"task_id\\":\\"([^"\\]+)/.exec(JSON.stringify(messages))?.[1] ?? ''

const scripted = scriptedModel([
  { say: 'I am sorry to hear that. Let me look it up.', call: { name: 'look_up_order', input: { order: 'A1' } } },
  {
    say: 'I will start the export and request the refund.',
    call: [
      {
        name: 'spawn_background',
        input: { tool: 'export_orders', args: { customer: 'ada' }, title: 'Export of orders' },
      },
      { name: 'refund', input: { order: 'A1', cents: 4200 } },
    ],
  },
  ({ request }) => ({ call: { name: 'wait_task', input: { task_id: taskIn(request.messages), timeout_seconds: 60 } } }),
  ({ request }) =>
    JSON.stringify(request.messages).includes('re_ch_A1')
      ? 'Done: 42.00 € are on their way, and your orders are in /exports/ada.csv.'
      : 'Your orders are in /exports/ada.csv. The refund was not approved.',
])
