// The JSON of the commands for administration, as child processes on a local store.

import { expect, test } from 'vitest'
import { administration, JsonCheck } from './command-json.ts'

test('DOOR-2: the JSON of the commands for administration has its schema', { timeout: 180_000 }, async () => {
  const check = new JsonCheck()
  await administration.run(check)
  expect([...check.checked].toSorted()).toEqual(administration.names.toSorted())
})
