// The tools that the conformance suites call on a server. Questions to the client are questions to a person in Pawl.

import { type Attachment, type JsonSchema, jsonSchema, result, tool, type Tool, type ToolContext } from 'pawl'

const empty = { type: 'object', properties: {}, additionalProperties: false } as const
const noInput = jsonSchema<Record<string, never>>(empty)

/** A PNG of one red pixel. */
export const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
)
/** A WAV file without samples. */
const wav = Buffer.from('UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=', 'base64')

type Files = ToolContext['attachments']
const withAttachments = (name: string, text: string, make: (files: Files) => readonly Attachment[]): Tool =>
  tool({
    name,
    description: `Returns ${text}`,
    input: noInput,
    hints: { readOnly: true },
    execute: (_, ctx) => result(text, { attachments: make(ctx.attachments) }),
  })

const contentTools: readonly Tool[] = [
  tool({
    name: 'test_simple_text',
    description: 'Returns a text',
    input: noInput,
    hints: { readOnly: true },
    execute: () => 'This is a simple text response for testing.',
  }),
  withAttachments('test_image_content', 'an image', (files) => [
    files.create(png, { mediaType: 'image/png', name: 'pixel.png' }),
  ]),
  withAttachments('test_audio_content', 'a sound', (files) => [
    files.create(wav, { mediaType: 'audio/wav', name: 'silence.wav' }),
  ]),
  withAttachments('test_embedded_resource', 'a file', (files) => [
    files.create('This is an embedded resource content.', { mediaType: 'text/plain', name: 'embedded.txt' }),
  ]),
  withAttachments('test_multiple_content_types', 'Multiple content types test:', (files) => [
    files.create(png, { mediaType: 'image/png', name: 'pixel.png' }),
    files.create('{"test":"data","value":123}', { mediaType: 'application/json', name: 'data.json' }),
  ]),
  tool({
    name: 'test_error_handling',
    description: 'Always fails',
    input: noInput,
    execute: () => {
      throw new Error('This tool intentionally returns an error for testing')
    },
  }),
  tool({
    name: 'test_tool_with_progress',
    description: 'Reports progress',
    input: noInput,
    execute: async (_, ctx) => {
      for (const done of [0, 50, 100]) {
        ctx.progress({ current: done, total: 100 })
        // Progress is limited to ten reports per second.
        await new Promise((resolve) => setTimeout(resolve, 150))
      }
      return 'Reported three times'
    },
  }),
  tool({
    name: 'test_logging_tool',
    description: 'Writes to the log',
    input: noInput,
    execute: (_, ctx) => {
      ctx.log.info('Tool execution started')
      return 'Wrote to the log'
    },
  }),
  tool({
    name: 'test_header_argument',
    description: 'Has an argument that clients also send as a header',
    input: jsonSchema({
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, query: { type: 'string' } },
      required: ['region'],
    }),
    execute: () => 'ok',
  }),
  tool({
    name: 'json_schema_2020_12_tool',
    description: 'Has an input schema with keywords of JSON Schema 2020-12',
    input: jsonSchema({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          $anchor: 'addressDef',
          type: 'object',
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    }),
    execute: () => 'ok',
  }),
]

/** Asks its questions one after the other. Answers of an earlier execution are recorded. */
const asking = (name: string, questions: Readonly<Record<string, string>>, input: JsonSchema = empty): Tool =>
  tool({
    name,
    description: 'Asks a person',
    input: jsonSchema<{ message?: string }>(input),
    onCrash: 'rerun',
    execute: async ({ message }, ctx) => {
      const answers: unknown[] = []
      for (const [key, text] of Object.entries(questions)) {
        const asked = await ctx.ask({ name: key, text: message ?? text })
        answers.push((await asked.value).answer)
      }
      return `User response: ${JSON.stringify(answers)}`
    },
  })

const withMessage = {
  type: 'object',
  properties: { message: { type: 'string', description: 'Shown to the user' } },
  required: ['message'],
  additionalProperties: false,
}

const askingTools: readonly Tool[] = [
  asking('test_elicitation', { answer: 'Your name?' }, withMessage),
  asking('test_streaming_elicitation', { answer: 'Go on?' }),
  asking('test_input_required_result_elicitation', { user_name: 'What is your name?' }),
  asking('test_input_required_result_request_state', { confirm: 'Please confirm' }),
  asking('test_input_required_result_tampered_state', { confirm: 'Please confirm' }),
  asking('test_input_required_result_multi_round', {
    step1: 'Step 1: What is your name?',
    step2: 'Step 2: What is your favorite color?',
  }),
  asking(
    'confirm_delete',
    { confirm: 'Delete the file?' },
    {
      type: 'object',
      properties: { filename: { type: 'string' } },
      required: ['filename'],
      additionalProperties: false,
    },
  ),
]

/** Asks two questions at the same time. */
const twoQuestions = tool({
  name: 'multi_input',
  description: 'Asks a person two questions',
  input: noInput,
  onCrash: 'rerun',
  execute: async (_, ctx) => {
    const asked = await Promise.all([
      ctx.ask({ name: 'first', text: 'Your name?' }),
      ctx.ask({ name: 'second', text: 'Your colour?' }),
    ])
    return await Promise.all(asked.map(async ({ value }) => (await value).answer))
  },
})

/** Tools of the tasks extension: the suite expects that the slow one becomes a task. */
const taskTools: readonly Tool[] = [
  tool({
    name: 'greet',
    description: 'Returns at once',
    input: jsonSchema<{ name: string }>({ type: 'object', properties: { name: { type: 'string' } } }),
    execute: ({ name }) => `Hello, ${name}!`,
  }),
  tool({
    name: 'slow_compute',
    description: 'Takes the given time',
    input: jsonSchema<{ seconds: number }>({
      type: 'object',
      properties: { seconds: { type: 'number' }, label: { type: 'string' } },
      required: ['seconds'],
    }),
    onCrash: 'rerun',
    execute: async ({ seconds }, ctx) => {
      await ctx.sleep(seconds * 1_000)
      return `Slept for ${seconds} s`
    },
  }),
  tool({
    name: 'failing_job',
    description: 'Fails after a while',
    input: noInput,
    onCrash: 'rerun',
    execute: async (_, ctx) => {
      // Longer than a call may take before it becomes a task.
      await ctx.sleep('2s')
      throw new Error('The job failed')
    },
  }),
]

/** Creates the tools. `change` names the hooks with which a suite changes the lists of the server. */
export function conformanceTools(change: { tools(): void; prompts(): void }): readonly Tool[] {
  const trigger = (name: string, run: () => void): Tool =>
    tool({
      name,
      description: 'Changes what the server lists',
      input: noInput,
      execute: () => {
        run()
        return 'changed'
      },
    })
  return [
    ...contentTools,
    ...askingTools,
    twoQuestions,
    ...taskTools,
    trigger('test_trigger_tool_change', change.tools),
    trigger('test_trigger_prompt_change', change.prompts),
  ]
}
