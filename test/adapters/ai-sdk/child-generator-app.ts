// An application with an async-generator tool on a SQLite file, as a process of its own. It sends each tool result of
// the SDK's stream to its parent. Arguments: the file, and 'hang' if the generator is to stop after its first yield.

import { isStepCount, streamText, tool as aiTool } from 'ai'
import { createRuntime } from 'pawl'
import { pawlTools, wrapTools } from 'pawl/ai-sdk'
import { z } from 'zod'
import { scripted } from '../../kit/models/scripted-sdk-model.ts'

const [file = '', mode = ''] = process.argv.slice(2)

const existing = {
  steps: aiTool({
    inputSchema: z.object({}),
    async *execute() {
      yield 'half'
      if (mode === 'hang') await new Promise(() => setInterval(() => {}, 1_000))
      yield 'whole'
    },
  }),
}
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const runtime = await createRuntime({
  store: `sqlite:${file}`,
  tools: pawlTools(existing, { steps: { onCrash: 'rerun' } }),
  lease: '500ms',
  logger: silent,
})
const tools = wrapTools(runtime.session('chat'), existing)
const model = scripted([['call_1', 'steps', '{}']])
const { stream } = streamText({ model, prompt: 'Go', tools, stopWhen: isStepCount(2) })
for await (const part of stream)
  if (part.type === 'tool-result') process.send?.([part.output, part.preliminary === true])
await runtime.close()
