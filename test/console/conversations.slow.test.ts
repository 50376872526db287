// The conversation of a session: long ones, and an answer while a model writes it.

import { ModelFailure } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { patience } from '../kit/console/screen.ts'
import { pushedModel } from '../kit/models/pushed-model.ts'
import { simpleTool } from '../kit/simple-tools.ts'

const answers = scriptedModel(Array.from({ length: 400 }, (_, n) => `Answer ${n}`))
const suite = consoleSuite({ tools: [simpleTool('look', () => 'seen')], runtime: { models: [answers] } })
const { open } = suite

test('SESS-1: a long session shows its end, its earlier messages, and a new message', { timeout }, async () => {
  const session = suite.app.runtime.session('long', { principal: 'user:cem' })
  for (let n = 0; n < 105; n++) await session.turn({ model: answers, message: `Message ${n}` }).outcome
  const page = await open('/sessions/long')
  await page.getByText('Message 104', { exact: true }).waitFor()
  expect(await page.getByText('Message 0', { exact: true }).count()).toBe(0)
  await page.getByRole('textbox', { name: /^Message to the model/ }).fill('Hello from the console')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('listitem').getByText('Hello from the console').waitFor()
  await page.getByText('Answer 105', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Show earlier messages' }).click()
  await page.getByText('Message 0', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Show earlier messages' }).waitFor({ state: 'detached' })
  // Each once, and in order, also after a further message, which reads none of the earlier ones again.
  let reads = 0
  page.on('request', (request) => void (request.url().includes('before=') && reads++))
  await session.turn({ model: answers, message: 'Message 106' }).outcome
  await page.getByText('Answer 106', { exact: true }).waitFor()
  expect(reads).toBe(0)
  const texts = await page.getByRole('listitem').allInnerTexts()
  const numbers = texts.map((text) => /(?:Answer) (\d+)/.exec(text)?.[1]).filter((each) => each !== undefined)
  expect(numbers).toEqual(Array.from({ length: 107 }, (_, n) => String(n)))
})

test('SESS-1: an answer that a model writes shows its hidden characters', { timeout }, async () => {
  const { model, push, finish, asked } = pushedModel()
  const page = await open('/sessions/writes')
  await page.getByText('There is no session').waitFor()
  void suite.app.runtime.session('writes').turn({ model, message: 'Hi' }).outcome
  await expect.poll(asked).toBe(1)
  await page.goto(`${suite.app.url}/sessions/writes`)
  // The last word may be a part of a secret, so it is held back.
  push('Safe \u202egnp.exe ')
  await page.getByRole('region', { name: 'The model writes' }).getByText('gnp.exe').waitFor()
  const text = await page.getByRole('region', { name: 'The model writes' }).innerText()
  expect(text).not.toContain('\u202e')
  expect(text).toContain('202e')
  finish()
  await page.getByRole('region', { name: 'The model writes' }).waitFor({ state: 'detached' })
})

test('SESS-2: the text of an answer that was cut off is taken back', { timeout }, async () => {
  const { model, push, fail, finish, asked } = pushedModel()
  void suite.app.runtime.session('retracts').turn({ model, message: 'Hi' }).outcome
  await expect.poll(asked).toBe(1)
  const page = await open('/sessions/retracts')
  push('Wrong words ')
  await page.getByText('Wrong words').waitFor()
  fail(new ModelFailure('cut off', { retryable: true }))
  await page.getByText('Wrong words').waitFor({ state: 'detached' })
  await expect.poll(asked, { timeout: patience }).toBe(2)
  push('Right words ')
  await page.getByText('Right words').first().waitFor()
  finish()
})

test('SESS-1: a hidden page has no stream of its session, and joins again when it is seen', { timeout }, async () => {
  const { model, push, finish, asked } = pushedModel()
  void suite.app.runtime.session('joins').turn({ model, message: 'Hi' }).outcome
  await expect.poll(asked).toBe(1)
  const page = await open('/sessions/joins')
  push('First ')
  await page.getByText('First').waitFor()
  const ended = page.waitForEvent('requestfailed', (request) => request.url().includes('/sessions/joins/events'))
  const hide = (isHidden: boolean) =>
    page.evaluate(`
      Object.defineProperty(document, 'hidden', { get: () => ${isHidden}, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    `)
  let streams = 0
  page.on('request', (request) => void (request.url().includes('/sessions/joins/events') && streams++))
  await hide(true)
  await ended
  push('second ')
  await page.getByText('First').waitFor()
  expect(streams).toBe(0)
  await hide(false)
  await page.getByText('First second').waitFor()
  finish()
})

test('SESS-1: an answer is shown once while the turn goes on with its calls', { timeout }, async () => {
  const { model, push, finish, asked } = pushedModel()
  void suite.app.runtime.session('once').turn({ model, message: 'Hi' }).outcome
  await expect.poll(asked).toBe(1)
  const page = await open('/sessions/once')
  push('Let me look ')
  await page.getByRole('region', { name: 'The model writes' }).getByText('Let me look').waitFor()
  finish({ id: 'a', name: 'look' })
  await expect.poll(asked).toBe(2)
  await page.getByRole('listitem').getByText('Let me look').waitFor()
  await page.getByRole('region', { name: 'The model writes' }).waitFor({ state: 'detached' })
  push('It is there ')
  await page.getByRole('region', { name: 'The model writes' }).getByText('It is there').waitFor()
  finish()
})
