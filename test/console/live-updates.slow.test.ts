// How the pages hear of changes: one stream for all tabs, and reads that a long list and a hidden tab do not repeat.

import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Changing, changed, mail } from '../kit/changing-provider.ts'
import { openConsoleApp } from '../kit/console/console-app.ts'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { look, pay } from '../kit/console/small-tools.ts'
import { patience } from '../kit/console/screen.ts'
import { backgroundTool } from '../kit/simple-tools.ts'

const job = backgroundTool('job', () => 'done')

const provider = new Changing([mail()])
const suite = consoleSuite({ tools: [look, pay, job], runtime: { providers: [provider] } })
const { open } = suite

/** Another tab of the same browser. */
async function openTab(of: Page, path: string, url = suite.app.url): Promise<Page> {
  const tab = await of.context().newPage()
  await tab.goto(`${url}${path}`)
  return tab
}

async function ask(session: string, app = suite.app): Promise<string> {
  const pays = [{ id: 'p', name: 'pay', input: { cents: 1 } }]
  await app.runtime.session(session, { principal: 'user:cem' }).run(pays, { until: 'waiting' })
  const [item] = await app.runtime.inbox({ tenant: 'default', session })
  return item?.id ?? ''
}

/** Requests of the page from now on whose address matches. */
function countRequests(page: Page, address: RegExp): () => number {
  let count = 0
  page.on('request', (request) => {
    if (address.test(request.url())) count++
  })
  return () => count
}

const hide = (page: Page, isHidden: boolean): Promise<unknown> =>
  page.evaluate(`
    Object.defineProperty(document, 'hidden', { get: () => ${isHidden}, configurable: true })
    Object.defineProperty(document, 'visibilityState', { get: () => '${isHidden ? 'hidden' : 'visible'}', configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  `)

