// Runs every attack on approvals through the library on every store. No attack runs an unapproved call.

import { afterEach, describe, expect, test } from 'vitest'
import { attacks } from './all-attacks.ts'
import { eachPlace, kinds, type LibraryDoor, libraryDoor, type Place } from './library-target.ts'

test('POL-2: there are at least 25 attacks with distinct names', () => {
  expect(attacks.length).toBeGreaterThan(25)
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length)
})

describe.each(kinds)('approval attacks through the library on %s', (kind) => {
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

  for (const { name, may = [], run } of attacks)
    test(name, async () => {
      await run(door)
      // No forbidden call runs later either.
      await door.advance('2s')
      expect(door.ran).toEqual(may)
    })
})
