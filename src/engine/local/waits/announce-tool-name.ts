/**
 * Tool name of the calls that deliver announcements. No user tool can have it: their names and ids have no colon in
 * front of an @.
 */
export const announceTool = 'pawl:announce'
