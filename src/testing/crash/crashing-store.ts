// The writes of a run, counted and named, and a process that ends itself at one of them.

import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { Change, Store } from '../../store/store.ts'

/** Where a process ends itself: before the n-th write, or when it is on record and nobody here has heard of it. */
export interface CrashAt {
  readonly write: number
  readonly when: 'before' | 'after'
}

export interface WatchedStore {
  readonly store: Store
  /** What was written, in order: `call.started`, `step.done charge`. */
  readonly writes: readonly string[]
  /** Nothing that was asked of the store is without its answer. */
  readonly idle: () => boolean
}

/** How the claim of a call is called among the writes. Before it, the record is as it was after the write before. */
export const claimed = 'claim'

export function watched(store: Store, crashAt: CrashAt | null): WatchedStore {
  const writes: string[] = []
  let asked = 0
  const crash = (): void => void process.kill(process.pid, 'SIGKILL')
  /** Whether this is the write, and its moment has come. */
  const due = (write: number, when: CrashAt['when']): boolean => crashAt?.write === write && crashAt.when === when
  const begun = (label: string): number => {
    const mine = writes.push(label)
    if (due(mine, 'before')) crash()
    return mine
  }
  const counted = <T>(answer: MaybePromise<T>): MaybePromise<T> => {
    if (!(answer instanceof Promise)) return answer
    asked++
    return answer.finally(() => asked--)
  }
  const reads = Object.fromEntries(
    Object.entries(store).map(([name, method]) => [
      name,
      typeof method === 'function' && name !== 'onHint'
        ? (...args: never[]) => counted((method as (...args: never[]) => MaybePromise<unknown>)(...args))
        : method,
    ]),
  ) as unknown as Store
  return {
    writes,
    idle: () => asked === 0,
    store: {
      ...reads,
      commit(change) {
        const mine = begun(labelOf(change))
        return counted(store.commit(change).then((answer) => (due(mine, 'after') && crash(), answer))) as ReturnType<
          Store['commit']
        >
      },
      write(change, heard, how) {
        const mine = begun(labelOf(change))
        // A ride waits for company: nobody waits for it.
        if (!how?.ride) asked++
        store.write(
          change,
          (answer) => {
            if (!how?.ride) asked--
            if (due(mine, 'after')) crash()
            heard(answer)
          },
          how,
        )
      },
      claim(worker, tools, limit) {
        const took = (calls: Awaited<ReturnType<Store['claim']>>): typeof calls => {
          // Most claims find nothing and write nothing.
          if (calls.length > 0 && due(writes.push(claimed), 'after')) crash()
          return calls
        }
        const calls = store.claim(worker, tools, limit)
        return calls instanceof Promise ? counted(calls.then(took)) : took(calls)
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
