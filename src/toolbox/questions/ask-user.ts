// ask_user: asks a person for a choice, a text or a secret and waits for the answer. At the deadline the default is
// used, if there is one. A secret is stored in the session; the model gets only a reference to it.

import { PawlError } from '../../core/errors.ts'
import type { Json } from '../../core/tool-value.ts'
import { maxSecrets } from '../../core/session-values-interface.ts'
import type { Question, ToolContext } from '../../tools/context/tool-context.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { jsonSchema } from '../../tools/schema.ts'
import { tool } from '../../tools/tool.ts'
import { fail } from '../../core/outcome.ts'
import { withValueErrors, invalidArguments } from '../values/value-tool-errors.ts'

interface Input {
  readonly question: string
  readonly choices?: readonly string[]
  readonly several?: boolean
  readonly default?: string | readonly string[]
  readonly timeout_seconds?: number
  readonly secret?: string
}

const defaultSeconds = 300
/** Questions to people wait at least one second, so a shorter timeout means that the session is unattended. */
const unattendedMs = 500

export const askUser = tool({
  name: 'ask_user',
  title: 'Ask the user',
  description:
    'Ask the person you work for and wait for the answer: a text, one of some choices, several of them, or a secret that you only get a reference to. Ask only what you cannot find out yourself.',
  input: jsonSchema<Input>({
    type: 'object',
    properties: {
      question: { type: 'string', minLength: 1, maxLength: 4000, description: 'What to ask, in plain words' },
      choices: {
        type: 'array',
        items: { type: 'string', minLength: 1 },
        minItems: 1,
        maxItems: 50,
        uniqueItems: true,
        description: 'The answer is one of these; without them it is a text',
      },
      several: { type: 'boolean', description: 'Several of the choices may be taken; the answer is a list then' },
      default: {
        anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
        description: 'What silence means; of choices one of them, or a list of them where several may be taken',
      },
      timeout_seconds: {
        type: 'integer',
        minimum: 1,
        maximum: 86_400,
        description: `How long to wait for the answer; ${defaultSeconds} if left out`,
      },
      secret: {
        type: 'string',
        maxLength: 128,
        description:
          'The answer is a password, token or key: it is kept under this name, and you get secret:NAME to hand to tools',
      },
    },
    required: ['question'],
    additionalProperties: false,
  }),
  output: jsonSchema({
    type: 'object',
    properties: {
      status: { type: 'string', enum: ['answered', 'declined', 'timed_out'], description: 'How it ended' },
      answer: { description: 'The text, the choice or the list; null if there is none' },
      answered_by: {
        type: 'string',
        enum: ['user', 'timeout', 'unattended'],
        description: 'Where the answer comes from',
      },
      secret: { type: 'string', description: 'The reference to a secret that was given' },
    },
    required: ['status', 'answer', 'answered_by'],
    additionalProperties: false,
  }),
  // A rerun after a crash joins the recorded question and gets the same answer.
  hints: { idempotent: true },
  onCrash: 'rerun',
  concurrency: 'parallel',
  narrate: narrate(
    {
      en: {
        started: 'Asking: {}',
        waiting: 'Waiting for an answer: {}',
        completed: 'Asked: {}',
        failed: 'Could not ask: {}',
      },
      de: {
        started: 'Fragt: {}',
        waiting: 'Wartet auf eine Antwort: {}',
        completed: 'Hat gefragt: {}',
        failed: 'Konnte nicht fragen: {}',
      },
    },
    ({ question }: Input) => question,
  ),
  examples: [
    { question: 'Which size should it be?', choices: ['S', 'M', 'L'], default: 'M' },
    { question: 'What is the API key of the shop?', secret: 'shop.api-key' },
  ],
  async execute(input, ctx) {
    const { secret } = input as Input
    const question = toQuestion(input as Input)
    if (secret !== undefined) await withValueErrors(() => checkSecret(secret, ctx))
    const askedAt = await ctx.now()
    const pending = await ctx.ask(question)
    const { status, answer } = await pending.value
    if (status === 'timed_out')
      return { status, answer, answered_by: pending.deadline - askedAt < unattendedMs ? 'unattended' : 'timeout' }
    if (secret === undefined || status === 'declined') return { status, answer, answered_by: 'user' }
    await withValueErrors(() => ctx.secrets.set(secret, answer as string))
    return { status, answer: null as Json, answered_by: 'user', secret: `secret:${secret}` }
  },
})

/** Builds the question for the person, or throws if the arguments contradict each other. */
function toQuestion({
  question,
  choices,
  several = false,
  default: byDefault,
  timeout_seconds: seconds = defaultSeconds,
  secret,
}: Input): Question {
  if (question.trim() === '') throw invalidArguments('question must not be blank')
  if (secret !== undefined && (choices !== undefined || byDefault !== undefined || several))
    throw invalidArguments('A secret is a text: it has no choices and no default')
  if (several && choices === undefined) throw invalidArguments('several is for choices')
  const defaults = byDefault === undefined ? [] : typeof byDefault === 'string' ? [byDefault] : byDefault
  if (byDefault !== undefined && several !== (typeof byDefault !== 'string'))
    throw invalidArguments(several ? 'default must be a list where several may be taken' : 'default must be a text')
  if (choices !== undefined && !defaults.every((each) => choices.includes(each)))
    throw invalidArguments('default must be among the choices')
  return {
    text: question,
    deadline: `${seconds}s`,
    ...(choices === undefined ? {} : { choices, several }),
    ...(byDefault === undefined ? {} : { default: byDefault }),
    ...(secret === undefined ? {} : { secret: true }),
  }
}

/** Throws if the secret could not be stored, before a person is asked for it. */
async function checkSecret(name: string, { secrets }: ToolContext): Promise<void> {
  await secrets.has(name)
  const all = await secrets.list()
  const known = all.find((each) => each.name === name)
  if (!known && all.length >= maxSecrets) throw new PawlError('secrets_full')
  if (known?.by === 'host')
    throw fail('This secret is there already: use it by its reference.', {
      code: 'secret_reserved',
      class: 'permission_denied',
    })
}
