// What a page does when its login ends, when another person signs in, and when a tenant or a clock does not fit.

import type { Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import { adminToken, beaToken, viewerToken } from '../kit/console/console-app.ts'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { pay } from '../kit/console/small-tools.ts'
import { expectAccessible } from '../kit/console/screen.ts'

const suite = consoleSuite({ tools: [pay], allTenants: true })
const { open } = suite

afterEach(async () => {
  for (const { id } of await suite.app.runtime.inbox())
    await suite.app.runtime.decide(id, { deny: true, by: 'user:end' })
})

async function ask(session: string): Promise<string> {
  const pays = [{ id: 'p', name: 'pay', input: { cents: 1 } }]
  await suite.app.runtime.session(session, { principal: 'user:cem' }).run(pays, { until: 'waiting' })
  const [item] = await suite.app.runtime.inbox({ tenant: 'default', session })
  return item?.id ?? ''
}

/** A token of Ada that a test can revoke. */
async function newToken() {
  const terms = { name: 't', principal: 'user:ada', roles: ['approver' as const], tenant: 'default', by: 'user:ada' }
  const { id, token } = await suite.app.runtime.tokens.create(terms)
  return { token, revoke: () => suite.app.runtime.tokens.revoke(id, { by: 'user:ada' }) }
}

async function enter(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token)
  await page.keyboard.press('Enter')
}
async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('button', { name: 'Sign out' }).click()
}
const hasEnded = (page: Page): Promise<void> => page.getByRole('heading', { name: 'Your login has ended' }).waitFor()

async function workIn(page: Page, tenant: string): Promise<void> {
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByLabel('Work in another tenant').fill(tenant)
  await page.getByRole('button', { name: 'Change' }).click()
}

/** As if another person had signed in where no tab hears of it. */
async function becomeBea(page: Page): Promise<void> {
  const { hostname } = new URL(suite.app.url)
  await page
    .context()
    .addCookies([{ name: 'pawl_token', value: beaToken, domain: hostname, path: '/', httpOnly: true }])
}

test('DOOR-1: a tenant that was chosen before does not lock out the next person', { timeout }, async () => {
  const page = await open('/')
  await workIn(page, 'acme')
  await page.getByText('Nothing waits for you').waitFor()
  await signOut(page)
  await enter(page, viewerToken)
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  // Also without a sign-out.
  await page.evaluate(`localStorage.setItem('pawl.tenant', 'acme')`)
  await page.context().clearCookies()
  await page.reload()
  await enter(page, viewerToken)
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
})

test('DOOR-1: a tenant that the login is not for can be left, and so can the login', { timeout }, async () => {
  const page = await open('/', { token: beaToken })
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  const choose = async (tenant: string): Promise<void> => {
    await page.evaluate(`localStorage.setItem('pawl.tenant', '${tenant}')`)
    await page.reload()
  }
  await choose('acme')
  await page.getByText('The page works in the tenant acme.').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Use your own tenant' }).click()
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  // No client can be made for it.
  await choose('x'.repeat(2_000))
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  await choose('acme')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Sign in to Pawl' }).waitFor()
})

test('DOOR-1: a sign-in in another tab reloads the page of the last person', { timeout }, async () => {
  const page = await open(`/inbox/${await ask('swap')}`)
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.getByLabel('Reason (optional)').fill('Of Ada')
  const other = await page.context().newPage()
  await other.goto(suite.app.url)
  await signOut(other)
  await hasEnded(page)
  await enter(other, beaToken)
  await other.getByRole('heading', { name: 'Inbox' }).waitFor()
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('dialog').getByText('user:bea').waitFor()
  expect(await page.getByText('Of Ada').count()).toBe(0)
})

test('POL-6: a page does not decide as another person who has signed in since', { timeout }, async () => {
  const id = await ask('as-another')
  const page = await open(`/inbox/${id}`)
  await page.getByRole('button', { name: 'Approve' }).click()
  await becomeBea(page)
  await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Account' }).click()
  await page.getByRole('dialog').getByText('user:bea').waitFor()
  expect((await suite.app.runtime.inbox({ tenant: 'default' })).map((item) => item.id)).toContain(id)
})

