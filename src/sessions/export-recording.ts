// Exports a session as plain JSON: its calls with steps and waits, and their attachments. The export is not encrypted:
// protect it like the store itself.

import type { Scope } from '../core/scope.ts'
import { type CallRecord, type StepRecord, type WaitRecord, attachmentsIn } from '../store/records/call-record.ts'
import type { Store } from '../store/store.ts'

/** A call of a recording. */
export interface RecordedCall {
  /** Its row. */
  readonly record: CallRecord
  /** Its recorded steps. */
  readonly steps: readonly StepRecord[]
  /** Its waits and their answers. */
  readonly waits: readonly WaitRecord[]
}

/** The recorded calls of a session as plain JSON, for replay() of 'pawl/testing'. */
export interface Recording {
  /** Version of the format. */
  readonly format: 1
  /** Tenant of the session. */
  readonly tenant: string
  /** Id of the session. */
  readonly session: string
  /** In the order of creation. */
  readonly calls: readonly RecordedCall[]
  /** Files that the calls refer to. */
  readonly attachments: readonly {
    readonly id: string
    readonly mediaType: string
    readonly name: string | null
    readonly base64: string
  }[]
}

const pageSize = 200

export async function recordingOf(store: Store, of: Scope): Promise<Recording> {
  const calls: RecordedCall[] = []
  const ids = new Set<string>()
  for (let after = ''; ;) {
    const records = await store.callsOf(of, { after, limit: pageSize })
    for (const record of records) {
      const [steps, waits] = await Promise.all([store.steps(record.uid), store.waitsOf(record.uid)])
      // Diagnostics are for operators only.
      calls.push({ record: { ...record, trouble: null }, steps, waits })
      const { input, args, outcome } = record
      const recorded = [...steps.map(({ value }) => value), ...waits.map(({ resolution }) => resolution)]
      for (const id of attachmentsIn(input, args, outcome, ...recorded)) ids.add(id)
    }
    const last = records.at(-1)
    if (!last || records.length < pageSize) break
    after = last.uid
  }
  const attachments: Recording['attachments'][number][] = []
  for (const id of ids) {
    const found = await store.attachment(of.tenant, id)
    if (found)
      attachments.push({
        id,
        mediaType: found.mediaType,
        name: found.name,
        base64: Buffer.from(found.data).toString('base64'),
      })
  }
  return { format: 1, ...of, calls, attachments }
}
