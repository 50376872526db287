// VALUES: how a change gets on record. In a body it is counted with a mark on its call (Invocation.tally); everywhere else it is compared and set here.

import { PawlError } from '../../core/errors.ts'
import type { Clock } from '../../core/clock.ts'
import { mutexOf } from '../../core/keyed-mutex.ts'
import { eventIn, type Told } from '../../store/records/event.ts'
import { fencedBy } from '../../store/fenced-by.ts'
import type { Change, Guard, DocumentName, Store } from '../../store/store.ts'
import { type Collection, type Count, lineOf, type Scope } from './value-rows.ts'

/** What is to be changed, and for whom. */
export interface Writing {
  readonly of: Collection
  readonly key: string
  readonly names: readonly [DocumentName, DocumentName]
  readonly count: Count
  /** What the feed tells, where anything is changed. */
  readonly tells: Told
}

/** Durable when it resolves; gives the mark. */
export type Write = (writing: Writing) => Promise<string>

/** How a body writes: by itself, or here, fenced. */
export type Writer = { readonly write: Write } | { readonly fence: () => readonly Guard[] }

interface WriteParts {
  readonly store: Store
  readonly clock: Clock
}

/** Without a writer the program writes. */
export const writeBy = ({ store, clock }: WriteParts, scope: Scope, writer: Writer | undefined): Write =>
  writer === undefined
    ? writingTo({ store, clock }, scope)
    : 'write' in writer
      ? writer.write
      : writingTo({ store, clock }, scope, writer.fence)

/** More others than this do not come first one after the other. */
const mostLooks = 64

/** Compares and sets. `fence`: guards of whoever writes; refused by one of those, it throws lease_lost. */
const writingTo =
  ({ store, clock }: WriteParts, scope: Scope, fence: () => readonly Guard[] = () => []): Write =>
  ({ of, names, count, tells }) =>
    mutexOf(store).run(lineOf(of, scope), async () => {
      for (let look = 0; look < mostLooks; look++) {
        const guards = fence()
        const was = await Promise.all(names.map(async (name) => store.document(name)))
        const { documents, mark } = count(was.map((kept) => kept?.value ?? null))
        const changed = documents.some((value, order) => value !== (was[order]?.value ?? null))
        if (!changed && isRefusal(mark)) return mark
        const rows: NonNullable<Change['documents']> = names.map((name, order) => ({
          ...name,
          value: documents[order] ?? null,
          ...(of === 'secret' ? { secret: true as const } : {}),
        }))
        const expected = names.map((name, order): Guard => ({
          kind: 'kept',
          ...name,
          revision: was[order]?.revision ?? 0,
        }))
        const events = changed ? [eventIn({ ...scope, call: fencedBy(guards) }, tells, clock.now())] : []
        const committed = await store.commit({ guards: [...guards, ...expected], documents: rows, events })
        if (committed.ok) return mark
        const { refused } = committed
        const isOther = refused.kind === 'kept' && names.some((name) => name.of === refused.of)
        if (!isOther) throw new PawlError('lease_lost', 'A value was not written.')
      }
      throw new PawlError('values_busy')
    })

const isRefusal = (mark: string): boolean => 'refused' in (JSON.parse(mark) as object)
