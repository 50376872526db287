// Keys, focus and dialogs of the inbox, and what they say about votes, ends and accounts, in a real browser.

import { connectionRequired, tool } from 'pawl'
import type { Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { patience } from '../kit/console/screen.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'

const reversed = '\u202e'
const refund = tool({
  name: 'refund',
  title: 'Refund an order',
  description: 'Sends money back',
  input: z.object({ order: z.string(), cents: z.number().int().positive() }),
  hints: { destructive: true },
  execute: ({ cents }) => ({ refunded: cents }),
})
const wire = tool({
  name: 'wire',
  title: 'Wire money',
  description: 'Needs two people',
  input: z.object({ cents: z.number().int() }),
  hints: { destructive: true },
  execute: ({ cents }) => ({ wired: cents }),
})
const choose = tool({
  name: 'choose',
  description: 'Asks',
  input: z.object({}),
  onCrash: 'rerun',
  execute: (_, ctx) => ctx.ask({ text: 'Which?', choices: ['5 €', '10 €'], default: '5 €' }),
})
const issues = tool({
  name: 'issues',
  description: 'Needs an account',
  input: z.object({}),
  onCrash: 'rerun',
  execute: async (_, ctx) => ((await ctx.connection('github')) ? 'connected' : connectionRequired('github')) as never,
})

const suite = consoleSuite({
  tools: [refund, wire, choose, issues],
  runtime: { keys: { secret: 's'.repeat(40) }, policy: { rules: [{ tool: 'wire', then: 'ask', quorum: 2 }] } },
})
const { open } = suite
afterEach(async () => {
  for (const { id } of await suite.app.runtime.inbox())
    await suite.app.runtime.decide(id, { deny: true, by: 'user:end' })
})

let sessions = 0

async function ask(name: string, input: object, principal = 'user:cem') {
  const session = suite.app.runtime.session(`chat-${++sessions}`, { principal })
  const calls = [{ id: name, name, input: input as never }]
  const outcome = session.run(calls, { batch: 'm' })
  ignoreResult(outcome)
  await session.run(calls, { batch: 'm', until: 'waiting' })
  const [item] = await suite.app.runtime.inbox({ tenant: 'default', session: session.id })
  return { id: item?.id ?? '', session, outcome: outcome.then(([first]) => first) }
}
const refunds = async (...orders: string[]): Promise<string[]> => {
  const ids: string[] = []
  for (const order of orders) ids.push((await ask('refund', { order, cents: 1 })).id)
  return ids
}
const row = (page: Page, order: string) => page.locator('ol li').filter({ hasText: `order "${order}"` })
const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(`document.activeElement.tagName + ' ' + document.activeElement.textContent.slice(0, 60)`)
const isAnswered = async (page: Page, act: () => Promise<unknown>): Promise<void> => {
  const answered = page.waitForResponse((response) => response.request().method() === 'POST')
  await act()
  await answered
}

test('POL-6: Enter on a focused link opens that link, not the first request', { timeout }, async () => {
  await refunds('A1')
  const page = await open('/')
  await row(page, 'A1').waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Calls' }).focus()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/calls$/)
})

test('POL-2: after the current row was decided elsewhere, `a` acts on no other row', { timeout }, async () => {
  const [, second = ''] = await refunds('A1', 'A2', 'A3')
  const page = await open('/')
  await row(page, 'A3').waitFor()
  await page.keyboard.press('j')
  await expect.poll(() => focused(page), { timeout: patience }).toContain('"A2"')
  await suite.app.runtime.decide(second, { deny: true, by: 'user:bea' })
  await row(page, 'A2').waitFor({ state: 'detached' })
  await page.keyboard.press('a')
  expect(await page.getByRole('dialog').count()).toBe(0)
  // The row that took its place is the next one, and acts only when a person has chosen it.
  await page.keyboard.press('j')
  await expect.poll(() => focused(page), { timeout: patience }).toContain('"A3"')
  await page.keyboard.press('a')
  await page.getByRole('dialog').getByText('A3').first().waitFor()
})

test('POL-6: after a decision by keyboard the next row has the focus', { timeout }, async () => {
  await refunds('A1', 'A2', 'A3')
  const page = await open('/')
  await row(page, 'A3').waitFor()
  await page.keyboard.press('a')
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).waitFor()
  await page.keyboard.press('Enter')
  await row(page, 'A1').waitFor({ state: 'detached' })
  await expect.poll(() => focused(page), { timeout: patience }).toContain('"A2"')
  await page.keyboard.press('j')
  await expect.poll(() => focused(page), { timeout: patience }).toContain('"A3"')
})

