// Commits a write of a value or secret. In a body the engine commits it together with a mark on the call; everywhere
// else it is a compare-and-set here.

import { PawlError } from '../../core/errors.ts'
import type { Clock } from '../../core/clock.ts'
import { mutexOf } from '../../core/keyed-mutex.ts'
import type { Scope } from '../../core/scope.ts'
import { eventFromDraft, type EventDraft } from '../../store/records/event.ts'
import { fencedBy } from '../../store/fence-guards.ts'
import type { Guard, DocumentName, Store, DocumentWrite } from '../../store/store.ts'
import { type PlanWrite, mutexKey, type ValueKind, parseMark } from './value-rows.ts'

export interface ValueWrite {
  readonly kind: ValueKind
  readonly key: string
  readonly names: readonly [DocumentName, DocumentName]
  readonly count: PlanWrite
  /** The feed event, recorded if the write changes anything. */
  readonly event: EventDraft
}

/** Durable when it resolves; returns the mark. */
export type Write = (writing: ValueWrite) => Promise<string>

/** How a body writes: through the engine, or with a compare-and-set under its fence. */
export type Writer = { readonly write: Write } | { readonly fence: () => readonly Guard[] }

interface WriteParts {
  readonly store: Store
  readonly clock: Clock
}

/** Without a writer the host program writes, unfenced. */
export const writerFor = ({ store, clock }: WriteParts, scope: Scope, writer: Writer | undefined): Write =>
  writer === undefined
    ? compareAndSet({ store, clock }, scope)
    : 'write' in writer
      ? writer.write
      : compareAndSet({ store, clock }, scope, writer.fence)

/** Compare-and-set attempts before values_busy. */
const maxAttempts = 64

/** `fence`: guards of the writing body; if one of them is rejected, the write throws lease_lost. */
const compareAndSet =
  ({ store, clock }: WriteParts, scope: Scope, fence: () => readonly Guard[] = () => []): Write =>
  ({ kind, names, count, event: tells }) =>
    mutexOf(store).run(mutexKey(kind, scope), async () => {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const guards = fence()
        const was = await Promise.all(names.map(async (name) => store.document(name)))
        const { documents, mark } = count(was.map((stored) => stored?.value ?? null))
        const changed = documents.some((value, order) => value !== (was[order]?.value ?? null))
        if (!changed && isRefusal(mark)) return mark
        const rows: readonly DocumentWrite[] = names.map((name, order) => ({
          ...name,
          value: documents[order] ?? null,
          ...(kind === 'secret' ? { secret: true as const } : {}),
        }))
        const expected = names.map((name, order): Guard => ({
          kind: 'kept',
          ...name,
          revision: was[order]?.revision ?? 0,
        }))
        const events = changed ? [eventFromDraft({ ...scope, call: fencedBy(guards) }, tells, clock.now())] : []
        const committed = await store.commit({ guards: [...guards, ...expected], documents: rows, events })
        if (committed.ok) return mark
        const { refused } = committed
        const isOther = refused.kind === 'kept' && names.some((name) => name.of === refused.of)
        if (!isOther) throw new PawlError('lease_lost', 'The value was not written.')
      }
      throw new PawlError('values_busy')
    })

const isRefusal = (mark: string): boolean => 'refused' in parseMark(mark)
