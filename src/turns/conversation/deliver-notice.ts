// Delivers a notice to the model of a turn: one commit adds the message and removes the pending rows. If the host
// program acknowledges the same notice concurrently, exactly one of the two commits succeeds.

import type { Execution } from '../../engine/engine.ts'
import { eventOf } from '../../store/records/event.ts'
import type { StoredDocument, DocumentWrite } from '../../store/store.ts'
import type { Arrival } from './arrived-messages.ts'
import type { History, MessageRecord } from './history.ts'
import type { TurnHost } from '../ports.ts'

/** `next` builds the message. Nothing is added if the notice was delivered elsewhere. */
export async function deliverNotice(
  { store, clock }: TurnHost,
  { attached, request: { position, uid } }: Execution,
  { rows, notice, message }: Pick<Arrival, 'rows' | 'notice' | 'message'>,
  history: History,
  next: () => { readonly record: MessageRecord; readonly row: DocumentWrite },
): Promise<void> {
  await attached.flush() // earlier messages must be written first
  const listed: (StoredDocument | undefined)[] = []
  for (const { of, tenant, session, key } of rows) listed.push(await store.document({ of, tenant, session, key }))
  if (listed.includes(undefined)) return
  const { record, row } = next()
  const { tenant, session } = position
  const subject = { tenant, session, call: uid }
  const at = clock.now()
  const committed = await store.commit({
    guards: [
      ...attached.fence(),
      ...listed.flatMap((document) =>
        document
          ? [
              {
                kind: 'kept' as const,
                of: document.of,
                tenant: document.tenant,
                session: document.session,
                key: document.key,
                revision: document.revision,
              },
            ]
          : [],
      ),
    ],
    documents: [row, ...rows],
    events: [
      eventOf(subject, 'message.added', at, { message: record.number, role: message.role, turn: position.id }),
      ...(notice === undefined ? [] : [eventOf(subject, 'notice.acknowledged', at, { notice })]),
    ],
  })
  // If another execution took over the turn, the next write reports it.
  if (committed.ok) history.add(record)
}
