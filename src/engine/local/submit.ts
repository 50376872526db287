// Calls are put on record: with whoever holds them, or as nobody's until a worker claims them.

import type { CallRecord } from '../../store/records/call-record.ts'
import { eventOf } from '../../store/records/event.ts'
import { attachmentsIn } from '../../store/records/attachment-refs.ts'
import type { Change, Store, Written } from '../../store/store.ts'
import type { AlsoWritten, Asked, Put } from '../engine.ts'
import type { EngineState } from './engine-state.ts'
import { newRecord } from './new-record.ts'

/** Resolves when it is known whether it is. */
export function submit(
  store: Store,
  record: CallRecord,
  asked: Asked,
  heard: (answer: Written) => void,
): Promise<void> {
  return new Promise((resolve) => {
    store.write(arrival(record, asked.options?.name), (answer) => {
      heard(answer)
      resolve()
    })
  })
}

/** The same with what else it means; and what stands at its place, if something did before. */
export async function put(host: EngineState, asked: Asked, also: (uid: string) => AlsoWritten): Promise<Put> {
  const [record] = newRecord(asked, host, false)
  const { guards = [], documents: documents = [], events } = also(record.uid)
  const change = arrival(record, asked.options?.name)
  const all = { ...change, guards: [...change.guards, ...guards], documents, events: [...change.events, ...events] }
  const committed = await host.store.commit(all)
  if (committed.ok) return { as: 'put', uid: record.uid }
  if (committed.refused.kind !== 'absent') return { as: 'refused' }
  const there = await host.store.callAt(asked.position)
  // Erased in between: whoever asks again finds the place free.
  return there ? { as: 'there', uid: there.uid } : { as: 'refused' }
}

/** Puts a new call on record, where nothing stands at its place. `name`: what the model called the tool. */
export function arrival(record: CallRecord, name = record.tool): Change {
  const { position, uid, createdAt, input } = record
  const { tenant, session } = position
  const events = [eventOf({ tenant, session, call: uid }, 'call.received', createdAt, { tool: name })]
  const uses = attachmentsIn(input).map((id) => ({ tenant, id, call: uid }))
  return { guards: [{ kind: 'absent', position }], insertCall: record, ...(uses.length > 0 ? { uses } : {}), events }
}
