// The newest events of some types, newest first: for an audit, which must not read the whole history to show its end.
// Called by runtime.recentEvents().

import { checkRequiredOptions } from '../core/check-options.ts'
import type { Store } from '../store/store.ts'
import type { EventRecord, EventType } from '../store/records/event.ts'
import { formatCursor, parseCursor } from './cursor.ts'
import { type RecentEventsQuery, recentEventsOptions } from './read-options.ts'

/** Positions that one read covers. The store reads events forward, so a window has as many rows at most. */
const windowSize = 500
/** Positions that one page covers, so that a page costs no more in a store with few matching events. */
const maxScanned = 20_000

export async function recentEvents<Shown>(
  store: Pick<Store, 'events' | 'lastPosition'>,
  query: RecentEventsQuery,
  show: (event: EventRecord) => Promise<Shown | null>,
): Promise<{ readonly events: readonly Shown[]; readonly next: string | null }> {
  checkRequiredOptions(query, recentEventsOptions, 'recentEvents()')
  const { tenants, before, limit = 100 } = query
  const types: ReadonlySet<EventType> = new Set(query.types)
  const isWanted = ({ type, tenant }: EventRecord): boolean =>
    types.has(type) && (tenants === undefined || tenants.includes(tenant))
  const found: Shown[] = []
  let end = before === undefined ? (await store.lastPosition()) + 1 : parseCursor(before).position
  for (let scanned = 0; end > 1 && scanned < maxScanned; scanned += windowSize) {
    const after = Math.max(0, end - 1 - windowSize)
    const window = await store.events({ after, limit: windowSize })
    for (const event of window.filter(({ position }) => position < end).toReversed()) {
      const shown = isWanted(event) ? await show(event) : null
      if (shown && found.push(shown) === limit) return { events: found, next: formatCursor(event.position, 0) }
    }
    end = after + 1
  }
  return { events: found, next: end > 1 ? formatCursor(end, 0) : null }
}
