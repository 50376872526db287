// Whoever asks for a call that is there: it is the same call if the content is.

import type { CallOptions, CallRecord } from '../../store/records/call-record.ts'
import type { Store } from '../../store/store.ts'
import { sameContent } from '../call-content.ts'
import type { Asked, Started } from '../engine.ts'
import type { LocalExecution } from './execution.ts'
import type { ActiveCall } from './active-calls.ts'

export function joined(store: Store, live: ActiveCall, asked: Asked): Started | Promise<Started> {
  const accepted = (): Started => {
    const { uid, parked, ended } = live
    return { as: 'accepted', uid, settled: live.settled(), ...(parked ? { parked } : {}), ...(ended ? { ended } : {}) }
  }
  if (live.hash === asked.hash) return accepted()
  return (async () => {
    const record = (await store.callAt(live.position)) ?? (live.execution as LocalExecution).request
    if (sameContent(record, asked)) return accepted()
    return { as: 'conflict', recorded: { tool: calledIn(record), input: record.input } }
  })()
}

/** The name that it was called by, where the record calls the tool something else. */
const calledIn = ({ tool, options }: CallRecord): string =>
  (options === null ? null : (JSON.parse(options) as CallOptions).name) ?? tool
