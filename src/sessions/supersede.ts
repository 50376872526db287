// session.supersede(): cancels the calls that wait for a person or for the caller, because a new user message came.

import type { Scope } from '../core/scope.ts'
import type { Approvals } from '../approvals/approvals.ts'
import type { CancelReason } from '../engine/engine.ts'
import type { Foundation } from '../engine/foundation.ts'
import { isUnderTask } from '../tasks/is-background.ts'

const pageSize = 200

export async function supersede(
  {
    approvals: people,
    engine,
    store,
  }: Pick<Foundation, 'engine' | 'store'> & { approvals: Pick<Approvals, 'inbox' | 'clients'> },
  of: Scope,
  reason: CancelReason,
): Promise<number> {
  const waiting = new Set((await people.clients.list(of)).map(({ call }) => call))
  for (let after = ''; ;) {
    const items = await people.inbox({ ...of, after, limit: pageSize })
    for (const { call } of items) waiting.add(call)
    const last = items.at(-1)
    if (!last || items.length < pageSize) break
    after = last.id
  }
  let cancelled = 0
  // Background work is not affected by a new user message.
  for (const uid of waiting) if (!(await isUnderTask(store, uid)) && (await engine.cancel(uid, reason))) cancelled++
  return cancelled
}
