// A call that is put on record here and run elsewhere: it is nobody's until a worker claims it.

import type { CallRecord } from '../../journal/call-state.ts'
import { eventOf } from '../../journal/event.ts'
import type { Store, Written } from '../../store/store.ts'
import type { Asked } from '../engine.ts'

export function submit(store: Store, record: CallRecord, { options, tool }: Asked, heard: (answer: Written) => void): void {
  const { position, uid, createdAt } = record
  const subject = { tenant: position.tenant, session: position.session, call: uid }
  const events = [eventOf(subject, 'call.received', createdAt, { tool: options?.name ?? tool })]
  store.write({ guards: [{ kind: 'absent', position }], insertCall: record, events }, heard)
}
