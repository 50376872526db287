// Delivers what was announced with a wait (WAIT-5): the host gets it together with the key, which is made again here and is on no record.
// Until the host has taken it once it is tried again, for as long as the wait is open; each try may be the second for the host, so
// there is an id that is always the same.

import type { Drive, Execution, Stop } from '../engine/engine.ts'
import { type CallOptions, type CallRecord, type WaitRecord, waitTermsOf } from '../store/records/call-record.ts'
import { failure } from '../core/outcome.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { Clock } from '../core/clock.ts'
import { decode, type Json } from '../core/value.ts'
import { type HostKeys, secretOf } from '../security/host-keys.ts'
import type { Logger } from '../tools/context/context.ts'
import { waitKey } from '../engine/wait-key.ts'
import { notStarted } from './attempts/stop-outcome.ts'
import { scope } from './async-context.ts'

export interface Announcement {
  /** The same however often it is delivered. */
  readonly id: string
  readonly type: string
  readonly payload: Json
  /** Answers the wait: runtime.resolve(key, …). */
  readonly key: string
  /** The name of the wait, and when it gives up. */
  readonly wait: string
  readonly deadline: number
  /** The call that waits, as events name it, and the model's id of it. */
  readonly call: string
  readonly callId: string
  readonly session: string
  readonly tenant: string
}

export type Announce = (announcement: Announcement) => void | Promise<void>

interface AnnounceHost {
  readonly announce: Announce
  readonly keys: HostKeys
  /** Over so many workers' deaths it is not tried again (DUR-8). */
  readonly poisonAfter: number
  readonly wait: (id: string) => MaybePromise<WaitRecord | undefined>
  readonly call: (uid: string) => MaybePromise<CallRecord | undefined>
  readonly clock: Clock
  readonly logger: Logger
}

const patienceMs = 30_000
const baseMs = 1_000
const capMs = 5 * 60_000

export const announcing =
  (host: AnnounceHost): Drive =>
  async (execution) => {
    const { wait: id } = JSON.parse(execution.request.input) as { wait: string }
    for (;;) {
      if (execution.deaths >= host.poisonAfter) return { settle: poison }
      await execution.delayed()
      if (execution.stopped) return notStarted(execution.stopped)
      const wait = await host.wait(id)
      const call = wait && (await host.call(wait.call))
      if (!wait || !call || (wait.resolution !== null && execution.attempt > 0)) return { settle: givenUp }
      const announcement = announcementOf(wait, call, host.keys)
      try {
        await execution.begin({ durable: true, places: [] }, () => delivered(announcement, execution, host))
        return { settle: { status: 'success', value: null } }
      } catch (error) {
        const stopped = execution.stopped as Stop | null // meanwhile
        if (stopped && 'over' in stopped) throw stopped.over
        const about = { type: announcement.type, wait: id, call: call.uid, attempt: execution.attempt, error }
        host.logger.warn('An announcement was not taken; it is tried again', about)
        await execution.again(Math.min(capMs, baseMs * 2 ** Math.min(execution.retries, 20)), 'announce_failed')
      }
    }
  }

const poison = failure({
  class: 'internal',
  code: 'poisoned',
  message: 'Too many workers stopped while they announced it',
})
const givenUp = failure({
  class: 'external',
  code: 'announce_failed',
  message: 'It was not taken before the wait had its answer',
})

function announcementOf(wait: WaitRecord, call: CallRecord, keys: HostKeys): Announcement {
  const { tenant, session } = call.position
  const { type, payload } = waitTermsOf(wait).announce as { type: string; payload: string }
  const { callId = call.position.id, secret } =
    call.options === null ? ({} as CallOptions) : (JSON.parse(call.options) as CallOptions)
  const key = waitKey(secretOf(keys, secret), { tenant, call: call.uid, name: wait.name, salt: wait.salt })
  const about = { wait: wait.name, deadline: wait.deadline, call: call.uid, callId, session, tenant }
  return { id: wait.id, type, payload: decode(payload), key, ...about }
}

/** Contained, and not waited for without end. */
async function delivered(
  announcement: Announcement,
  { request, callId }: Execution,
  { announce, clock, logger }: AnnounceHost,
): Promise<void> {
  const about = { tool: request.tool, callId, call: request.uid, logger, who: 'The announce of the runtime' }
  let callOff = (): void => {}
  const late = new Promise<never>(
    (_, reject) => (callOff = clock.timer(patienceMs, () => reject(new Error('It did not answer')))),
  )
  try {
    await Promise.race([scope.run(about, async () => announce(announcement)), late])
  } finally {
    callOff()
  }
}