test('DOOR-1: eight tabs of one browser share a stream, and a decision is still sent', { timeout }, async () => {
  const id = await ask('tabs')
  const page = await open(`/inbox/${id}`)
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  const streams: string[] = []
  page.context().on('request', (request) => void (/\/v1\/events/.test(request.url()) && streams.push(request.url())))
  for (let tab = 2; tab <= 8; tab++) await (await openTab(page, '/')).getByRole('heading', { name: 'Inbox' }).waitFor()
  expect(streams.length).toBeLessThanOrEqual(1)
  await page.getByRole('button', { name: 'Approve' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Approve', exact: true }).click()
  await page.getByText('Approved:').first().waitFor()
})

test('FEED-1: a tab that hears nothing for half a minute reads the stream itself', { timeout }, async () => {
  const first = await open('/')
  await first.getByRole('heading', { name: 'Inbox' }).waitFor()
  const second = await first.context().newPage()
  await second.clock.install()
  await second.goto(`${suite.app.url}/`)
  await second.getByRole('heading', { name: 'Inbox' }).waitFor()
  const streams = countRequests(second, /\/v1\/events/)
  // As a browser suspends a hidden tab: it keeps the lock and sends nothing.
  await first.evaluate('BroadcastChannel.prototype.postMessage = () => {}')
  await second.clock.fastForward('00:50')
  await expect.poll(streams, { timeout: patience }).toBe(1)
  const id = await ask('suspended')
  await second.locator(`a[href$="${id}"]`).waitFor()
  await second.getByText('No contact with the server').waitFor({ state: 'detached' })
})

test(
  'FEED-1: every tab hears of a new request, also after the tab with the stream was closed',
  { timeout },
  async () => {
    const first = await open('/')
    await first.getByRole('heading', { name: 'Inbox' }).waitFor()
    const second = await openTab(first, '/')
    const third = await openTab(first, '/')
    for (const tab of [second, third]) await tab.getByRole('heading', { name: 'Inbox' }).waitFor()
    const heard = await ask('all-tabs')
    for (const tab of [first, second, third]) await tab.locator(`a[href="/inbox/${heard}"]`).waitFor()
    // What is recorded before the other tab has a stream is no gap.
    const [next] = await Promise.all([ask('after-close'), first.close()])
    for (const tab of [second, third]) await tab.locator(`a[href="/inbox/${next}"]`).waitFor()
    const last = await ask('later')
    for (const tab of [second, third]) await tab.locator(`a[href="/inbox/${last}"]`).waitFor()
  },
)

test('FEED-1: without locks every tab has its own stream', { timeout }, async () => {
  const page = await open('/system')
  await page
    .context()
    .addInitScript(
      `Object.defineProperty(Navigator.prototype, 'locks', { get: undefined }); delete Navigator.prototype.locks`,
    )
  const tabs = [await openTab(page, '/'), await openTab(page, '/')]
  for (const tab of tabs) await tab.getByRole('heading', { name: 'Inbox' }).waitFor()
  const item = await ask('no-locks')
  for (const tab of tabs) await tab.locator(`a[href="/inbox/${item}"]`).waitFor()
})

test('DOOR-1: the banner says in every tab that the connection is lost, and when it is back', { timeout }, async () => {
  const app = await openConsoleApp({ console: suite.folder, tools: [pay] })
  const { url, port, store } = app
  const first = await open('/', { url })
  await first.getByRole('heading', { name: 'Nothing waits for you' }).waitFor()
  const second = await openTab(first, '/', url)
  await second.getByRole('heading', { name: 'Nothing waits for you' }).waitFor()
  await app.close()
  for (const tab of [first, second]) await tab.getByText(/^Reconnecting\./).waitFor()
  const again = await openConsoleApp({ console: suite.folder, tools: [pay], port, store })
  const item = await ask('again', again)
  await second
    .getByRole('button', { name: 'Try now' })
    .click({ timeout: 5_000 })
    .catch(() => {})
  for (const tab of [first, second]) {
    await tab.locator(`a[href="/inbox/${item}"]`).waitFor()
    await tab.getByText(/^Reconnecting\./).waitFor({ state: 'detached' })
  }
  await again.close()
})

test('FEED-1: a hidden tab does not read with every event, and catches up when it is seen', { timeout }, async () => {
  const page = await open('/calls?session=hidden')
  await page.getByRole('heading', { name: 'Calls' }).waitFor()
  await suite.app.runtime.session('hidden').run([{ id: 'a', name: 'look', input: { n: 1 } }])
  const rows = page.getByRole('region', { name: 'Calls' }).getByRole('link')
  await rows.nth(0).waitFor()
  await hide(page, true)
  const heard = countRequests(page, /\/v1\//)
  const other = await open('/calls?session=hidden')
  for (let n = 0; n < 6; n++) {
    await suite.app.runtime.session('hidden').run([{ id: `b${n}`, name: 'look', input: { n } }])
    await other
      .getByRole('region', { name: 'Calls' })
      .getByRole('link')
      .nth(n + 1)
      .waitFor()
  }
  expect(heard()).toBeLessThanOrEqual(1)
  expect(await rows.count()).toBe(1)
  await hide(page, false)
  await rows.nth(6).waitFor()
})

test(
  'FEED-1: a hidden tab reads the inbox for its title from time to time, and nothing else',
  { timeout },
  async () => {
    const page = await open('/system')
    await page.clock.install()
    await page.goto(`${suite.app.url}/calls`)
    await page.getByRole('heading', { name: 'Calls' }).waitFor()
    const count = page.getByRole('link', { name: /^Inbox/ })
    await ask('counted')
    await count.getByText(/\d/).waitFor()
    await hide(page, true)
    const before = await count.innerText()
    const reads: string[] = []
    page.on('request', (request) => reads.push(new URL(request.url()).pathname))
    await ask('counted-too')
    // The event has to be heard before the time passes.
    await expect
      .poll(async () => {
        await page.clock.fastForward(20_000)
        return count.innerText()
      })
      .not.toBe(before)
    expect(new Set(reads)).toEqual(new Set(['/v1/inbox']))
  },
)

test('FEED-1: one event does not make a long list read all of its pages again', { timeout }, async () => {
  const session = suite.app.runtime.session('storm', { principal: 'user:cem' })
  const looks = (round: number) =>
    Array.from({ length: 200 }, (_, n) => ({ id: `${round}-${n}`, name: 'look', input: { n } }))
  await session.run([{ id: 'old', name: 'pay', input: { cents: 1 } }], { until: 'waiting' })
  for (let round = 0; round < 3; round++) await session.run(looks(round))
  const page = await open('/calls?session=storm')
  const region = page.getByRole('region', { name: 'Calls' })
  await region.getByRole('link').first().waitFor()
  const box = `document.querySelector('[role=region][aria-label=Calls]')`
  const toEnd = async (rows: number): Promise<void> =>
    expect
      .poll(() => page.evaluate<number>(`(${box}.scrollTop = ${box}.scrollHeight, ${box}.scrollHeight / 60)`))
      .toBe(rows)
  await toEnd(601)
  const old = region.getByRole('link', { name: /Waiting|waits/i })
  await old.waitFor()
  const reads = countRequests(page, /\/v1\/calls\?(?=.*limit=100)/)
  // A new call is at the top, and no row is lost or shown twice.
  await suite.app.runtime.session('storm').run([{ id: 'new', name: 'look', input: { n: 1 } }])
  await toEnd(602)
  expect(reads()).toBeLessThanOrEqual(3)
  // The oldest one is read again when it ends.
  const [item] = await suite.app.runtime.inbox({ tenant: 'default', session: 'storm' })
  await suite.app.runtime.decide(item?.id ?? '', { deny: true, by: 'user:bea' })
  await old.waitFor({ state: 'detached' })
  await toEnd(602)
  expect(reads()).toBeLessThanOrEqual(12)
})

test('FEED-1: events read a list again at a low rate after a person has opened more of it', { timeout }, async () => {
  const session = suite.app.runtime.session('tasks')
  for (let n = 0; n < 51; n++) await session.tasks.start({ tool: 'job', title: `Job ${n}` })
  const page = await open('/system')
  await page.clock.install()
  await page.goto(`${suite.app.url}/tasks`)
  await page.getByRole('link', { name: 'Job 50' }).waitFor()
  await page.getByRole('button', { name: 'Show older tasks' }).click()
  await page.getByRole('link', { name: 'Job 0' }).waitFor()
  const reads = countRequests(page, /\/v1\/tasks/)
  for (let n = 51; n < 55; n++) {
    await session.tasks.start({ tool: 'job', title: `Job ${n}` })
    await page.clock.fastForward(1_000)
  }
  expect(reads()).toBe(0)
  await expect
    .poll(async () => {
      await page.clock.fastForward(10_000)
      return page.getByRole('link', { name: 'Job 54' }).count()
    })
    .toBe(1)
  expect(await page.getByRole('link', { name: 'Job 0' }).count()).toBe(1)
})

test('POL-9: the page of a tool shows that its definition has changed', { timeout }, async () => {
  const explain = () => suite.app.runtime.explain({ tool: 'mail', session: 's' })
  await explain()
  const page = await open('/tools/mail')
  await page.getByText('What the model reads').waitFor()
  provider.tools = [mail(changed)]
  provider.change()
  await expect.poll(async () => (await explain()).would, { timeout: 20_000 }).toBe('be refused')
  await page.getByText('changed, not accepted').waitFor()
  await page.getByRole('button', { name: 'Run', exact: true }).waitFor({ state: 'detached' })
})

test('POL-3: a rule that is revoked elsewhere leaves the open page of the policy', { timeout }, async () => {
  const id = await ask('rule')
  await suite.app.runtime.decide(id, { approve: true, by: 'user:bea', remember: { scope: 'session' } })
  const page = await open('/policy')
  await page.getByRole('button', { name: 'Revoke' }).waitFor()
  const [rule] = await suite.app.runtime.rules.list({ tenant: 'default' })
  await suite.app.runtime.rules.revoke(rule?.id ?? '', { by: 'user:bea', tenant: 'default' })
  await page.getByRole('button', { name: 'Revoke' }).waitFor({ state: 'detached' })
})
