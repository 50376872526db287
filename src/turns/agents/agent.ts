// agent(): a tool behind which another model works, in a session of its own (SESS-6). An ordinary tool that uses ctx.turn: it can run in the background, is
// asked about by policy, and is limited like any other.

import type { Duration } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { fail } from '../../core/outcome.ts'
import type { Json } from '../../core/value.ts'
import type { Model } from '../../models/model.ts'
import type { AgentTurn } from '../../tools/context/context.ts'
import { jsonSchema } from '../../tools/schema.ts'
import { type Tool, tool, type ToolDefinition } from '../../tools/tool.ts'

export interface AgentDefinition extends Pick<AgentTurn, 'model' | 'frame' | 'instructions' | 'tools' | 'limits'> {
  readonly name: string
  readonly title?: string
  /** What the model that asks for it reads. */
  readonly description: string
  readonly approval?: ToolDefinition<never, never>['approval'] & ('always' | 'never')
  /** How long it may take, what waits for people not counted (default 1 h). */
  readonly timeout?: Duration
}

export function agent(definition: AgentDefinition): Tool<{ task: string }, Json> {
  const { name, title, description, approval, timeout = '1h', ...work } = definition
  const { model, limits } = work
  if (limits?.cost !== undefined && typeof model === 'object' && !(model as Partial<Model>).price)
    throw new PawlError(
      'tool_invalid',
      `Tool '${name}': limits.cost is set, and its model has no price to count it by.`,
    )
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
    // What it does is done by its own calls, which are on record themselves.
    onCrash: 'rerun',
    concurrency: 'parallel',
    ...(approval === undefined ? {} : { approval }),
    timeout,
    background: true,
    async execute({ task }, ctx): Promise<Json> {
      const outcome = await ctx.turn({ ...work, message: task }).catch(refused)
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

/** A turn that cannot be as the agent was made is no error of ours: what is wrong with it is said. */
function refused(error: unknown): never {
  throw error instanceof PawlError && error.code === 'turn_invalid'
    ? fail(error.message, { code: error.code, class: 'unavailable', cause: error })
    : error
}
