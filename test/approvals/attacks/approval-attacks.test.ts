// Every attack on approvals, through the library, on every store: none of them runs anything that nobody approved.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Server, startServer } from '../../kit/stores/postgres-server.ts'
import { attacks } from './all-attacks.ts'
import { kinds, type LibraryDoor, libraryDoor, type Place, placeOn } from './library-target.ts'

test('POL-2: there are at least 25 attacks, and no two of one name', () => {
  expect(attacks.length).toBeGreaterThan(25)
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length)
})

describe.each(kinds)('attacks through the library on %s', (kind) => {
  let server: Server | undefined
  let place: Place
  let door: LibraryDoor
  beforeAll(async () => {
    if (kind === 'postgres') server = await startServer()
  })
  afterAll(async () => {
    await server?.stop()
  })
  beforeEach(async () => {
    place = await placeOn(kind, server)
    door = libraryDoor(place)
  })
  afterEach(async () => {
    await door.close()
    await place.gone()
  })

  for (const { name, may = [], run } of attacks)
    test(name, async () => {
      await run(door)
      // Nor does anything run later that was not to.
      await door.advance('2s')
      expect(door.ran).toEqual(may)
    })
})
