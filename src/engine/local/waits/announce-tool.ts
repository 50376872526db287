/** What the record calls the calls that deliver announcements. No tool can be called so: their names and ids have no colon in front of an @. */
export const announceTool = 'pawl:announce'