test('DOOR-1: a page that is seen again notices that another person has signed in', { timeout }, async () => {
  const page = await open('/system')
  await page.getByRole('heading', { name: 'System' }).waitFor()
  await page.evaluate('window.isSamePage = true')
  await becomeBea(page)
  await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
  await expect.poll(() => page.evaluate('window.isSamePage').catch(() => true)).toBeUndefined()
})

test('DOOR-1: the next person on the page reads nothing of the last one', { timeout }, async () => {
  const { token, revoke } = await newToken()
  await ask('of-ada')
  const page = await open('/', { token })
  await page.getByRole('button', { name: /^Approve/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click()
  await page.getByText('What you decided').waitFor()
  await page.evaluate('window.isSamePage = true')
  await revoke()
  await hasEnded(page)
  // Nothing is read after the sign-in, so what is shown would be from before.
  await page.route('**/v1/inbox?*', () => {})
  await enter(page, beaToken)
  await page.getByText('Loading…').first().waitFor()
  expect(await page.evaluate('window.isSamePage')).toBeUndefined()
  expect(await page.locator('body').innerText()).not.toMatch(/What you decided|Nothing waits|of-ada/)
  await page.unroute('**/v1/inbox?*')
  await page.goto(`${suite.app.url}/inbox`)
  await page.getByText('Nothing waits for you').waitFor()
  expect(await page.getByText('What you decided').count()).toBe(0)
})

test('DOOR-1: the same person finds what was typed before the login ended', { timeout }, async () => {
  const { token, revoke } = await newToken()
  const page = await open(`/inbox/${await ask('typed')}`, { token })
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.getByLabel('Reason (optional)').fill('A long reason that took ten minutes to write')
  await revoke()
  await hasEnded(page)
  expect(await page.getByText('About this request').isVisible()).toBe(false)
  await expectAccessible(page)
  for (const key of ['Escape', 'Escape', 'Escape']) await page.keyboard.press(key)
  await hasEnded(page)
  await enter(page, adminToken)
  const reason = page.getByLabel('Reason (optional)')
  await page.getByText('About this request').waitFor()
  expect(await reason.inputValue()).toBe('A long reason that took ten minutes to write')
  await expect.poll(() => page.evaluate('document.activeElement?.name')).toBe('reason')
  expect(await page.title()).toMatch(/Pay/)
  // The page hears of changes again.
  await page.keyboard.press('Escape')
  const [item] = await suite.app.runtime.inbox({ tenant: 'default', session: 'typed' })
  await suite.app.runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' })
  await page
    .getByText(/user:bea/)
    .first()
    .waitFor()
})

test('DOOR-1: a page without a login sends nothing, so that it cannot use up the guesses', { timeout }, async () => {
  const { token, revoke } = await newToken()
  const page = await open('/system', { token })
  await page.clock.install()
  await page.goto(`${suite.app.url}/tools`)
  await page.getByRole('link', { name: 'pay' }).waitFor()
  await revoke()
  await hasEnded(page)
  let sent = 0
  page.on('request', () => sent++)
  // The tools are read every five seconds.
  for (let n = 0; n < 5; n++) await page.clock.runFor(6_000)
  expect(sent).toBe(0)
})

test('DOOR-1: a sign-out that fails says so', { timeout }, async () => {
  const page = await open('/')
  await page.route('**/logout', (route) => route.fulfill({ status: 500, body: 'no' }))
  await signOut(page)
  await page.getByText('You are not signed out: the server answered 500.').waitFor()
  await page.unroute('**/logout')
  await page.route('**/logout', (route) => route.abort())
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You may still be signed in').waitFor()
})

test('POL-6: deadlines are right in a browser whose clock is 20 minutes ahead', { timeout }, async () => {
  await ask('skew')
  const page = await open('/system')
  await page.addInitScript('{ const real = Date.now; Date.now = () => real() + 20 * 60_000 }')
  await page.goto(`${suite.app.url}/`)
  await page.getByRole('button', { name: /^Approve/ }).waitFor()
  const text = await page.locator('main').innerText()
  expect(text).toMatch(/Asked (just now|\d+ s ago)/)
  expect(text).not.toMatch(/expired|20 min ago/)
})
