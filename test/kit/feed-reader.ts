// Reads the feed for tests of its events.

import { type FeedEvent, type Runtime, tool } from 'pawl'
import { expect } from 'vitest'
import { z } from 'zod'

export const echo = tool({
  name: 'echo',
  description: 'Says it',
  input: z.object({}),
  onCrash: 'rerun',
  background: true,
  execute: () => 'said',
})

let marks = 0

/** All events so far except those of calls; asserts that positions have no gap. */
export async function told(runtime: Runtime): Promise<FeedEvent[]> {
  const mark = `mark ${++marks}`
  await runtime.session(mark).run([{ id: 'a', name: 'echo' }])
  const all: FeedEvent[] = []
  for await (const event of runtime.events({ internal: true })) {
    all.push(event)
    if (event.session === mark && event.type === 'call.settled') break
  }
  expect(all.map(({ position }) => position)).toEqual(all.map((_, at) => at + 1))
  for (const [, own] of Map.groupBy(all, ({ tenant, session }) => `${tenant} ${session}`))
    expect(own.map(({ seq }) => seq)).toEqual(own.map((_, at) => at + 1))
  return all.filter(({ type }) => !/^(?:call|step|wait|turn)\./.test(type))
}
export const facts = (events: readonly FeedEvent[], session = 's'): unknown[] =>
  events.filter((event) => event.session === session).map(({ type, body }) => ({ type, ...body }))

export const typesOf = async (runtime: Runtime, session = 's'): Promise<string[]> =>
  (await told(runtime)).filter((event) => event.session === session).map(({ type }) => type)
