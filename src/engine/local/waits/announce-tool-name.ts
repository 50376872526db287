/**
 * Tool name of the calls that deliver announcements. No user tool can have it: their names and ids have no colon in
 * front of an @.
 */
export const announceTool = 'pawl:announce'

/** Recorded input of such a call: the wait that it announces. */
export interface Announced {
  readonly wait: string
}
export const parseAnnounced = (input: string): Announced => JSON.parse(input) as Announced
