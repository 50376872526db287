// The time of the server, as its answers tell it: requests expire by that clock, and the one of this machine may be wrong.

let offsetMs = 0
/** The header has whole seconds, and an answer takes a while. */
const toleranceMs = 3_000

export const serverNow = (): number => Date.now() + offsetMs

export function readServerDate({ headers }: Response): void {
  const found = Date.parse(headers.get('date') ?? '') - Date.now()
  if (Math.abs(found - offsetMs) > toleranceMs) offsetMs = Math.abs(found) > toleranceMs ? found : 0
}
