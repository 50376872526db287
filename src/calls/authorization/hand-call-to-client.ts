// Client tools: the caller runs the tool. The call is handed out with its id and validated arguments, and waits until
// the result is posted. Nothing runs on the worker, so nothing can run twice.

import { combineTerms } from '../../policy/evaluate.ts'
import { milliseconds } from '../../core/duration.ts'
import { RecordedInput, noPayload } from '../admission/read-arguments.ts'
import { withinDeadline } from '../attempts/attempt-timeouts.ts'
import { buildInboxItem } from './inbox-item.ts'
import { LaterHandle, registerWait } from '../context/deferred-result.ts'
import type { CallEnvironment } from '../context/call-environment.ts'
import { waitNames } from '../../store/journal-keys.ts'

const defaultTimeoutMs = 300_000

export async function handOutToClient({ execution, tool, host, args }: CallEnvironment): Promise<object> {
  const { options, request } = execution
  const toolTimeout = tool.clocks.attempt
  const timeoutMs =
    options.timeout?.attempt ?? (toolTimeout === undefined ? defaultTimeoutMs : milliseconds(toolTimeout, 'timeout'))
  const deadlineMs = withinDeadline(timeoutMs, options, host.clock.now())
  const subject = { kind: 'client' as const, reason: '', of: combineTerms([]), fingerprint: '' }
  const { item, terms } = await buildInboxItem(
    { execution, tool, host },
    new RecordedInput(args ?? noPayload, noPayload),
    subject,
    {
      preview: { summary: '' },
    },
  )
  const waitTerms = tool.output ? { ...terms, checked: true as const } : terms
  const wait = await execution.openWait({ name: waitNames.client, deadlineMs, terms: waitTerms, item })
  return registerWait(
    new LaterHandle(wait, () => Promise.reject(new Error('The result of a client call arrives through the session'))),
    wait,
    request.uid,
  )
}
