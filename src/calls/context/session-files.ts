// ctx.files. A write is rejected after the attempt has ended or if the worker has lost its lease. If the store does not
// answer, the execution ends without an outcome and the call is claimed again.

import { isStoreOrLeaseLost, PawlError } from '../../core/errors.ts'
import type { SessionFiles } from '../../core/session-files-interface.ts'
import type { CallEnvironment } from './context-dependencies.ts'

export function contextFiles(environment: Pick<CallEnvironment, 'execution' | 'host' | 'ended'>): SessionFiles {
  const { execution, host } = environment
  const files = host.files(execution.request.position, () => {
    if (environment.ended) throw new PawlError('attempt_over')
    return execution.attached.fence()
  })
  const endOnLoss = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (isStoreOrLeaseLost(error)) execution.end(error)
      throw error
    }
  }
  return {
    write: (...given) => endOnLoss(() => files.write(...given)),
    read: (...given) => endOnLoss(() => files.read(...given)),
    stat: (...given) => endOnLoss(() => files.stat(...given)),
    list: (...given) => endOnLoss(() => files.list(...given)),
    glob: (...given) => endOnLoss(() => files.glob(...given)),
    makeDirectory: (...given) => endOnLoss(() => files.makeDirectory(...given)),
    remove: (...given) => endOnLoss(() => files.remove(...given)),
    move: (...given) => endOnLoss(() => files.move(...given)),
  }
}
