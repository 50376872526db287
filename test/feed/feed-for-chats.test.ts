// The feed as a chat UI reads it: turns, tools and call ids, no internal steps, and a start at the end.

import type { FeedEvent, Runtime, Session } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { opening, stores } from '../kit/open-runtime.ts'
import { rerunTool } from '../kit/simple-tools.ts'

const look = rerunTool('look', async (_, ctx) => ctx.step('find', () => 'found'))
const broken = { ...scriptedModel(['x'], { name: 'broken' }), generate: () => Promise.reject(new Error('down')) }

async function read(of: Session | Runtime, last: string, options: object = {}): Promise<FeedEvent[]> {
  const seen: FeedEvent[] = []
  for await (const event of of.events(options)) {
    seen.push(event)
    if (event.type === last) break
  }
  return seen
}

describe.each(stores)('the feed for chats on %s', (_, fresh) => {
  const open = opening(fresh)

  test('FEED-2: a turn has a start and an end, and calls have their tool and id', async () => {
    const model = scriptedModel([{ call: { name: 'look', id: 'call_7' } }, 'Done.'])
    const { runtime } = await open({ tools: [look] })
    const session = runtime.session('s')
    await session.turn({ model, message: 'Look', id: 't' }).outcome
    const events = await read(session, 'turn.ended')
    expect(events.map(({ type }) => type)).toEqual([
      'turn.started',
      'message.added',
      'turn.answered',
      'call.received',
      'call.started',
      'step.done',
      'call.settled',
      'message.added',
      'turn.answered',
      'turn.ended',
    ])
    const settled = events.find(({ type }) => type === 'call.settled')
    expect(settled).toMatchObject({ tool: 'look', callId: 'call_7', outcome: { value: 'found' } })
    expect(events.at(-1)).toMatchObject({ body: { turn: 't', status: 'success' }, outcome: { status: 'success' } })
    const all = await read(session, 'call.settled', { internal: true })
    expect(all.map(({ type }) => type)).toContain('step.done')
    expect(all.map(({ seq }) => seq)).toEqual(all.map((__, index) => index + 1))
  })

  test('FEED-2: a turn that fails has an event with the code', async () => {
    const { runtime } = await open()
    const turn = runtime.session('s').turn({ model: broken, message: 'Hi', id: 't' })
    expect(await turn.outcome).toMatchObject({ status: 'failure' })
    const failed = (await read(runtime, 'turn.failed')).at(-1)
    expect(failed).toMatchObject({ body: { turn: 't', code: 'model_failed' }, outcome: { status: 'failure' } })
  })

  test('FEED-2: a read from now delivers nothing that was recorded before', async () => {
    const { runtime } = await open()
    const session = runtime.session('s')
    await session.values.set('a', 1)
    const events = session.events({ after: 'now' })
    await session.values.set('b', 2)
    for await (const event of events) {
      expect(event).toMatchObject({ type: 'value.changed', body: { key: 'b' } })
      break
    }
  })
})
