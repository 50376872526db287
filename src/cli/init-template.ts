// The files that `pawl init` writes: a turn whose refund waits for a person, on the store that the other commands use.

export type Template = 'ai-sdk' | 'plain'

export interface TemplateFacts {
  readonly template: Template
  readonly typescript: boolean
  /** The file itself, for its first line. */
  readonly file: string
  /** A provider package of the AI SDK that the project has; null: the gateway. */
  readonly provider: Provider | null
}

export interface Provider {
  readonly pack: string
  readonly name: string
  readonly key: string
  readonly model: string
}

export const providers: readonly Provider[] = [
  { pack: '@ai-sdk/openai', name: 'openai', key: 'OPENAI_API_KEY', model: 'gpt-5-mini' },
  { pack: '@ai-sdk/anthropic', name: 'anthropic', key: 'ANTHROPIC_API_KEY', model: 'claude-sonnet-5-5' },
  { pack: '@ai-sdk/google', name: 'google', key: 'GOOGLE_GENERATIVE_AI_API_KEY', model: 'gemini-3-flash' },
]

const gateway: Provider = { pack: 'ai', name: 'gateway', key: 'AI_GATEWAY_API_KEY', model: 'openai/gpt-5-mini' }

const schema = (type: string, typescript: boolean): string => `jsonSchema${typescript ? `<${type}>` : ''}`

export const renderTemplate = (facts: TemplateFacts): string =>
  facts.template === 'ai-sdk' ? aiSdkFile(facts) : plainFile(facts)

const head = (file: string): string => `// A first durable agent. Run it: node ${file}
// It asks before it refunds: \`npx pawl approve\` in another terminal. Kill it at any time and run it again: it goes on
// where it stopped. \`npx pawl tail\` shows what happens.
`

const script = `scriptedModel([
  { say: 'Let me look it up.', call: { name: 'look_up_order', input: { order: 'A1' } } },
  { say: 'I will refund it.', call: { name: 'refund', input: { order: 'A1', cents: 4200 } } },
  'Done: 42.00 € are on their way.',
])`

const runIt = `const session = runtime.session('chat-1', { principal: 'user:ada' })
// The id makes a repeated run join the same turn instead of starting another one.
const turn = session.turn({ id: 'message-1', model, message: 'Order A1 arrived broken. Please refund it.' })

for await (const text of turn.textStream) process.stdout.write(\`\${text}\\n\`)
const outcome = await turn.outcome
console.log(outcome.status === 'success' ? 'The turn has ended.' : outcome)
await runtime.close()
`

const orderSchema = `{
    type: 'object',
    properties: { order: { type: 'string' } },
    required: ['order'],
  }`
const refundSchema = `{
    type: 'object',
    properties: { order: { type: 'string' }, cents: { type: 'integer', minimum: 1 } },
    required: ['order', 'cents'],
  }`

const plainFile = ({ file, typescript }: TemplateFacts): string => `${head(file)}
import { mkdirSync } from 'node:fs'
import { createRuntime, jsonSchema, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'

const lookUpOrder = tool({
  name: 'look_up_order',
  description: 'Returns the amount and the state of an order.',
  input: ${schema('{ order: string }', typescript)}(${orderSchema}),
  hints: { readOnly: true },
  execute: ({ order }) => ({ order, cents: 4200, state: 'delivered' }),
})

const refund = tool({
  name: 'refund',
  description: 'Refunds an order.',
  input: ${schema('{ order: string; cents: number }', typescript)}(${refundSchema}),
  hints: { destructive: true }, // needs the approval of a person
  onCrash: 'rerun', // safe: the effect is in a recorded step
  preview: ({ order, cents }) => \`Refund \${(cents / 100).toFixed(2)} € for order \${order}.\`,
  execute: async ({ order, cents }, ctx) =>
    // A recorded step: after a crash its result is read, not made again. The key deduplicates at the provider.
    ctx.step('refund', async () => ({ refunded: cents, order, idempotencyKey: ctx.key('refund') })),
})

// A scripted model needs no key. Any model of the AI SDK works too: aiModel(openai('gpt-5-mini')), from 'pawl/ai-sdk'.
const model = ${script}

mkdirSync('.pawl', { recursive: true })
const runtime = await createRuntime({
  store: 'sqlite:.pawl/pawl.db',
  tools: [lookUpOrder, refund],
  models: [model],
})
${runIt}`

function aiSdkFile({ file, typescript, provider }: TemplateFacts): string {
  const { pack, name, key, model } = provider ?? gateway
  const fromAi = ['jsonSchema', 'tool', ...(pack === 'ai' ? ['gateway'] : [])].toSorted()
  return `${head(file)}
import { mkdirSync } from 'node:fs'
import { ${fromAi.join(', ')} } from 'ai'
${pack === 'ai' ? '' : `import { ${name} } from '${pack}'\n`}import { createRuntime } from 'pawl'
import { aiModel, pawlTools } from 'pawl/ai-sdk'
import { scriptedModel } from 'pawl/testing'

// Tools of the AI SDK, as you have them.
const tools = {
  look_up_order: tool({
    description: 'Returns the amount and the state of an order.',
    inputSchema: ${schema('{ order: string }', typescript)}(${orderSchema.replaceAll('\n', '\n  ')}),
    execute: async ({ order }) => ({ order, cents: 4200, state: 'delivered' }),
  }),
  refund: tool({
    description: 'Refunds an order.',
    inputSchema: ${schema('{ order: string; cents: number }', typescript)}(${refundSchema.replaceAll('\n', '\n  ')}),
    execute: async ({ order, cents }) => ({ refunded: cents, order }),
  }),
}

// Without an API key a script answers.
const model = process.env.${key}
  ? aiModel(${name}('${model}'))
  : ${script.replaceAll('\n', '\n    ')}

mkdirSync('.pawl', { recursive: true })
const runtime = await createRuntime({
  store: 'sqlite:.pawl/pawl.db',
  // The second argument adds what the AI SDK does not have: a refund needs the approval of a person.
  tools: pawlTools(tools, { look_up_order: { hints: { readOnly: true } }, refund: { hints: { destructive: true } } }),
  models: [model],
})
// In code that calls generateText or streamText yourself: tools: wrapTools(session, tools), from 'pawl/ai-sdk'.
${runIt}`
}
