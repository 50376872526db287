// Calls whose tool the caller runs: lists them and accepts their results. Only a pending call of this session can be
// answered; anything else is `unknown_or_revoked`.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { type CallRecord, type WaitRecord, parseCallOptions } from '../store/records/call-record.ts'
import { PawlError } from '../core/errors.ts'
import { decode, type Json } from '../core/tool-value.ts'
import type { Scope } from '../core/scope.ts'
import type { ResolveAnswer } from '../engine/engine.ts'
import type { Store } from '../store/store.ts'
import { type Answer, parseAnswer } from '../store/records/wait-resolution.ts'
import { parseItem } from './inbox.ts'
import type { Foundation } from '../engine/foundation.ts'
import { collections } from '../store/collections.ts'

/** A call for the caller to run. */
export interface ClientCall {
  /** Uid, as in events. */
  readonly call: string
  /** The model's id of the call, for session.answer(). */
  readonly callId: string
  /** The batch of the call; '' if it had no name. */
  readonly batch: string
  /** Distinguishes calls with the same id in one batch. */
  readonly occurrence: number
  /** Name of the tool. */
  readonly name: string
  /** Validated by the tool's schema. */
  readonly input: Json
  /** Id of the wait that the answer ends. */
  readonly waitId: string
  /** Deadline for the result, in milliseconds since 1970. */
  readonly until: number
}

/** Selects one call when several share an id. */
export interface ClientCallAt {
  /** The batch of the call. Default: ''. */
  readonly batch?: string
  /** 0 for the first call with this id in the batch. */
  readonly occurrence?: number
  /** The wait, if several calls have the same id. */
  readonly waitId?: string
}

export const clientCallOptions = {
  batch: option.string,
  occurrence: option.wholeNumber(0),
  waitId: option.string,
} satisfies OptionTable<ClientCallAt>

export interface ClientCalls {
  list(of: Scope): Promise<ClientCall[]>
  answer(of: Scope, callId: string, answer: Answer, at?: ClientCallAt): Promise<ResolveAnswer>
}

interface PendingClientCall {
  readonly call: ClientCall
  readonly wait: WaitRecord
  readonly record: CallRecord
}

export function openClientCalls({ store, engine, sizes }: Pick<Foundation, 'store' | 'engine' | 'sizes'>): ClientCalls {
  return {
    async list(of) {
      return (await readPending(store, of)).map(({ call }) => call)
    },
    async answer(of, callId, answer, at) {
      checkOptions(at, clientCallOptions, 'answer()', 'call_invalid')
      const { batch, occurrence, waitId } = at ?? {}
      const checked = parseAnswer(answer, sizes.result)
      if ('problems' in checked) return { answer: 'invalid', problems: checked.problems }
      const matches = (await readPending(store, of)).filter(
        ({ call }) =>
          call.callId === callId &&
          (batch ?? call.batch) === call.batch &&
          (occurrence ?? call.occurrence) === call.occurrence &&
          (waitId ?? call.waitId) === call.waitId,
      )
      if (new Set(matches.map(({ call }) => call.batch)).size > 1)
        throw new PawlError(
          'call_invalid',
          `Several pending client calls of this session have the id '${callId}'. Pass \`batch\` too.`,
        )
      // Equal ids in one batch are answered in the model's order.
      const [first] = matches.toSorted((a, b) => a.call.occurrence - b.call.occurrence)
      return first ? engine.answerClient(first.wait, first.record, checked) : { answer: 'unknown_or_revoked' }
    },
  }
}

async function readPending(store: Store, of: Scope): Promise<PendingClientCall[]> {
  const found: PendingClientCall[] = []
  for await (const document of collections.client.iterate(store, of)) {
    const item = parseItem(document)
    const [wait, record] = await Promise.all([store.wait(document.key), store.call(item.call)])
    if (!wait || !record || wait.resolution !== null) continue
    const { batch = record.position.batch } = parseCallOptions(record.options)
    const call = {
      call: item.call,
      callId: item.callId,
      occurrence: record.position.occurrence,
      batch,
      name: item.tool,
      input: decode(item.args),
      waitId: document.key,
      until: item.deadline,
    }
    found.push({ call, wait, record })
  }
  return found
}
