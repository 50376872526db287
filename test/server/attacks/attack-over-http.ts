// Defines a test for every attack on approvals, unchanged, through HTTP. No attack runs an unapproved call.

import { afterEach, expect, test } from 'vitest'
import { attacks } from '../../approvals/attacks/all-attacks.ts'
import { eachPlace, type Kind, type Place } from '../../approvals/attacks/library-target.ts'
import { type HttpDoor, httpDoor } from './http-target.ts'

/** Attacks about a call without a requester. */
const withoutRequester = /requester is unknown|without a recorded principal/

export function attackOverHttp(kind: Kind): void {
  let place: Place
  let door: HttpDoor | undefined
  eachPlace(kind, (opened) => void (place = opened))
  afterEach(async () => {
    await door?.close()
    await place.gone()
  })

  for (const { name, may = [], run } of attacks)
    test(`DOOR-1 ${name}`, async () => {
      door = httpDoor(place, withoutRequester.test(name))
      await run(door)
      // No forbidden call runs later either.
      await door.advance('2s')
      expect(door.ran).toEqual(may)
    })
}
