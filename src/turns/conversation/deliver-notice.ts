// A notice that a turn tells its model: on record before the model reads it, in the one write that takes it off its list. A program may list and acknowledge
// the same notice at that moment; of the two one has told it.

import type { Execution } from '../../engine/engine.ts'
import { eventOf } from '../../store/records/event.ts'
import type { Change, StoredDocument } from '../../store/store.ts'
import type { Arrival } from './arrivals.ts'
import type { History, KeptMessage } from './history.ts'
import type { TurnHost } from '../ports.ts'

type Rows = NonNullable<Change['documents']>

/** `next`: how it goes into the history. It does not if another has told it. */
export async function tellNotice(
  { store, clock }: TurnHost,
  { attached: beside, request: { position, uid } }: Execution,
  { rows, notice, message }: Pick<Arrival, 'rows' | 'notice' | 'message'>,
  history: History,
  next: () => { readonly kept: KeptMessage; readonly row: Rows[number] },
): Promise<void> {
  await beside.flush() // what was said before it is before it
  const listed: (StoredDocument | undefined)[] = []
  for (const { of, tenant, session, key } of rows) listed.push(await store.document({ of, tenant, session, key }))
  if (listed.includes(undefined)) return
  const { kept: said, row } = next()
  const { tenant, session } = position
  const subject = { tenant, session, call: uid }
  const at = clock.now()
  const committed = await store.commit({
    guards: [
      ...beside.fence(),
      ...listed.flatMap((kept) =>
        kept
          ? [
              {
                kind: 'kept' as const,
                of: kept.of,
                tenant: kept.tenant,
                session: kept.session,
                key: kept.key,
                revision: kept.revision,
              },
            ]
          : [],
      ),
    ],
    documents: [row, ...rows],
    events: [
      eventOf(subject, 'message.added', at, { message: said.number, role: message.role, turn: position.id }),
      ...(notice === undefined ? [] : [eventOf(subject, 'notice.acknowledged', at, { notice })]),
    ],
  })
  // Should another execution have the turn, the next write says so.
  if (committed.ok) history.add(said)
}
