// ctx.files: the files of the session, seen from a body. What is written when the attempt is over, or by a worker that lost the call, is not written; and
// should the store not answer, this execution decides nothing by that: the call is taken up again.

import { isLoss, PawlError } from '../../core/errors.ts'
import type { SessionFiles } from '../../core/session-files.ts'
import type { Around } from './call-environment.ts'

export function filesInBody(around: Pick<Around, 'execution' | 'host' | 'over'>): SessionFiles {
  const { execution, host } = around
  const files = host.files(execution.request.position, () => {
    if (around.over) throw new PawlError('attempt_over')
    return execution.attached.fence()
  })
  const asked = async <T>(ask: () => Promise<T>): Promise<T> => {
    try {
      return await ask()
    } catch (error) {
      if (isLoss(error)) execution.end(error)
      throw error
    }
  }
  return {
    write: (...given) => asked(() => files.write(...given)),
    read: (...given) => asked(() => files.read(...given)),
    stat: (...given) => asked(() => files.stat(...given)),
    list: (...given) => asked(() => files.list(...given)),
    glob: (...given) => asked(() => files.glob(...given)),
    makeDirectory: (...given) => asked(() => files.makeDirectory(...given)),
    remove: (...given) => asked(() => files.remove(...given)),
    move: (...given) => asked(() => files.move(...given)),
  }
}
