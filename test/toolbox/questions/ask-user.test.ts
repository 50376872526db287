// ask_user: kinds of questions, timeouts, secrets, invalid questions, and recovery.

import { type CallOutcome, createRuntime, type InboxItem, type Runtime, tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { toolbox } from '../../../src/toolbox/toolbox.ts'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { mortal } from '../../kit/stores/killable-store.ts'
import { outcomesOf } from '../read-outcomes.ts'
import { hasForm } from '../tool-conventions.ts'

for (const each of toolbox.questions()) hasForm(each)

const by = { by: 'user:bea' }
const used: string[] = []
const uses = tool({
  name: 'uses',
  description: 'Uses.',
  input: { type: 'object', properties: { token: { type: 'string' } } },
  async execute({ token }, ctx) {
    used.push(await ctx.secrets.resolve(token))
  },
})
let clock: ManualClock
let store: Store
let runtime: Runtime
let calls = 0
beforeEach(async () => {
  clock = manualClock()
  store = memoryStore({ clock })
  runtime = await createRuntime({ store, tools: [...toolbox.questions(), uses], clock, logger: quiet })
})
afterEach(() => runtime.close({ grace: 0 }))
const ask = async (input: unknown, attended = true): Promise<CallOutcome> =>
  (await runtime.session('s', { attended }).run([{ id: `c${++calls}`, name: 'ask_user', input }]))[0] as CallOutcome
const item = async (): Promise<InboxItem> => {
  await vi.waitUntil(async () => (await runtime.inbox()).length > 0, { interval: 1 })
  return (await runtime.inbox())[0] as InboxItem
}
const { codeOf, failure } = outcomesOf(ask)

test('BOX-1 POL-5: asks for a text, a choice or several choices', async () => {
  const text = ask({ question: 'Why?' })
  const { id, question } = await item()
  expect(question).toEqual({ kind: 'text', text: 'Why?' })
  await runtime.decide(id, { answer: 'Because', ...by })
  expect(await text).toMatchObject({ value: { status: 'answered', answer: 'Because', answered_by: 'user' } })

  const choice = ask({ question: 'Which?', choices: ['S', 'M'], default: 'M' })
  const asked = await item()
  expect(asked.question).toEqual({ kind: 'choice', text: 'Which?', choices: ['S', 'M'], several: false, default: 'M' })
  expect(await runtime.decide(asked.id, { answer: 'XL', ...by })).toMatchObject({ answer: 'invalid' })
  await runtime.decide(asked.id, { answer: 'S', ...by })
  expect(await choice).toMatchObject({ value: { status: 'answered', answer: 'S', answered_by: 'user' } })

  const several = ask({ question: 'Which?', choices: ['S', 'M', 'L'], several: true })
  await runtime.decide((await item()).id, { answer: ['S', 'L'], ...by })
  expect(await several).toMatchObject({ value: { status: 'answered', answer: ['S', 'L'], answered_by: 'user' } })
})

test('BOX-1 POL-5: reports declined, timed out and unattended questions, with their default', async () => {
  const declined = ask({ question: 'Why?' })
  await runtime.decide((await item()).id, { deny: true, ...by } as never)
  expect(await declined).toMatchObject({ value: { status: 'declined', answer: null, answered_by: 'user' } })

  const silent = ask({ question: 'Which?', choices: ['S', 'M'], default: 'M' })
  await item()
  await clock.advance('299s')
  expect(await runtime.inbox()).toHaveLength(1)
  await clock.advance('2s')
  expect(await silent).toMatchObject({ value: { status: 'timed_out', answer: 'M', answered_by: 'timeout' } })

  const short = ask({ question: 'Why?', timeout_seconds: 5 })
  await item()
  await clock.advance('6s')
  expect(await short).toMatchObject({ value: { status: 'timed_out', answer: null, answered_by: 'timeout' } })

  const nobody = ask({ question: 'Which?', choices: ['S', 'M'], several: true, default: ['S'] }, false)
  await clock.advance('1s')
  expect(await nobody).toMatchObject({ value: { status: 'timed_out', answer: ['S'], answered_by: 'unattended' } })
})

test('BOX-1 BOX-5: a secret is stored, and the model gets a reference that tools resolve', async () => {
  const asked = ask({ question: 'The key?', secret: 'shop.key' })
  const { id, question } = await item()
  expect(question).toEqual({ kind: 'secret', text: 'The key?' })
  await runtime.decide(id, { answer: 'hunter2-and-more', ...by })
  const outcome = await asked
  expect(outcome).toMatchObject({
    value: { status: 'answered', answer: null, answered_by: 'user', secret: 'secret:shop.key' },
  })
  expect(JSON.stringify(outcome)).not.toContain('hunter2')
  await runtime.session('s').run([{ id: 'u', name: 'uses', input: { token: 'secret:shop.key' } }])
  expect(used).toEqual(['hunter2-and-more'])
  const declined = ask({ question: 'The key?', secret: 'other' })
  await runtime.decide((await item()).id, { deny: true, ...by } as never)
  expect(await declined).toMatchObject({ value: { status: 'declined', answer: null } })
  expect(await runtime.session('s').secrets.has('other')).toBe(false)
})

test('BOX-1: an invalid question fails with a specific message and does not reach the inbox', async () => {
  const wrong = (why: string): [string, string] => ['invalid_arguments', why]
  expect(await failure({ question: ' ' })).toEqual(wrong('question must not be blank'))
  expect(await failure({ question: 'Q', several: true })).toEqual(wrong('several is for choices'))
  expect(await failure({ question: 'Q', choices: ['a'], default: 'b' })).toEqual(
    wrong('default must be among the choices'),
  )
  expect(await failure({ question: 'Q', choices: ['a'], default: ['a'] })).toEqual(wrong('default must be a text'))
  expect(await failure({ question: 'Q', choices: ['a'], several: true, default: 'a' })).toEqual(
    wrong('default must be a list where several may be taken'),
  )
  expect(await failure({ question: 'Q', secret: 'x', choices: ['a'] })).toEqual(
    wrong('A secret is a text: it has no choices and no default'),
  )
  expect(await codeOf({ question: 'Q', choices: ['a', 'a'] })).toBe('invalid_arguments')
  expect(await codeOf({ question: 'Q', timeout_seconds: 0 })).toBe('invalid_arguments')
  expect(await codeOf({ question: 'Q', secret: 'a b' })).toBe('secret_name_invalid')
  expect(await codeOf({ question: 'Q', secret: 'pawl.x' })).toBe('secret_reserved')
  await runtime.session('s').secrets.set('key', 'of the program')
  expect(await codeOf({ question: 'Q', secret: 'key' })).toBe('secret_reserved')
  expect(await runtime.inbox()).toEqual([])
})

test('BOX-1: after a worker died the same question stays open and is answered once', async () => {
  const { store: guarded, die } = mortal(store)
  const doomed = await createRuntime({ store: guarded, tools: toolbox.questions(), clock, logger: quiet })
  const call = { id: 'x', name: 'ask_user', input: { question: 'The key?', secret: 'late', timeout_seconds: 600 } }
  void doomed
    .session('t')
    .run([call])
    .catch(() => {})
  const { id } = await item()
  die()
  await clock.advance('60s')
  expect(await runtime.inbox()).toHaveLength(1)
  await runtime.decide(id, { answer: 'hunter2-and-more', ...by })
  await clock.advance('60s')
  expect(await runtime.session('t').run([call])).toMatchObject([
    { value: { status: 'answered', secret: 'secret:late' } },
  ])
  expect(await runtime.session('t').secrets.list()).toHaveLength(1)
})
