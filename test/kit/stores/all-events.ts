import type { EventRecord } from '../../../src/store/records/event.ts'
import type { Store } from '../../../src/store/store.ts'

/** Reads all events of a store, page by page. */
export async function allEvents(store: Store): Promise<EventRecord[]> {
  const events: EventRecord[] = []
  for (let after = 0; ;) {
    const page = await store.events({ after, limit: 1_000 })
    events.push(...page)
    if (page.length < 1_000) return events
    after = page.at(-1)?.position ?? after
  }
}
