// Reads the pages of the list of calls. A page is read again only if an event was about one of its calls.

import { changedSince, type Mark, markNow } from '../../api/changed-calls.ts'
import type { client } from '../../api/client.ts'

type Read = Awaited<ReturnType<(typeof client)['calls']['recent']>>

/** Calls in the order of their uids, the newest first: those below the one where the page starts, down to `next`. */
export interface CallPage extends Read {
  readonly readAt: Mark
}

const isBelow = (uid: string, start: string | null): boolean => start === null || uid < start
/** The end of a page is null if there are no further ones. */
const reaches = (next: string | null, end: string | null): boolean => next === null || (end !== null && next <= end)

/** `old`: the page with the same start, as it was read before. */
export async function readCallPage(
  start: string | null,
  old: CallPage | undefined,
  read: (before: string | null) => Promise<Read>,
): Promise<CallPage> {
  const readAt = markNow()
  const changed = old && changedSince(old.readAt)
  if (!old || !changed) return { ...(await read(start)), readAt }
  const touched = changed.filter((uid) => isBelow(uid, start) && (old.next === null || uid >= old.next))
  if (start !== null && touched.length === 0) return old
  let { calls, next } = await read(start)
  while (next !== null && !reaches(next, old.next) && touched.some((uid) => isBelow(uid, next))) {
    const more = await read(next)
    calls = [...calls, ...more.calls]
    next = more.next
  }
  if (reaches(next, old.next)) return { calls, next, readAt }
  // New calls make the first page longer, so that the others start where they did.
  return { calls: [...calls, ...old.calls.filter(({ uid }) => isBelow(uid, next))], next: old.next, readAt }
}
