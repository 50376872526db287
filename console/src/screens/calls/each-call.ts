// Does the same to many calls, a few at a time, because the server limits the requests of a login.

import type { CallRow } from './call-words.ts'

const atOnce = 4
/** Calls of one dialog. */
export const maxCalls = 100

/** Goes on after an error. Returns the number of errors and one of them. */
export async function forEachCall(
  calls: readonly CallRow[],
  act: (call: CallRow) => Promise<void>,
): Promise<{ readonly failed: number; readonly problem: unknown }> {
  let failed = 0
  let problem: unknown
  const rest = [...calls]
  const work = async (): Promise<void> => {
    for (let call = rest.shift(); call; call = rest.shift()) {
      try {
        await act(call)
      } catch (error) {
        failed++
        problem = error
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, work))
  return { failed, problem }
}
