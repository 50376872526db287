// agent(): a tool that runs another model in a session of its own. It is an ordinary tool built on ctx.turn, so
// policy, limits and background execution apply as usual.

import { checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import type { Duration } from '../../core/duration.ts'
import { type ErrorCode, PawlError } from '../../core/errors.ts'
import { fail } from '../../core/outcome.ts'
import type { Json } from '../../core/tool-value.ts'
import { checkModel, type Model } from '../../models/model.ts'
import type { AgentTurn, ToolContext } from '../../tools/context/tool-context.ts'
import { jsonSchema } from '../../tools/schema.ts'
import { type Tool, tool, type ToolDefinition } from '../../tools/tool.ts'
import { turnOptions } from '../turn-request.ts'

/** The options of agent(). */
export interface AgentDefinition extends Pick<AgentTurn, 'model' | 'frame' | 'instructions' | 'tools' | 'limits'> {
  /** The name models use: 1 to 64 characters of A-Z a-z 0-9 _ -. */
  readonly name: string
  /** Title for people. Default: the name. */
  readonly title?: string
  /** Description for the model that calls it. */
  readonly description: string
  /** Whether a person must approve each use. Default: as the policy says. */
  readonly approval?: ToolDefinition<never, never>['approval'] & ('always' | 'never')
  /** Timeout, not counting time spent waiting for people. Default: 1 h. */
  readonly timeout?: Duration
}

export const agentOptions = {
  name: option.required(option.nonEmptyString),
  title: option.string,
  description: option.required(option.nonEmptyString),
  approval: option.oneOf('always', 'never'),
  timeout: option.positiveDuration,
  model: option.anything,
  frame: turnOptions.frame,
  instructions: turnOptions.instructions,
  tools: turnOptions.tools,
  limits: turnOptions.limits,
} satisfies OptionTable<AgentDefinition>

/**
 * Makes a tool that hands a task to another model, in a session of its own. It runs as a task too, and its calls obey
 * the same policies.
 *
 * @example
 * const researcher = agent({ name: 'research', description: 'Researches a question', model: 'small', tools:
 * ['web_fetch'] })
 */
export function agent(definition: AgentDefinition): Tool<{ task: string }, Json> {
  checkRequiredOptions(definition, agentOptions, 'agent()', 'tool_invalid')
  const { name, title, description, approval, timeout = '1h', ...work } = definition
  const { model, frame, limits } = work
  if (model === undefined && frame === undefined)
    throw new PawlError('tool_invalid', `Agent '${name}' has no model. Pass \`model\`, or a \`frame\` that has one.`)
  if (model !== undefined && typeof model !== 'string') checkModel(model)
  if (limits?.cost !== undefined && typeof model === 'object' && !(model as Partial<Model>).price)
    throw new PawlError('tool_invalid', `Tool '${name}' sets limits.cost, but its model has no price.`)
  return tool({
    name,
    ...(title === undefined ? {} : { title }),
    description,
    input: jsonSchema<{ task: string }>({
      type: 'object',
      properties: {
        task: {
          type: 'string',
          minLength: 1,
          description: 'What is to be done, with all that is needed to know for it',
        },
      },
      required: ['task'],
      additionalProperties: false,
    }),
    // A rerun is safe: the agent's effects are calls with records of their own.
    onCrash: 'rerun',
    concurrency: 'parallel',
    ...(approval === undefined ? {} : { approval }),
    timeout,
    background: true,
    async execute({ task }, ctx): Promise<Json> {
      const outcome = await ctx
        .turn({ ...work, message: task })
        .catch((error: unknown) => rethrowAsFailure(error, name, ctx))
      switch (outcome.status) {
        case 'success':
          return outcome.value.end === 'finish' ? outcome.value.value : outcome.value.text
        case 'failure':
          throw fail(outcome.failure.message, { code: outcome.failure.code, class: outcome.failure.class })
        case 'cancelled':
          throw fail(`The agent was stopped: ${outcome.cancellation.message}`, { code: 'agent_cancelled' })
        default:
          throw fail('What became of the agent is not known.', { code: 'agent_unknown' })
      }
    },
  })
}

const setupErrors: ReadonlySet<string> = new Set<ErrorCode>(['turn_invalid', 'model_unknown', 'frame_unknown'])

/** A wrong agent definition is logged for its developer. The model cannot correct it and gets a failure to work with. */
function rethrowAsFailure(error: unknown, agent: string, { log }: Pick<ToolContext, 'log'>): never {
  if (!(error instanceof PawlError && setupErrors.has(error.code))) throw error
  log.error('An agent cannot run because its definition is wrong', { agent, code: error.code, reason: error.message })
  const message = `The agent '${agent}' is not set up correctly and cannot run. Do the task without it.`
  throw fail(message, { code: error.code, class: 'unavailable', cause: error })
}
