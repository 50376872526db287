// ctx.complete (one answer of a model) and ctx.turn (an agent in its own session). Both are recorded: a rerun body gets
// the same answer and joins the same agent.

import { completionKey } from '../../store/records/model-completion-key.ts'
import { isStoreOrLeaseLost } from '../../core/errors.ts'
import { decode, encode } from '../../core/tool-value.ts'
import type { AgentTurn, Completion, CompletionRequest, ToolContext } from '../../tools/context/tool-context.ts'
import type { CallEnvironment, ContextRules } from './context-dependencies.ts'
import { enclosingReporter } from '../task-execution/task-run.ts'

export function contextModels(
  { execution, host, signal }: CallEnvironment,
  rules: ContextRules,
): Pick<ToolContext, 'complete' | 'turn'> {
  let completions = 0
  let turns = 0
  const endOnLoss = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run()
    } catch (error) {
      if (isStoreOrLeaseLost(error)) execution.end(error) // the call is claimed again and asks again
      throw error
    }
  }
  return {
    async complete(request) {
      rules.assertUsable('complete')
      rules.countEntry()
      const given: CompletionRequest = typeof request === 'string' ? { prompt: request } : request
      const key = completionKey(given.name, () => ++completions)
      return endOnLoss(async () => {
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
      rules.assertUsable('turn')
      rules.requireRerun('turn')
      rules.countEntry()
      const session = `agent:${Buffer.from(execution.derive(`turn:${++turns}`))
        .subarray(0, 18)
        .toString('base64url')}`
      enclosingReporter(execution, host)?.update({ links: { agents: [session] } })
      return endOnLoss(() =>
        rules.whileWaiting(() => execution.idleWhile(() => host.turn(execution, session, request, signal))),
      )
    },
  }
}
