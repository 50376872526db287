// A call that is put on record here and run elsewhere: it is nobody's until a worker claims it.

import type { CallRecord } from '../../journal/call-state.ts'
import { eventOf } from '../../journal/event.ts'
import { attachmentsIn } from '../../journal/uses.ts'
import type { Change, Store, Written } from '../../store/store.ts'
import type { Asked } from '../engine.ts'

/** Resolves when it is known whether it is. */
export function submit(store: Store, record: CallRecord, { options, tool }: Asked, heard: (answer: Written) => void): Promise<void> {
  const { position, uid, createdAt } = record
  const subject = { tenant: position.tenant, session: position.session, call: uid }
  const events = [eventOf(subject, 'call.received', createdAt, { tool: options?.name ?? tool })]
  const uses = attachmentsIn(record.input).map((id) => ({ tenant: position.tenant, id, call: uid }))
  const change: Change = { guards: [{ kind: 'absent', position }], insertCall: record, ...(uses.length > 0 ? { uses } : {}), events }
  return new Promise((resolve) => {
    store.write(change, (answer) => {
      heard(answer)
      resolve()
    })
  })
}
