// The poll that backs up NOTIFY reports writes of other processes, but not our own.

import type { Client } from 'pg'
import { expect, test } from 'vitest'
import { ChangeListener } from '../../../src/store/postgres/change-listener.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'

const client = {
  on: () => {},
  connect: async () => {},
  query: async () => {},
  end: async () => {},
} as unknown as Client

test('FEED-1: the poll waits for a pending write and does not report it as foreign', async () => {
  const clock = manualClock()
  let version = 0
  let heard = 0
  let write = Promise.withResolvers<void>()
  const listener = await ChangeListener.open({
    connect: () => client,
    version: async () => version,
    pendingWrite: () => write.promise,
    onChange: () => heard++,
    clock,
    channel: 'c',
    liveChannel: 'c_live',
    self: 'us',
  })
  version = 1 // our write, committed but not yet answered
  await clock.advance('500ms')
  expect(heard).toBe(0)
  listener.recordOwnWrite(1)
  write.resolve()
  await clock.advance('500ms')
  expect(heard).toBe(0)

  write = Promise.withResolvers()
  version = 3 // a foreign write, then ours
  await clock.advance('500ms')
  listener.recordOwnWrite(3)
  write.resolve()
  await clock.advance('500ms')
  expect(heard).toBe(1)
  await listener.close()
})
