// session.calls.cancel: cancels one call of the session, in whatever state it is and on whatever worker.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import type { Scope } from '../core/scope.ts'
import type { Foundation } from '../engine/foundation.ts'
import { type CallRecord, parseCallOptions } from '../store/records/call-record.ts'
import type { Store } from '../store/store.ts'
import { keyBatch, stepKeys } from '../store/journal-keys.ts'
import { checkCancelReason } from '../tasks/cancel-reason.ts'
import type { CallRef, CancelCallAnswer, CancelCallOptions } from './session-calls.ts'

export const cancelCallOptions = {
  reason: option.string,
  by: option.string,
  batch: option.string,
  occurrence: option.wholeNumber(0),
} satisfies OptionTable<CancelCallOptions>

type CancelHost = Pick<Foundation, 'engine' | 'store' | 'sizes'>

/** Other writers can change the call between the read and the cancel this often before the cancel gives up. */
const maxRounds = 20

export async function cancelCall(
  host: CancelHost,
  of: Scope,
  call: CallRef,
  how: CancelCallOptions = {},
): Promise<CancelCallAnswer> {
  checkRef(call)
  checkOptions(how, cancelCallOptions, 'calls.cancel()', 'call_invalid')
  const { reason = 'The call was cancelled', by } = how
  const why = checkCancelReason(host, reason, by)
  // A body that runs synchronously may cancel a later call of its own batch, which has not been started yet.
  await Promise.resolve()
  let sought = call
  for (let round = 0; round < maxRounds; round++) {
    let record = await findCall(host, of, sought, how)
    if (!record && typeof call === 'string' && how.batch === undefined) {
      const [first, ...others] = await findOpenCalls(host.store, of, call, how.occurrence)
      if (first !== undefined && others.length > 0) return { answer: 'ambiguous', calls: [first, ...others] }
      if (first !== undefined) record = await host.store.call(first)
    }
    if (record?.position.tenant !== of.tenant || record.position.session !== of.session) return { answer: 'unknown' }
    if (record.state === 'settled') return { answer: 'already_settled' }
    if (await host.engine.cancel(record.uid, why)) return { answer: 'cancelled' }
    sought = { uid: record.uid }
    // It has settled, it is being cancelled, or an answer to its wait came first. Only the last needs another round.
    const steps = await host.store.steps(record.uid)
    if (steps.some(({ key }) => key === stepKeys.cancel)) return { answer: 'cancelled' }
  }
  throw new PawlError('store_unavailable', 'The call changed too often to be cancelled.')
}

function checkRef(call: unknown): void {
  const { uid, idempotencyKey } = (call ?? {}) as { uid?: unknown; idempotencyKey?: unknown }
  if ([call, uid, idempotencyKey].some((each) => typeof each === 'string')) return
  throw new PawlError('call_invalid', 'Name the call by its id, or pass { uid } or { idempotencyKey }.')
}

/** `engine.recorded` also finds calls whose first write is still pending. */
function findCall(
  { engine, store }: CancelHost,
  { tenant, session }: Scope,
  call: CallRef,
  { batch = '', occurrence = 0 }: CancelCallOptions,
): CallRecord | undefined | Promise<CallRecord | undefined> {
  if (typeof call === 'string') return engine.recorded({ tenant, session, batch, id: call, occurrence })
  const { uid, idempotencyKey } = call as { uid?: string; idempotencyKey?: string }
  if (uid !== undefined) return store.call(uid)
  return engine.recorded({ tenant, session, batch: keyBatch, id: idempotencyKey as string, occurrence: 0 })
}

const pageSize = 100

/** Uids of the open calls of the session with this id, in any batch: the batch of a call of a turn is internal. */
async function findOpenCalls(store: Store, of: Scope, id: string, occurrence: number | undefined): Promise<string[]> {
  const found: string[] = []
  for (let after = ''; ;) {
    const page = await store.unsettled({ of, after, limit: pageSize })
    for (const { uid, position } of page) {
      if (occurrence !== undefined && position.occurrence !== occurrence) continue
      // The position of a call with an idempotency key has the key in place of the id.
      const isKeyed = position.batch === keyBatch
      const callId = isKeyed ? parseCallOptions((await store.call(uid))?.options ?? null).callId : position.id
      if (callId === id) found.push(uid)
    }
    const last = page.at(-1)
    if (!last || page.length < pageSize) return found
    after = last.uid
  }
}
