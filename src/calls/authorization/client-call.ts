// A tool that the caller runs (SESS-7): the call is handed out with its id and its checked arguments, and waits until its result is posted.
// Nothing runs here, so nothing can run twice.

import { together } from '../../policy/evaluate.ts'
import { milliseconds } from '../../core/duration.ts'
import { FromRecord, none } from '../admission/validated-input.ts'
import { withinDeadline } from '../attempts/timeouts.ts'
import { itemOf } from './inbox-item.ts'
import { LaterHandle, parksOn } from '../context/later.ts'
import type { Around } from '../context/call-environment.ts'

const defaultMs = 300_000

export async function handOut({ execution, tool, host, args }: Around): Promise<object> {
  const { options, request } = execution
  const own = tool.clocks.attempt
  const most = options.timeout?.attempt ?? (own === undefined ? defaultMs : milliseconds(own, 'timeout'))
  const deadlineMs = withinDeadline(most, options, host.clock.now())
  const about = { kind: 'client' as const, reason: '', of: together([]), fingerprint: '' }
  const { item, terms } = await itemOf({ execution, tool, host }, new FromRecord(args ?? none, none), about, {
    preview: { summary: '' },
  })
  const checked = tool.output ? { ...terms, checked: true as const } : terms
  const wait = await execution.wait({ name: 'pawl:client', deadlineMs, terms: checked, item })
  return parksOn(new LaterHandle(wait, () => Promise.reject(new Error('It is handed out'))), wait, request.uid)
}
