// The opening messages of a frame after a handover, and the identity of a nested turn after recovery.

import { createRuntime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import type { Message } from '../../src/models/message.ts'
import type { MessageRecord } from '../../src/turns/conversation/history.ts'
import { openingMessages } from '../../src/turns/conversation/user-message.ts'
import { after, freshMemory, quiet } from '../kit/stores/fresh-store.ts'
import { keepOpen, mortal } from '../kit/stores/killable-store.ts'
import { closedAfterEach, replaceWorker } from '../kit/open-runtime.ts'
import { rerunTool, simpleTool } from '../kit/simple-tools.ts'

const runtimes = closedAfterEach()

const said = (message: Message): MessageRecord => ({ number: 1, at: 0, turn: 't', step: 0, message })
const words = (role: 'user' | 'notice', text: string): MessageRecord => said({ role, parts: [{ type: 'text', text }] })
const given = (control: Parameters<typeof openingMessages>[0], messages: MessageRecord[], summedUp?: MessageRecord) =>
  openingMessages(control, { messages, summaryRecord: summedUp }).map(
    ({ message }) => `${message.role}: ${JSON.stringify(message)}`,
  )

test('VAL-6 SESS-6: a frame opens with the task, else the last user message, else the summary', () => {
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

test('SESS-6: a rerun body that starts its nested turn with another message gets a conflict', async () => {
  const { clock, store } = freshMemory()
  const shared = keepOpen(store)
  const dying = mortal(shared)
  const pay = simpleTool('pay', { hints: { destructive: true } }, () => 'paid')
  const expert = scriptedModel([{ call: { name: 'pay' } }, 'Paid it.'], { name: 'expert' })
  const work = (message: string) =>
    rerunTool('work', async (_, ctx) => (await ctx.turn({ model: expert, message })).status)
  const options = { clock, logger: quiet, models: [expert] }
  const first = await createRuntime({ ...options, store: dying.store, tools: [pay, work('Pay ada')] })
  const call = { id: 'a', name: 'work' }
  first
    .session('s')
    .run([call])
    .catch(() => {})
  await clock.advance(3_000)
  expect((await first.inbox()).length).toBe(1)
  const second = await replaceWorker(
    dying,
    clock,
    { ...options, store: shared, tools: [pay, work('Pay bea')] },
    runtimes,
  )
  const outcome = await after(second.session('s').run([call]), clock, 60_000, 1_000)
  expect(outcome).toMatchObject({ value: [{ status: 'failure', failure: { code: 'turn_conflict' } }] })
})
