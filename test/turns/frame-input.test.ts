// What a frame begins with when a turn is handed to it, and an agent that is found at work again.

import { createRuntime, type Runtime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { afterEach, expect, test } from 'vitest'
import type { Message } from '../../src/models/message.ts'
import type { Store } from '../../src/store/store.ts'
import type { KeptMessage } from '../../src/turns/conversation/history.ts'
import { handedOver } from '../../src/turns/conversation/user-message.ts'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'
import { mortal } from '../kit/stores/killable-store.ts'

const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

const said = (message: Message): KeptMessage => ({ number: 1, at: 0, turn: 't', step: 0, message })
const words = (role: 'user' | 'notice', text: string): KeptMessage => said({ role, parts: [{ type: 'text', text }] })
const given = (control: Parameters<typeof handedOver>[0], messages: KeptMessage[], summedUp?: KeptMessage) =>
  handedOver(control, { messages, summedUp }).map(({ message }) => `${message.role}: ${JSON.stringify(message)}`)

test('VAL-6 SESS-6: a frame is given the words of the tool, else the last of the user, else what stands for them', () => {
  const talk = [words('user', 'Hello'), words('user', 'My kettle'), words('notice', 'It is done')]
  const summary = said({ role: 'summary', text: 'A kettle is broken' })
  expect(given({ task: 'Mend it', initial: { item: 1 } }, talk)).toEqual([expect.stringContaining('Mend it')])
  expect(given({}, talk, summary)).toEqual([expect.stringContaining('My kettle')])
  expect(given({ task: ' ' }, talk)).toEqual([expect.stringContaining('My kettle')])
  expect(given({}, talk.slice(2), summary)).toEqual([
    expect.stringMatching(/^notice: .*A kettle is broken/),
    expect.stringContaining('It is done'),
  ])
  expect(given({}, [])).toEqual([])
})

test('SESS-6: an agent that is told something else by a body that runs again is not the one that is at work', async () => {
  const { clock, store } = freshMemory()
  const shared: Store = { ...store, close: async () => {} }
  const dying = mortal(shared)
  const pay = tool({ name: 'pay', description: 'Pays', input: { type: 'object' }, hints: { destructive: true }, execute: () => 'paid' })
  const expert = scriptedModel([{ call: { name: 'pay' } }, 'Paid it.'], { name: 'expert' })
  const work = (message: string) =>
    tool({
      name: 'work',
      description: 'Works',
      input: { type: 'object' },
      onCrash: 'rerun',
      execute: async (_, ctx) => (await ctx.turn({ model: expert, message })).status,
    })
  const options = { clock, logger: quiet, models: [expert] }
  const first = await createRuntime({ ...options, store: dying.store, tools: [pay, work('Pay ada')] })
  const call = { id: 'a', name: 'work' }
  first
    .session('s')
    .run([call])
    .catch(() => {})
  await clock.advance(3_000)
  expect((await first.inbox()).length).toBe(1)
  dying.die()
  await clock.advance('40s')
  const second = await createRuntime({ ...options, store: shared, tools: [pay, work('Pay bea')] })
  runtimes.push(second)
  const outcome = await after(second.session('s').run([call]), clock, 60_000, 1_000)
  expect(outcome).toMatchObject({ value: [{ status: 'failure', failure: { code: 'turn_conflict' } }] })
})
