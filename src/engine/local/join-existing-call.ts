// Joins a request to the existing call at its position if the content is the same; otherwise it is a conflict.

import { type CallRecord, parseCallOptions } from '../../store/records/call-record.ts'
import type { Store } from '../../store/store.ts'
import { sameContent } from '../compare-call-content.ts'
import type { NewCall, StartResult } from '../engine.ts'
import type { LocalExecution } from './local-execution.ts'
import type { ActiveCall } from './active-calls.ts'

export function joinExisting(store: Store, active: ActiveCall, newCall: NewCall): StartResult | Promise<StartResult> {
  const accept = (): StartResult => {
    const { uid, parked, isSettled: ended } = active
    return {
      as: 'accepted',
      uid,
      settled: active.settled(),
      ...(parked ? { parked } : {}),
      ...(ended ? { ended } : {}),
    }
  }
  if (active.hash === newCall.hash) return accept()
  return (async () => {
    const record = (await store.callAt(active.position)) ?? (active.execution as LocalExecution).request
    if (sameContent(record, newCall)) return accept()
    return { as: 'conflict', recorded: { tool: calledName(record), input: record.input } }
  })()
}

/** The name the model used, where it differs from the recorded tool. */
const calledName = ({ tool, options }: CallRecord): string =>
  (options === null ? null : parseCallOptions(options).name) ?? tool
