// Which calls the events of this page were about, so that a long list reads only those pages again that may have changed.

/** A position in the sequence of events, to find later ones. */
export interface Mark {
  readonly since: number
  readonly at: number
}

const maxKept = 20_000
let since = 0
let uids: string[] = []

export const markNow = (): Mark => ({ since, at: uids.length })

/** Events may be missing: anything may have changed. */
export function forgetChanges(): void {
  since++
  uids = []
}

export function noteCall(uid: string): void {
  if (uids.length >= maxKept) forgetChanges()
  uids.push(uid)
}

/** Null: that is not known. */
export const changedSince = (mark: Mark): readonly string[] | null =>
  mark.since === since ? [...new Set(uids.slice(mark.at))] : null
