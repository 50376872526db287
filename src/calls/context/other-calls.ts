// ctx.run and ctx.call run other tools under this call; ctx.outputs reads the full results of settled calls.

import { checkRequiredOptions, option, type OptionTable } from '../../core/check-options.ts'
import { PawlError } from '../../core/errors.ts'
import { abortsTurn } from '../../core/outcome.ts'
import type { NestedOutcome, ToolContext } from '../../tools/context/tool-context.ts'
import { withoutUsedSecrets } from '../authorization/used-connections.ts'
import type { CallEnvironment } from './call-environment.ts'

const callOptions = {
  id: option.required(option.string),
  name: option.required(option.string),
  input: option.anything,
} satisfies OptionTable<Parameters<ToolContext['run']>[0][number]>

function checkCalls(calls: unknown): void {
  if (!Array.isArray(calls)) throw new PawlError('call_invalid', 'The calls of ctx.run must be an array.')
  for (const call of calls) checkRequiredOptions(call, callOptions, 'ctx.run()', 'call_invalid')
}

export function otherCalls(context: CallEnvironment): Pick<ToolContext, 'run' | 'call' | 'outputs'> {
  const { execution, host, control } = context
  let runs = 0
  const runNested = async (
    calls: readonly { id: string; name: string; input?: unknown }[],
  ): Promise<NestedOutcome[]> => {
    const outcomes = await host.batches.runNested(execution, withoutUsedSecrets(calls, context.usedConnections), {
      name: `run:${++runs}`,
      control,
      signal: context.signal,
    })
    const abort = outcomes.map(abortsTurn).find((each) => each !== null)
    if (abort) control?.abort(abort)
    return outcomes
  }
  return {
    async run(calls) {
      context.assertUsable('run')
      checkCalls(calls)
      return runNested(calls)
    },
    async call(other, input) {
      context.assertUsable('call')
      const [outcome] = await runNested([{ id: other.name, name: other.name, input }])
      return outcome as never
    },
    get outputs() {
      return host.records.outputs(execution.request.position)
    },
  }
}
