// ctx.complete and ctx.turn: a body that asks a model (SESS-5), and one that lets an agent work in a session of its own (SESS-6). Both are on record: a body
// that runs again gets the same answer, and finds the same agent.

import { completionKey } from '../../store/records/completion-key.ts'
import { isLoss } from '../../core/errors.ts'
import { decode, encode } from '../../core/value.ts'
import type { AgentTurn, Completion, CompletionRequest, ToolContext } from '../../tools/context/context.ts'
import type { Around } from './call-environment.ts'
import type { Inside } from './call-environment.ts'
import { runUnder } from '../task-execution/task-run.ts'

export function modelsInBody(
  { execution, host, signal }: Around,
  inside: Inside,
): Pick<ToolContext, 'complete' | 'turn'> {
  let asked = 0
  let turns = 0
  const kept = async <T>(run: () => Promise<T>): Promise<T> => {
    try {
      return await run()
    } catch (error) {
      if (isLoss(error)) execution.end(error) // it is taken up again, and asks again
      throw error
    }
  }
  return {
    async complete(request) {
      inside.leaf('complete')
      inside.entry()
      const given: CompletionRequest = typeof request === 'string' ? { prompt: request } : request
      const key = completionKey(given.name, () => ++asked)
      return kept(async () => {
        const end = await execution.run({ key, input: encode(given), once: false }, async () => {
          const { model, ...completion } = await host.complete(execution, given, signal)
          return {
            done: encode(completion),
            beside: { documents: host.usageRows(execution, key, model, completion.usage), tells: [] },
          }
        })
        return decode('done' in end ? end.done : 'null') as unknown as Completion
      })
    },
    async turn(request: AgentTurn) {
      inside.leaf('turn')
      inside.needsRerun('turn')
      inside.entry()
      const session = `agent:${Buffer.from(execution.derive(`turn:${++turns}`))
        .subarray(0, 18)
        .toString('base64url')}`
      runUnder(execution, host)?.update({ links: { agents: [session] } })
      return kept(() => inside.outside(() => execution.aside(() => host.turn(execution, session, request, signal))))
    },
  }
}