test('POL-6: keys work after a click on the checkbox of a row', { timeout }, async () => {
  await refunds('A1', 'A2')
  const page = await open('/')
  await page.getByRole('checkbox', { name: /"A2"/ }).click()
  await page.keyboard.press('d')
  await page.getByRole('dialog').getByText('A2').first().waitFor()
})

test('POL-2: a key that is held down does not confirm the dialog that it opens', { timeout }, async () => {
  const [id] = await refunds('A1')
  const page = await open('/')
  const button = page.getByRole('button', { name: /^Approve: / })
  await button.focus()
  await page.keyboard.down('Enter')
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).waitFor()
  for (let repeats = 0; repeats < 3; repeats++) await page.keyboard.down('Enter')
  await page.keyboard.up('Enter')
  // The dialog still takes a key of its own.
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect((await suite.app.runtime.inbox()).map((item) => item.id)).toContain(id)
})

test('POL-2: a decision names the fingerprint of what was shown', { timeout }, async () => {
  const [id = ''] = await refunds('A1')
  const [item] = await suite.app.runtime.inbox({ id, tenant: 'default' })
  const page = await open(`/inbox/${id}`)
  await page.getByRole('button', { name: 'Approve' }).click()
  const sent = page.waitForRequest((request) => request.method() === 'POST' && request.url().includes(id))
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
  expect((await sent).postDataJSON()).toMatchObject({ fingerprint: item?.fingerprint })
})

test('POL-3: dialogs say that a vote of a quorum does not run the call', { timeout }, async () => {
  const { id, session } = await ask('wire', { cents: 1 })
  await ask('wire', { cents: 2 })
  const list = await open('/')
  for (const box of [0, 1]) await list.getByRole('checkbox').nth(box).check()
  await list.getByRole('button', { name: 'Approve selected' }).click()
  await list
    .getByRole('dialog')
    .getByText(/Those that need more approvals wait/)
    .waitFor()
  const page = await open(`/inbox/${id}`)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('Your approval is one of 2; the call runs when 1 more have approved.').waitFor()
  await isAnswered(page, () => page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click())
  await page.goto(`${suite.app.url}/inbox/${id}`)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByText('You have approved it already. The call runs when 1 more person has approved.').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByText('people are asked again: the call needs 2 approvals').waitFor()
  await page.getByRole('textbox', { name: 'cents', exact: true }).fill('7')
  await isAnswered(page, () => page.getByRole('button', { name: 'Approve with changes' }).click())
  await expect
    .poll(() => suite.app.runtime.inbox({ tenant: 'default', session: session.id }), { timeout: patience })
    .toHaveLength(1)
})

test('POL-3: a vote is no decision: the last voter is named, and no rule is offered before', { timeout }, async () => {
  const { id } = await ask('wire', { cents: 1 })
  await refunds('A1')
  const page = await open('/')
  await page.getByRole('button', { name: /^Approve: Wire/ }).click()
  await page.getByText('Your approval is one of 2').waitFor()
  expect(await page.getByText('From now on').count()).toBe(0)
  await isAnswered(page, () => page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click())
  await page.getByText('Your approval counts, 1 of 2').waitFor()
  await suite.app.runtime.decide(id, { approve: true, by: 'user:bea' })
  await page.getByText(/^user:bea approved: Wire money/).waitFor()
  await page.locator('ol li').filter({ hasText: 'Wire money' }).waitFor({ state: 'detached' })
  await page.keyboard.press('a')
  expect(await page.getByRole('dialog').count()).toBe(0)
})

