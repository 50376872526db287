import { connectionRequired, type ObservedEvent } from 'pawl'
import { expect, test } from 'vitest'
import { opening } from '../kit/open-runtime.ts'
import { readOnlyTool } from '../kit/simple-tools.ts'
import { after } from '../kit/stores/fresh-store.ts'

const open = opening()

test('DOOR-3: an attempt that ends without a connection and settles is not reported as parked', async () => {
  const events: ObservedEvent[] = []
  const look = readOnlyTool('look', () => connectionRequired('mail'))
  const { runtime, clock } = await open({ tools: [look], observer: (event) => void events.push(event) })
  await after(runtime.session('s', { attended: false }).run([{ id: 'c', name: 'look' }]), clock)
  expect(events.map(({ type }) => type)).not.toContain('waitOpened')
  expect(events.find(({ type }) => type === 'callSettled')).toMatchObject({ status: 'success' })
  expect(events.find(({ type }) => type === 'attemptEnded')).toMatchObject({ status: 'success' })
})
