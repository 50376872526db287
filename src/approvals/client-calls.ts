// Calls that were handed to the caller (SESS-7): which they are, and their results. Only what was handed out in this session, and still is,
// can be answered; everything else is as unknown as what never was.

import type { CallOptions, CallRecord, WaitRecord } from '../store/records/call-record.ts'
import { PawlError } from '../core/errors.ts'
import { decode, type Json } from '../core/value.ts'
import type { Engine, ResolveAnswer } from '../engine/engine.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { Store } from '../store/store.ts'
import { type Answer, checkedAnswer } from '../store/records/resolution.ts'
import { itemIn } from './inbox.ts'

/** A call for the caller to run. */
export interface ClientCall {
  /** As events name it. */
  readonly call: string
  readonly callId: string
  readonly batch: string
  /** Tells calls of one id in one batch apart. */
  readonly occurrence: number
  readonly name: string
  /** Checked by the tool's schema. */
  readonly input: Json
  readonly waitId: string
  /** The instant at which it is too late. */
  readonly until: number
}

/** Which call is meant, where several go by one id. */
export interface ClientCallAt {
  readonly batch?: string
  /** Of calls with one id in one batch, the first is 0. */
  readonly occurrence?: number
  readonly waitId?: string
}

export interface Clients {
  list(of: Scope): Promise<ClientCall[]>
  answer(of: Scope, callId: string, answer: Answer, at?: ClientCallAt): Promise<ResolveAnswer>
}

interface Scope {
  readonly tenant: string
  readonly session: string
}

interface Handed {
  readonly call: ClientCall
  readonly wait: WaitRecord
  readonly record: CallRecord
}

export function openClients(host: {
  store: Store
  engine: () => Pick<Engine, 'answerClient'>
  mostBytes: number
}): Clients {
  const { store, engine, mostBytes } = host
  return {
    async list(of) {
      return (await handed(store, of)).map(({ call }) => call)
    },
    async answer(of, callId, answer, { batch, occurrence, waitId } = {}) {
      const checked = checkedAnswer(answer, mostBytes)
      if ('problems' in checked) return { answer: 'invalid', problems: checked.problems }
      const meant = (await handed(store, of)).filter(
        ({ call }) =>
          call.callId === callId &&
          (batch ?? call.batch) === call.batch &&
          (occurrence ?? call.occurrence) === call.occurrence &&
          (waitId ?? call.waitId) === call.waitId,
      )
      if (new Set(meant.map(({ call }) => call.batch)).size > 1)
        throw new PawlError(
          'call_invalid',
          `Several calls with the id '${callId}' were handed out in this session: name the batch too.`,
        )
      // Of equal ids in one batch the first that has no result is meant, as the model's order has it.
      const [one] = meant.toSorted((a, b) => a.call.occurrence - b.call.occurrence)
      return one ? engine().answerClient(one.wait, one.record, checked) : { answer: 'unknown_or_revoked' }
    },
  }
}

async function handed(store: Store, of: Scope): Promise<Handed[]> {
  const found: Handed[] = []
  for await (const kept of iterateDocuments(store, { of: 'client', ...of })) {
    const item = itemIn(kept)
    const [wait, record] = await Promise.all([store.wait(kept.key), store.call(item.call)])
    if (!wait || !record || wait.resolution !== null) continue
    const { batch = record.position.batch } = record.options === null ? {} : (JSON.parse(record.options) as CallOptions)
    const call = {
      call: item.call,
      callId: item.callId,
      occurrence: record.position.occurrence,
      batch,
      name: item.tool,
      input: decode(item.args),
      waitId: kept.key,
      until: item.deadline,
    }
    found.push({ call, wait, record })
  }
  return found
}