test('POL-6: the page of a request keeps its dialog when another person decides', { timeout }, async () => {
  const [id = ''] = await refunds('A1')
  const page = await open(`/inbox/${id}`)
  await page.getByRole('button', { name: 'Deny' }).click()
  await page.getByLabel('Reason (optional)').fill('A long reason')
  await suite.app.runtime.decide(id, { approve: true, by: 'user:bea' })
  await page.getByText('This request is no longer open').waitFor()
  expect(await page.getByLabel('Reason (optional)').inputValue()).toBe('A long reason')
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await page.getByText(/^user:bea approved it/).waitFor()
})

test('POL-3: a second try of a bulk decision leaves out what is decided', { timeout }, async () => {
  const [, second = ''] = await refunds('A1', 'A2')
  const page = await open('/')
  await page.getByRole('checkbox', { name: /"A1"/ }).check()
  await page.getByRole('checkbox', { name: /"A2"/ }).check()
  await page.getByRole('button', { name: 'Approve selected' }).click()
  let isBroken = true
  await page.route(`**/v1/inbox/${second}/decision*`, (route) => (isBroken ? route.abort() : route.continue()))
  await page.getByRole('button', { name: 'Approve all 2' }).click()
  await page.getByRole('dialog').getByRole('alert').waitFor()
  isBroken = false
  await page.getByRole('dialog').getByRole('button', { name: 'Approve all 1' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(await page.getByRole('log').innerText()).not.toContain('Your decision changed nothing')
})

test('POL-6: a dialog outlives a request that is withdrawn, with what was typed', { timeout }, async () => {
  const { session } = await ask('refund', { order: 'A1', cents: 1 })
  const page = await open('/')
  await row(page, 'A1').waitFor()
  await page.keyboard.press('d')
  await page.getByLabel('Reason (optional)').fill('A long reason')
  await session.cancel('No longer needed')
  await page.getByText('This request is no longer open').waitFor()
  expect(await page.getByLabel('Reason (optional)').inputValue()).toBe('A long reason')
})

test('DOOR-1: a dialog whose form cannot be read can be closed on a phone', { timeout }, async () => {
  const [id = ''] = await refunds('A1')
  const page = await open(`/inbox/${id}`, { width: 375 })
  await page.getByRole('button', { name: 'Edit' }).waitFor()
  const body = '{"code":"unavailable","title":"x","detail":"The tool is not here"}'
  await page.route('**/v1/tools/refund*', (route) =>
    route.fulfill({ status: 503, contentType: 'application/problem+json', body }),
  )
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('dialog').getByRole('alert').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
})

test('DOOR-1: more than 1,000 requests are called more, not 1,000', { timeout }, async () => {
  await refunds('A1')
  const page = await open('/system')
  await page.route('**/v1/inbox?*', async (route) => {
    const response = await route.fetch()
    const [item] = (await response.json()) as { id: string }[]
    const json = Array.from({ length: 1_000 }, (_, index) => ({ ...item, id: `${item?.id}${index}` }))
    await route.fulfill({ response, json })
  })
  await page.goto(`${suite.app.url}/`)
  await page.getByText('These are the first 1,000 requests.').waitFor()
  expect(await page.title()).toMatch(/^\(1000\+\)/)
})

test('POL-6: a row says what happens without a decision, by its kind', { timeout }, async () => {
  await refunds('A1')
  await ask('choose', {})
  await ask('issues', {})
  const page = await open('/')
  await page.getByText(/Denied automatically in 15 min without a decision/).waitFor()
  await page.getByText(/Answered with 5 € in \d+ .* without a decision/).waitFor()
  await page.getByText(/The call fails in \d+ .* without a decision/).waitFor()
})

test('POL-3: the page of a decision link says the truth about votes and defaults', async () => {
  const linkPage = async (item: string): Promise<string> => {
    const link = await suite.app.runtime.links.sign({ item, by: 'user:bea', tenant: 'default' })
    return (await fetch(`${suite.app.url}/decide/${link}`)).text()
  }
  const { id } = await ask('wire', { cents: 1 })
  expect(await linkPage(id)).toContain('Your approval is one of 2: the tool runs when 1 more have approved.')
  await suite.app.runtime.decide(id, { approve: true, by: 'user:bea' })
  expect(await linkPage(id)).toContain('You have approved it already; 1 more must approve.')
  expect(await linkPage((await ask('choose', {})).id)).toMatch(
    /Without a decision until .* the answer is &quot;5 €&quot;\./,
  )
  const [plain = ''] = await refunds('A1')
  expect(await linkPage(plain)).toMatch(/with exactly these arguments\. .* Without a decision until .* it is denied\./)
})

test('DOOR-5: a decision link approves and denies in a browser without a login', { timeout }, async () => {
  const press = async (name: 'Approve' | 'Deny'): Promise<void> => {
    const { id, outcome } = await ask('refund', { order: name, cents: 1 })
    const link = await suite.app.runtime.links.sign({ item: id, by: 'user:bea', tenant: 'default' })
    const page = await open(`/decide/${link}`, { token: '' })
    await page.getByLabel(/^Reason/).fill('By link')
    await page.getByRole('button', { name }).click()
    await page.getByRole('heading', { name: name === 'Approve' ? /approved/i : /denied/i }).waitFor()
    expect(await outcome).toMatchObject({ status: name === 'Approve' ? 'success' : 'failure' })
  }
  await press('Approve')
  await press('Deny')
})

test('POL-3: a call that a rule let run names the rule and the person', { timeout }, async () => {
  const first = await ask('refund', { order: 'ruled', cents: 5 })
  await suite.app.runtime.decide(first.id, {
    approve: true,
    by: 'user:bea',
    remember: { scope: 'tenant', when: { order: { eq: 'ruled' } } },
  })
  await first.outcome
  const second = suite.app.runtime.session('ruled', { principal: 'user:cem' })
  await second.run([{ id: 'r', name: 'refund', input: { order: 'ruled', cents: 6 } }])
  const { calls } = await suite.app.runtime.calls.recent({ session: 'ruled' })
  const page = await open(`/calls/${calls[0]?.uid}`)
  await page.getByText('A rule that user:bea added let it run without asking.').waitFor()
  const { calls: before } = await suite.app.runtime.calls.recent({ session: first.session.id })
  await page.goto(`${suite.app.url}/calls/${before[0]?.uid}`)
  await page.getByText(/user:bea approved it\. The decision also added a rule/).waitFor()
})

test('POL-5: only the caller connects an account, and for the caller alone', { timeout }, async () => {
  const other = await ask('issues', {}, 'user:cem')
  const own = await ask('issues', {}, 'user:ada')
  const page = await open(`/inbox/${other.id}`)
  await page.getByText('Only user:cem can connect this account.').waitFor()
  expect(await page.getByRole('button', { name: 'Connect' }).count()).toBe(0)
  await page.goto(`${suite.app.url}/inbox/${own.id}`)
  await page.getByRole('button', { name: 'Connect' }).click()
  await page.getByLabel('Token of the account').fill('ghp_adas_own_token_123')
  await page.getByRole('dialog').getByRole('button', { name: 'Connect' }).click()
  await page.getByText('The account is connected. 1 call continues.').waitFor()
  expect(await own.outcome).toMatchObject({ value: 'connected' })
  const accounts = await suite.app.runtime.connections.list({ tenant: 'default' })
  expect(accounts).toMatchObject([{ provider: 'github', principal: 'user:ada' }])
})

test('DOOR-1: the audit shows hidden characters of what people wrote', { timeout }, async () => {
  const [id = ''] = await refunds('A1')
  await suite.app.runtime.decide(id, { deny: true, by: 'user:bea', reason: `Too ${reversed}much` })
  const page = await open('/system')
  await page.getByRole('button', { name: 'Show the audit' }).click()
  await page
    .getByText(/Too \\u202emuch/)
    .first()
    .waitFor()
  expect(await page.locator('main').innerText()).not.toContain(reversed)
})
