// All that a turn has called stops with it (TIME-3), also what an earlier execution of it had called and nobody here waits for: by the record.

import type { Engine } from '../engine/engine.ts'
import type { CallOptions, CallRecord } from '../store/records/call-record.ts'
import { unlessUnreadable } from '../store/read-or-report.ts'
import type { Store } from '../store/store.ts'
import type { Scope } from './ports.ts'

export interface StopHost {
  readonly store: Store
  readonly engine: () => Engine
  /** Whether a call goes on in the background: that is not stopped with the turn. */
  inBackground(of: Scope, uid: string): Promise<boolean>
}

interface Why {
  readonly reason: string
  readonly by: string | null
}

const page = 200

export async function stopCalls(host: StopHost, { tenant, session }: Scope, turn: string, why: Why): Promise<void> {
  const of = { tenant, session }
  for await (const call of open(host.store, of)) {
    if (optionsOf(call).turn !== turn || (await host.inBackground(of, call.uid))) continue
    await unlessUnreadable(() => host.engine().cancel(call.uid, why))
  }
}

const optionsOf = ({ options }: CallRecord): CallOptions =>
  options === null ? {} : (JSON.parse(options) as CallOptions)

async function* open(store: Store, of: Scope): AsyncGenerator<CallRecord> {
  for (let after = ''; ;) {
    const found = await store.unsettled({ of, after, limit: page })
    for (const { uid } of found) {
      const call = await unlessUnreadable(() => store.call(uid))
      if (call && call.state !== 'settled') yield call
    }
    const last = found.at(-1)
    if (!last || found.length < page) return
    after = last.uid
  }
}
