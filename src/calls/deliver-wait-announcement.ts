// Driver of the internal announce call: passes an announcement and the key of its wait to the host's `announce`. The
// key is derived again here because it is never stored. Delivery is at least once: it is retried until `announce`
// returns or the wait has an answer, so every delivery carries the same id for deduplication.

import { backoffMs } from '../core/backoff.ts'
import type { Driver, Execution, Stop } from '../engine/engine.ts'
import {
  type CallRecord,
  type WaitRecord,
  waitTermsOf,
  parseCallOptions,
  parseAnnounced,
} from '../store/records/call-record.ts'
import { failure } from '../core/outcome.ts'
import { decode, type Json } from '../core/tool-value.ts'
import { type HostKeys, secretById } from '../security/host-secrets.ts'
import type { Foundation } from '../engine/foundation.ts'
import { waitKey } from '../engine/wait-key.ts'
import { notStarted } from './attempts/outcome-when-stopped.ts'
import { scope } from './async-context.ts'
import { announceTool } from '../store/journal-keys.ts'

/** What a tool announces about a wait, with the key that answers it. */
export interface Announcement {
  /** The same for every delivery of this announcement: use it to deduplicate. */
  readonly id: string
  /** The `type` of `announce` in ctx.later(). */
  readonly type: string
  /** The `payload` of `announce` in ctx.later(). */
  readonly payload: Json
  /** The secret that answers the wait: `runtime.resolve(key, …)`. */
  readonly key: string
  /** The name of the wait. */
  readonly wait: string
  /** When the wait expires, in milliseconds since the epoch. */
  readonly deadline: number
  /** The uid of the waiting call, as used in events. */
  readonly call: string
  /** The model's id of the waiting call. */
  readonly callId: string
  /** Id of the session. */
  readonly session: string
  /** Tenant of the session. */
  readonly tenant: string
}

/** Receives the announcements of calls that start to wait; see `announce` of createRuntime(). */
export type Announce = (announcement: Announcement) => void | Promise<void>

interface AnnouncePorts extends Pick<Foundation, 'store' | 'knownSecrets' | 'keys' | 'clock' | 'logger'> {
  readonly announce: Announce
  /** After this many worker deaths the delivery is given up. */
  readonly poisonAfter: number
}

const callbackTimeoutMs = 30_000
const minDelayMs = 1_000
const maxDelayMs = 5 * 60_000

export const announceDriver = (host: AnnouncePorts): Driver => ({
  tools: () => [announceTool],
  selects: ({ request, options }) => request.tool === announceTool && !options.absent,
  async drive(execution) {
    const { wait: id } = parseAnnounced(execution.request.input)
    await host.knownSecrets.ensure(execution.request.position)
    for (;;) {
      if (execution.deaths >= host.poisonAfter) return { settle: poison }
      await execution.awaitTrial(host.poisonAfter)
      await execution.awaitRetryDelay()
      if (execution.stopped) return notStarted(execution.stopped)
      const wait = await host.store.wait(id)
      const call = wait && (await host.store.call(wait.call))
      if (!wait || !call || (wait.resolution !== null && execution.attempt > 0)) return { settle: waitAnswered }
      const announcement = announcementOf(wait, call, host.keys)
      try {
        await execution.begin({ durable: true, slots: [] }, () => deliver(announcement, execution, host))
        return { settle: { status: 'success', value: null } }
      } catch (error) {
        const stopped = execution.stopped as Stop | null // may have been set since the check above
        if (stopped && 'over' in stopped) throw stopped.over
        const about = { type: announcement.type, wait: id, call: call.uid, attempt: execution.attempt, error }
        host.logger.warn('`announce` failed; the announcement will be delivered again', about)
        await execution.scheduleRetry(backoffMs(execution.retries, minDelayMs, maxDelayMs), 'announce_failed')
      }
    }
  },
})

const poison = failure({
  class: 'internal',
  code: 'poisoned',
  message: 'Too many workers died while announcing the wait',
})
const waitAnswered = failure({
  class: 'external',
  code: 'announce_failed',
  message: 'The wait was answered before the announcement was accepted',
})

function announcementOf(wait: WaitRecord, call: CallRecord, keys: HostKeys): Announcement {
  const { tenant, session } = call.position
  const { type, payload } = waitTermsOf(wait).announce as { type: string; payload: string }
  const { callId = call.position.id, secret } = parseCallOptions(call.options)
  const key = waitKey(secretById(keys, secret), { tenant, call: call.uid, name: wait.name, salt: wait.salt })
  const about = { wait: wait.name, deadline: wait.deadline, call: call.uid, callId, session, tenant }
  return { id: wait.id, type, payload: decode(payload), key, ...about }
}

/** Runs the host's `announce` with a timeout; stray errors it throws are contained. */
async function deliver(
  announcement: Announcement,
  { request, callId }: Execution,
  { announce, clock, logger }: AnnouncePorts,
): Promise<void> {
  const about = { tool: request.tool, callId, call: request.uid, logger, who: 'The announce of the runtime' }
  let cancelTimer = (): void => {}
  const timeout = new Promise<never>(
    (_, reject) =>
      (cancelTimer = clock.timer(callbackTimeoutMs, () => reject(new Error('announce did not return in time')))),
  )
  try {
    await Promise.race([scope.run(about, async () => announce(announcement)), timeout])
  } finally {
    cancelTimer()
  }
}
