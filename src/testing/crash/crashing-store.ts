// A store wrapper for crash tests: counts and names the writes of a run, and kills the process at one of them.

import { isThenable, type MaybePromise } from '../../core/maybe-promise.ts'
import type { Change, Store } from '../../store/store.ts'

/** The crash point: before the n-th write, or after it is durable and before the caller gets the answer. */
export interface CrashAt {
  readonly write: number
  readonly when: 'before' | 'after'
}

export interface CrashingStore {
  readonly store: Store
  /** Labels of the writes in order: `call.started`, `step.done charge`. */
  readonly writes: readonly string[]
  /** True if no store operation is pending. */
  readonly idle: () => boolean
}

/** Label of a claim. It has no crash point before it: the record is the same as after the previous write. */
export const claimLabel = 'claim'

export function crashingStore(store: Store, crashAt: CrashAt | null): CrashingStore {
  const writes: string[] = []
  let pending = 0
  const crash = (): void => void process.kill(process.pid, 'SIGKILL')
  /** True at the configured crash point. */
  const isCrashPoint = (write: number, when: CrashAt['when']): boolean =>
    crashAt?.write === write && crashAt.when === when
  const beginWrite = (label: string): number => {
    const number = writes.push(label)
    if (isCrashPoint(number, 'before')) crash()
    return number
  }
  const track = <T>(answer: MaybePromise<T>): MaybePromise<T> => {
    if (!isThenable(answer)) return answer
    pending++
    return answer.finally(() => pending--)
  }
  const reads = Object.fromEntries(
    Object.entries(store).map(([name, method]) => [
      name,
      typeof method === 'function' && name !== 'onHint'
        ? (...args: never[]) => track((method as (...args: never[]) => MaybePromise<unknown>)(...args))
        : method,
    ]),
  ) as unknown as Store
  return {
    writes,
    idle: () => pending === 0,
    store: {
      ...reads,
      commit(change) {
        const number = beginWrite(labelOf(change))
        return track(
          store.commit(change).then((answer) => (isCrashPoint(number, 'after') && crash(), answer)),
        ) as ReturnType<Store['commit']>
      },
      write(change, heard, how) {
        const number = beginWrite(labelOf(change))
        // A change with `ride` waits for the next commit, so it does not count as pending.
        if (!how?.ride) pending++
        store.write(
          change,
          (answer) => {
            if (!how?.ride) pending--
            if (isCrashPoint(number, 'after')) crash()
            heard(answer)
          },
          how,
        )
      },
      claim(worker, tools, limit) {
        const onClaimed = (calls: Awaited<ReturnType<Store['claim']>>): typeof calls => {
          // A claim that finds nothing writes nothing.
          if (calls.length > 0 && isCrashPoint(writes.push(claimLabel), 'after')) crash()
          return calls
        }
        const calls = store.claim(worker, tools, limit)
        return isThenable(calls) ? track(calls.then(onClaimed)) : onClaimed(calls)
      },
    },
  }
}

function labelOf({ events, steps }: Change): string {
  const named = events.map(({ type, body }) =>
    'step' in body && typeof body.step === 'string' ? `${type} ${body.step.replace(/^step:/, '')}` : type,
  )
  return (
    [...named, ...(events.length === 0 ? (steps ?? []).map(({ key }) => key) : [])].join(', ') || 'call handed back'
  )
}
