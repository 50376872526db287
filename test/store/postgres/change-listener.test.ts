// The poll beneath NOTIFY: it tells of what others wrote, and not of what we did.

import type { Client } from 'pg'
import { expect, test } from 'vitest'
import { Listener } from '../../../src/store/postgres/change-listener.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'

const client = { on: () => {}, connect: async () => {}, query: async () => {}, end: async () => {} } as unknown as Client

test('FEED-1: the poll sees a write of ours before its answer is here, and waits for it: that is no news', async () => {
  const clock = manualClock()
  let version = 0
  let heard = 0
  let write = Promise.withResolvers<void>()
  const listener = await Listener.open({
    connect: () => client,
    version: async () => version,
    written: () => write.promise,
    heard: () => heard++,
    clock,
    channel: 'c',
    self: 'us',
  })
  version = 1 // ours, on record, not yet answered
  await clock.advance('500ms')
  expect(heard).toBe(0)
  listener.own(1)
  write.resolve()
  await clock.advance('500ms')
  expect(heard).toBe(0)

  write = Promise.withResolvers()
  version = 3 // another's, and ours after it
  await clock.advance('500ms')
  listener.own(3)
  write.resolve()
  await clock.advance('500ms')
  expect(heard).toBe(1)
  await listener.close()
})
