// Sign-in, its end, and the loss of the connection, in a real browser.

import { tool } from 'pawl'
import { expect, test } from 'vitest'
import { adminToken, openConsoleApp } from '../kit/console/console-app.ts'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { expectAccessible } from '../kit/console/screen.ts'

const ask = tool({
  name: 'ask',
  description: 'Needs an approval',
  input: { type: 'object' },
  hints: { destructive: true },
  execute: () => 'done',
})

const suite = consoleSuite({ tools: [ask] })
const { open } = suite

test('DOOR-1: a token signs in, and a wrong one says so', { timeout }, async () => {
  const page = await open('/', { token: '' })
  await page.getByRole('heading', { name: 'Sign in to Pawl' }).waitFor()
  await expectAccessible(page)
  await page.getByLabel('Token').fill('pawl_wrong')
  await page.keyboard.press('Enter')
  await page.getByText('The server does not know this token.').waitFor()
  await page.getByLabel('Token').fill(adminToken)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor()
  expect(await page.evaluate<string>('document.cookie')).toBe('') // scripts cannot read it
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to Pawl' }).waitFor()
})

test('DOOR-1: a revoked token shows the sign-in, which leads back to the screen', { timeout }, async () => {
  const terms = {
    name: 'short',
    principal: 'user:short',
    roles: ['viewer' as const],
    tenant: 'default',
    by: 'user:ada',
  }
  const { id, token } = await suite.app.runtime.tokens.create(terms)
  const page = await open('/inbox/none', { token })
  await page.getByText('This request is not open').waitFor()
  await suite.app.runtime.tokens.revoke(id, { by: 'user:ada' })
  // The stream of events may have noticed it before the click: then there is no link any more.
  const link = page.getByRole('link', { name: 'Inbox' }).first()
  await link.click({ timeout: 5_000 }).catch(() => {})
  await page.getByRole('heading', { name: 'Your login has ended' }).waitFor()
  const screen = new URL(page.url()).pathname === '/inbox' ? 'Nothing waits for you' : 'This request is not open'
  await page.getByLabel('Token').fill(adminToken)
  await page.keyboard.press('Enter')
  await page.getByText(screen).waitFor()
})

test('DOOR-1: after a restart of the server the page catches up without a reload', { timeout }, async () => {
  const first = await openConsoleApp({ console: suite.folder, tools: [ask] })
  const page = await open('/', { url: first.url })
  await page.getByRole('heading', { name: 'Nothing waits for you' }).waitFor()
  await page.evaluate('window.isSamePage = true')
  await first.close()
  await page.getByText(/^Reconnecting\./).waitFor()
  const { port, store } = first
  const second = await openConsoleApp({ console: suite.folder, tools: [ask], port, store })
  await second.runtime.session('s').run([{ id: 'a', name: 'ask' }], { until: 'waiting' })
  await page.getByRole('button', { name: /^Approve/ }).waitFor()
  await page.getByText(/^Reconnecting\./).waitFor({ state: 'detached' })
  expect(await page.evaluate('window.isSamePage')).toBe(true)
  await second.close()
})
