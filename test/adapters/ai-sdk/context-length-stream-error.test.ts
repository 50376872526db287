// A context overflow that a provider reports as an error inside its stream.

import { aiModel, type AiStreamPart } from 'pawl/ai-sdk'
import { expect, test } from 'vitest'
import { after } from '../../kit/stores/fresh-store.ts'
import { opening } from '../../kit/open-runtime.ts'

const open = opening()

/** A model that reports a context overflow in its stream above 2,000 characters. */
function narrow(error: unknown): { model: ReturnType<typeof aiModel>; asked: () => number } {
  let asked = 0
  const model = aiModel({
    specificationVersion: 'v4',
    provider: 'openai.responses',
    modelId: 'x',
    async doStream({ prompt }) {
      asked++
      const parts: AiStreamPart[] =
        JSON.stringify(prompt).length > 2_000
          ? [
              { type: 'error', error },
              { type: 'finish', finishReason: { unified: 'error' }, usage: {} },
            ]
          : [
              { type: 'text-delta', id: '1', delta: 'a'.repeat(700) },
              { type: 'finish', finishReason: { unified: 'stop' }, usage: {} },
            ]
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of parts) controller.enqueue(part)
            controller.close()
          },
        }),
      }
    },
  })
  return { model, asked: () => asked }
}

const said = {
  type: 'invalid_request_error',
  code: 'context_length_exceeded',
  message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
  param: 'input',
}

test.each([
  ['as an event of the responses protocol', { type: 'error', sequence_number: 2, error: said }],
  ['as a string', said.message],
])('SESS-10 SESS-2: a context overflow in the stream compacts the conversation (%s)', async (_, error) => {
  const { model } = narrow(error)
  const { runtime, clock } = await open({ models: [model] })
  const session = runtime.session('s')
  for (let n = 0; n < 3; n++)
    expect(await after(session.turn({ model, message: `Go ${'u'.repeat(400)}` }).outcome, clock)).toMatchObject({
      value: { status: 'success' },
    })
})
