// Defines a test for every attack on approvals, unchanged, through the commands of `pawl`. No attack runs an unapproved
// call, and the exit code of every decision is that of the table.

import { afterAll, afterEach, expect, test } from 'vitest'
import { attacks } from '../../approvals/attacks/all-attacks.ts'
import { eachPlace, type Kind, type Place } from '../../approvals/attacks/library-target.ts'
import { type CliDoor, cliDoor, type Where } from './cli-target.ts'

export function attackThroughCli(kind: Kind, where: Where): void {
  let place: Place
  let door: CliDoor | undefined
  let decided = 0
  eachPlace(kind, (opened) => void (place = opened))
  afterEach(async () => {
    decided += door?.decided ?? 0
    await door?.close()
    await place.gone()
  })
  // Few decisions are beyond a command line; if most were, this would be a second test of the library.
  afterAll(() => expect(decided).toBeGreaterThan(150))

  for (const { name, may = [], run } of attacks)
    test(`DOOR-2 ${name}`, async () => {
      door = cliDoor(place, where)
      await run(door)
      // No forbidden call runs later either.
      await door.advance('2s')
      expect(door.ran).toEqual(may)
    })
}
