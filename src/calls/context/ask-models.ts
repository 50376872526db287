// ctx.complete (one answer of a model) and ctx.turn (an agent in its own session). Both are recorded: a rerun body gets
// the same answer and joins the same agent.

import { checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import { decode, encode } from '../../core/tool-value.ts'
import type { AgentTurn, Completion, CompletionRequest, ToolContext } from '../../tools/context/tool-context.ts'
import type { CallEnvironment } from './call-environment.ts'
import { enclosingReporter } from '../task-execution/task-run.ts'
import { stepKeys } from '../../store/journal-keys.ts'

const completionOptions = {
  prompt: option.required(option.string),
  instructions: option.string,
  model: option.string,
  maxOutputTokens: option.wholeNumber(1),
  temperature: option.nonNegativeNumber,
  name: option.string,
} satisfies OptionTable<CompletionRequest>

const turnOptions = {
  message: option.required(option.string),
  model: option.either(option.string, option.object),
  frame: option.string,
  instructions: option.string,
  tools: option.listOf(option.string),
  limits: option.nested({
    steps: option.positiveLimit,
    time: option.duration,
    historyTokens: option.positiveLimit,
    cost: option.nonNegativeNumber,
  } satisfies OptionTable<NonNullable<AgentTurn['limits']>>),
} satisfies OptionTable<AgentTurn>

export function models(context: CallEnvironment): Pick<ToolContext, 'complete' | 'turn'> {
  const { execution, host, signal } = context
  let completions = 0
  let turns = 0
  return {
    async complete(request) {
      const given: CompletionRequest = typeof request === 'string' ? { prompt: request } : request
      checkRequiredOptions(given, completionOptions, 'ctx.complete()', 'turn_invalid')
      context.assertUsable('complete')
      context.countEntry()
      const key = stepKeys.completion(given.name, () => ++completions)
      return context.endOnLoss(async () => {
        const end = await execution.runStep({ key, input: encode(given), once: false }, async () => {
          const { model, ...completion } = await host.complete(execution, given, signal)
          return {
            done: encode(completion),
            attached: { documents: host.usageRows(execution, key, model, completion.usage), events: [] },
          }
        })
        return decode('done' in end ? end.done : 'null') as unknown as Completion
      })
    },
    async turn(request: AgentTurn) {
      checkRequiredOptions(request, turnOptions, 'ctx.turn()', 'turn_invalid')
      context.assertUsable('turn')
      context.requireRerun('turn')
      context.countEntry()
      const session = `agent:${context.derive(`turn:${++turns}`, 18).toString('base64url')}`
      enclosingReporter(execution, host)?.update({ links: { agents: [session] } })
      return context.endOnLoss(() =>
        context.whileWaiting(() => execution.idleWhile(() => host.turn(execution, session, request, signal))),
      )
    },
  }
}
