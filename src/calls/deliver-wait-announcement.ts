// Driver of the internal announce call: passes an announcement to the host's `announce`. The key of an external wait is
// derived again here because it is never stored; a request to a person is read from the inbox and has no key. Delivery
// is at least once: it is retried until `announce` returns or the wait has an answer, so every delivery carries the
// same id for deduplication.

import { backoffMs } from '../core/backoff.ts'
import type { Driver, Execution, Stop } from '../engine/engine.ts'
import {
  type CallRecord,
  type WaitRecord,
  waitTermsOf,
  parseCallOptions,
  parseAnnounced,
} from '../store/records/call-record.ts'
import type { Preview } from '../store/records/approval-request.ts'
import type { AskKind } from '../store/records/approval-wait-terms.ts'
import { failure } from '../core/outcome.ts'
import { decode, type Json } from '../core/tool-value.ts'
import { type HostKeys, secretById } from '../security/host-secrets.ts'
import type { Foundation } from '../engine/foundation.ts'
import { waitKey } from '../engine/wait-key.ts'
import { notStarted } from './attempts/outcome-when-stopped.ts'
import { scope } from './async-context.ts'
import { announceTool } from '../store/journal-keys.ts'

/** What a tool announces about a wait, with the key that answers it. */
export interface WaitAnnouncement {
  /** A wait of ctx.later(). */
  readonly about: 'wait'
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

/** A request to a person that has been opened: what a channel outside may show of the inbox item. */
export interface PersonAnnouncement {
  /** An approval, a question, a connection or an unknown outcome. */
  readonly about: 'person'
  /** Id of the inbox item, the same for every delivery: use it to deduplicate and for `runtime.decide(id, …)`. */
  readonly id: string
  /** The kind of request. */
  readonly kind: Exclude<AskKind, 'client'>
  /** Name of the tool. */
  readonly tool: string
  /** Title of the tool, or its name. */
  readonly title: string
  /** The effect of an approval, redacted as in the inbox. */
  readonly preview: Preview
  /** Why a decision is needed, redacted as in the inbox. */
  readonly reason: string
  /** Fingerprint of what would run. A decision that names another fingerprint is refused. */
  readonly fingerprint: string
  /** When the request expires, in milliseconds since the epoch. */
  readonly expiresAt: number
  /** The uid of the waiting call, as used in events. */
  readonly call: string
  /** The model's id of the waiting call. */
  readonly callId: string
  /** Id of the session. */
  readonly session: string
  /** Tenant of the session. */
  readonly tenant: string
}

/** Something that has begun to wait: for an external system (`about: 'wait'`) or a person (`about: 'person'`). */
export type Announcement = WaitAnnouncement | PersonAnnouncement

/** Receives announcements; see `announce` of createRuntime(). */
export type Announce = (announcement: Announcement) => void | Promise<void>

interface AnnouncePorts extends Pick<Foundation, 'store' | 'knownSecrets' | 'keys' | 'clock' | 'logger'> {
  readonly announce: Announce
  /** The open request with this id, redacted; null if it is decided or has ended. */
  readonly openRequest: (id: string) => Promise<Omit<PersonAnnouncement, 'about'> | null>
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
      const announcement = await announcementOf(id, execution.attempt, host)
      if (!announcement) return { settle: waitAnswered }
      try {
        await execution.begin({ durable: true, slots: [] }, () => deliver(announcement, execution, host))
        return { settle: { status: 'success', value: null } }
      } catch (error) {
        const stopped = execution.stopped as Stop | null // may have been set since the check above
        if (stopped && 'over' in stopped) throw stopped.over
        const type = announcement.about === 'wait' ? announcement.type : announcement.kind
        const about = { type, wait: id, call: announcement.call, attempt: execution.attempt, error }
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

/**
 * Null if it need not be delivered any more. The first delivery of an external wait is made even if it has been answered
 * meanwhile, because the host may count on hearing of every wait.
 */
async function announcementOf(
  id: string,
  attempt: number,
  { store, keys, openRequest }: Pick<AnnouncePorts, 'store' | 'keys' | 'openRequest'>,
): Promise<Announcement | null> {
  const wait = await store.wait(id)
  const call = wait && (await store.call(wait.call))
  if (!wait || !call) return null
  if (waitTermsOf(wait).asks) {
    const request = await openRequest(id)
    return request && { about: 'person', ...request }
  }
  return wait.resolution !== null && attempt > 0 ? null : waitAnnouncementOf(wait, call, keys)
}

function waitAnnouncementOf(wait: WaitRecord, call: CallRecord, keys: HostKeys): WaitAnnouncement {
  const { tenant, session } = call.position
  const { type, payload } = waitTermsOf(wait).announce as { type: string; payload: string }
  const { callId = call.position.id, secret } = parseCallOptions(call.options)
  const key = waitKey(secretById(keys, secret), { tenant, call: call.uid, name: wait.name, salt: wait.salt })
  const about = { wait: wait.name, deadline: wait.deadline, call: call.uid, callId, session, tenant }
  return { about: 'wait', id: wait.id, type, payload: decode(payload), key, ...about }
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
