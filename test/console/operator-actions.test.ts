// Actions of operators on calls, sessions and tokens in a real browser.

import { tool } from 'pawl'
import { expect, test } from 'vitest'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { deskTools } from '../kit/console/desk-tools.ts'
import { expectAccessible, expectNoSidewaysScroll, patience } from '../kit/console/screen.ts'
import { pushedModel } from '../kit/models/pushed-model.ts'

const hostile = '<img src=x onerror=alert(1)>'

const model = pushedModel()
const hangs = tool({
  name: 'hang',
  description: 'Runs until it is cancelled.',
  input: { type: 'object' },
  execute: (_, ctx) => new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', reject)),
})

const suite = consoleSuite({
  tools: [...deskTools(), hangs],
  runtime: { models: [model.model] },
  allTenants: true,
})
const { open } = suite

test('CALL-6: a call that is run again is a new one that names the old one', { timeout }, async () => {
  await suite.app.runtime.session('chat-retry').run([{ id: 'first', name: 'look_up_order', input: { order: 'A5' } }])
  const [first] = (await suite.app.runtime.calls.recent({ session: 'chat-retry' })).calls
  const before = await suite.app.runtime.calls.get(first?.uid ?? '')
  const page = await open(`/calls/${first?.uid}`)
  await page.getByRole('button', { name: 'Run again', exact: true }).click()
  await page.getByText('so the same may happen twice').waitFor()
  await page.getByRole('button', { name: 'Run it again' }).click()
  await page.getByRole('link', { name: 'runs another call again' }).click()
  await page.waitForURL(`**/calls/${first?.uid}`)
  expect(await suite.app.runtime.calls.get(first?.uid ?? '')).toEqual(before)
  const { calls } = await suite.app.runtime.calls.recent({ session: 'chat-retry' })
  expect(await suite.app.runtime.calls.get(calls[0]?.uid ?? '')).toMatchObject({
    input: { order: 'A5' },
    meta: { rerunOf: first?.uid },
    principal: 'user:ada',
  })
})

test('CALL-6: the open calls of a filtered list are cancelled together, after a count', { timeout }, async () => {
  const session = suite.app.runtime.session('chat-bulk')
  const calls = [1, 2, 3].map((n) => ({ id: `h${n}`, name: 'hang', input: {} }))
  const outcomes = Promise.all(calls.map((call) => session.run([call])))
  const page = await open('/calls?tool=hang')
  await expect.poll(() => page.getByRole('link', { name: /hang/ }).count(), { timeout: patience }).toBe(3)
  await page.getByRole('button', { name: 'Cancel these' }).click()
  await page.getByRole('heading', { name: 'Cancel 3 open calls' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Cancel 3 calls' }).click()
  await page.getByText('3 cancelled, 0 had ended before, 0 failed.').waitFor()
  expect((await outcomes).map(([outcome]) => outcome?.status)).toEqual(['cancelled', 'cancelled', 'cancelled'])
})

test('FEED-1: a session shows the answer of a model while it is written', { timeout }, async () => {
  const session = suite.app.runtime.session('chat-stream')
  await session.run([{ id: 'a', name: 'look_up_order', input: { order: 'A3' } }])
  const page = await open('/sessions/chat-stream')
  await page.getByLabel('Message to the model').fill('Tell me a story')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('The model is working on an answer.').waitFor()
  const writing = page.getByRole('region', { name: 'The model writes' })
  await expect
    .poll(
      async () => {
        model.push('.')
        return writing.count()
      },
      { timeout: patience },
    )
    .toBe(1)
  model.push(` Once ${hostile}`)
  await writing.getByText(`Once ${hostile}`).waitFor()
  await expectAccessible(page)
  model.finish()
  await page.getByText('The model is not working.').waitFor()
  await page.getByRole('listitem').getByText(`Once ${hostile}`).waitFor()
  await writing.waitFor({ state: 'detached' })
})

test('DOOR-1: a token is made, shown once, and revoked', { timeout }, async () => {
  const page = await open('/system')
  await page.getByRole('button', { name: 'New token' }).click()
  await page.getByLabel('Name').fill(`ci ${hostile}`)
  await page.getByLabel('Role').selectOption('viewer')
  await page.getByRole('button', { name: 'Create the token' }).click()
  const token = await page.getByRole('dialog').getByRole('code').textContent()
  expect(await suite.app.runtime.tokens.verify(token ?? '')).toMatchObject({ roles: ['viewer'], tenant: 'default' })
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: `Revoke the token ci ${hostile}` }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('The token is revoked.').waitFor()
  expect(await suite.app.runtime.tokens.verify(token ?? '')).toBeUndefined()
  await page.getByRole('button', { name: 'Show the audit' }).click()
  await page.getByText('token.revoked').waitFor()
})

test('DOOR-1: pictures of the last calls are accessible, also on a phone', { timeout }, async () => {
  for (const [dark, width] of [
    [false, 375],
    [true, 1280],
  ] as const) {
    const page = await open('/system', { dark, width })
    await page.getByRole('img', { name: /^Calls: peak/ }).waitFor()
    await page.getByRole('button', { name: 'Show the audit' }).click()
    await page.getByText('token.revoked').first().waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    await page.goto(`${suite.app.url}/calls`)
    await page.getByRole('img', { name: /^\d+ calls since .*, 0 of them failed$/ }).waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
  }
})

test('DOOR-1: a phone shows which screen is open, and the account, without scrolling', { timeout }, async () => {
  const page = await open('/system', { width: 375 })
  const inView = async (locator: ReturnType<typeof page.locator>): Promise<boolean> => {
    const box = await locator.boundingBox()
    return box !== null && box.x >= 0 && box.x + box.width <= 375
  }
  const nav = page.getByRole('navigation')
  await page.getByRole('heading', { name: 'System' }).waitFor()
  await expect.poll(() => inView(nav.getByRole('link', { name: 'System' })), { timeout: patience }).toBe(true)
  expect(await inView(page.getByRole('banner').getByRole('button', { name: 'Account' }))).toBe(true)
  await nav.getByRole('link', { name: 'Inbox' }).click()
  await expect.poll(() => inView(nav.getByRole('link', { name: /^Inbox/ })), { timeout: patience }).toBe(true)
})
