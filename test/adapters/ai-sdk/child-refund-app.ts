// An application with AI SDK tools on a SQLite file, as a process of its own. The parent kills it while a refund is on
// its way. Arguments: the file, the text of the user, and 'hang' if the body is to stop before it returns.

import { appendFileSync } from 'node:fs'
import { generateText, isStepCount, jsonSchema, tool as aiTool } from 'ai'
import { createRuntime } from 'pawl'
import { pawlTools, wrapTools } from 'pawl/ai-sdk'
import { scripted } from '../../kit/models/scripted-sdk-model.ts'

const [file = '', prompt = '', mode = ''] = process.argv.slice(2)

const existing = {
  refund: aiTool({
    description: 'Refunds',
    inputSchema: jsonSchema<{ order: string }>({ type: 'object' }),
    async execute({ order }) {
      appendFileSync(`${file}.ran`, `${order}\n`)
      process.send?.({ ran: order })
      if (mode === 'hang') await new Promise(() => setInterval(() => {}, 1_000))
      return { refunded: order }
    },
  }),
}
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const runtime = await createRuntime({
  store: `sqlite:${file}`,
  tools: pawlTools(existing),
  lease: '500ms',
  logger: silent,
})
const model = scripted([['call_1', 'refund', '{"order":"A1"}']], [['call_1', 'refund', '{"order":"A1"}']], 'Done')
const { steps } = await generateText({
  model,
  prompt,
  tools: wrapTools(runtime.session('chat'), existing),
  stopWhen: isStepCount(3),
})
process.send?.({
  results: steps.flatMap(({ content }) =>
    content.flatMap((part) =>
      part.type === 'tool-result' ? [part.output] : part.type === 'tool-error' ? [String(part.error)] : [],
    ),
  ),
})
await runtime.close()
