// Cancels all calls of a turn when the turn stops. They are found in the store, because calls of an earlier execution
// have no waiter in this process.

import type { Scope } from '../core/scope.ts'
import type { CancelReason } from '../engine/engine.ts'
import type { Foundation } from '../engine/foundation.ts'
import { type CallOptions, type CallRecord, parseCallOptions } from '../store/records/call-record.ts'
import { unlessUnreadable } from '../store/skip-unreadable.ts'
import type { Store } from '../store/store.ts'
import { isInBackground } from '../tasks/is-background.ts'

const pageSize = 200

export async function stopCalls(
  { store, engine }: Pick<Foundation, 'store' | 'engine'>,
  { tenant, session }: Scope,
  turn: string,
  reason: CancelReason,
): Promise<void> {
  const of = { tenant, session }
  for await (const call of openCalls(store, of)) {
    // A call that runs in the background is not stopped with the turn.
    if (optionsOf(call).turn !== turn || (await isInBackground(store, of, call.uid))) continue
    await unlessUnreadable(() => engine.cancel(call.uid, reason))
  }
}

const optionsOf = ({ options }: CallRecord): CallOptions => parseCallOptions(options)

async function* openCalls(store: Store, of: Scope): AsyncGenerator<CallRecord> {
  for (let after = ''; ;) {
    const found = await store.unsettled({ of, after, limit: pageSize })
    for (const { uid } of found) {
      const call = await unlessUnreadable(() => store.call(uid))
      if (call && call.state !== 'settled') yield call
    }
    const last = found.at(-1)
    if (!last || found.length < pageSize) return
    after = last.uid
  }
}
