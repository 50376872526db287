// Runs attacks on approvals through the library on a store. No attack runs an unapproved call.

import { afterEach, expect, test } from 'vitest'
import { attacks } from './all-attacks.ts'
import { eachPlace, type Kind, type LibraryDoor, libraryDoor, type Place } from './library-target.ts'

/** The first attack of each promise, or group of promises. */
export const onePerPromise = [...Map.groupBy(attacks, ({ name }) => name.split(':', 1)[0]).values()].flatMap((same) =>
  same.slice(0, 1),
)

export function attackThroughLibrary(kind: Kind, chosen = attacks): void {
  let place: Place
  let door: LibraryDoor
  eachPlace(kind, (opened) => {
    place = opened
    door = libraryDoor(place)
  })
  afterEach(async () => {
    await door.close()
    await place.gone()
  })

  for (const { name, may = [], run } of chosen)
    test(name, async () => {
      await run(door)
      // No forbidden call runs later either.
      await door.advance('2s')
      expect(door.ran).toEqual(may)
    })
}
