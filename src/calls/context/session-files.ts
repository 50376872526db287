// ctx.files. A write is rejected after the attempt has ended or if the worker has lost its lease. If the store does not
// answer, the execution ends without an outcome and the call is claimed again.

import { PawlError } from '../../core/errors.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import type { CallEnvironment } from './call-environment.ts'

export function sessionFiles(context: CallEnvironment): Pick<ToolContext, 'files'> {
  const { execution, host } = context
  const files = host.storage.files(execution.request.position, () => {
    if (context.ended) throw new PawlError('attempt_over')
    return execution.attached.fence()
  })
  return {
    files: {
      write: (...given) => context.endOnLoss(() => files.write(...given)),
      read: (...given) => context.endOnLoss(() => files.read(...given)),
      stat: (...given) => context.endOnLoss(() => files.stat(...given)),
      list: (...given) => context.endOnLoss(() => files.list(...given)),
      glob: (...given) => context.endOnLoss(() => files.glob(...given)),
      makeDirectory: (...given) => context.endOnLoss(() => files.makeDirectory(...given)),
      remove: (...given) => context.endOnLoss(() => files.remove(...given)),
      move: (...given) => context.endOnLoss(() => files.move(...given)),
    },
  }
}
