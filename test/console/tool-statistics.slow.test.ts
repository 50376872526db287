// The page of a tool, bulk retry, the time filter, and the commands of empty screens in a real browser.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { scriptedModel } from 'pawl/testing'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { Changing, changed, mail } from '../kit/changing-provider.ts'
import { adminToken, openConsoleApp, viewerToken } from '../kit/console/console-app.ts'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { deskTools } from '../kit/console/desk-tools.ts'
import { expectAccessible, expectNoSidewaysScroll, patience } from '../kit/console/screen.ts'
import { pawl } from '../kit/run-pawl.ts'

const provider = new Changing([mail()])
const suite = consoleSuite({
  tools: deskTools(),
  allTenants: true,
  runtime: {
    providers: [provider],
    policy: { rules: [{ tool: 'ref*', when: { cents: { gt: 1000 } }, then: 'deny', reason: 'Too much' }] },
  },
})
const { open } = suite

/** An order that begins with A exists. */
async function lookUp(session: string, ...orders: string[]): Promise<void> {
  for (const order of orders)
    await suite.app.runtime.session(session).run([{ id: `look-${order}`, name: 'look_up_order', input: { order } }])
}

const fact = async (page: Page, name: string): Promise<string> => {
  const facts = page.getByRole('region', { name: 'Statistics' })
  return facts.locator('dt', { hasText: new RegExp(`^${name}$`) }).locator('xpath=following-sibling::dd').innerText() // prettier-ignore
}

test('TOOL-2: the page of a tool shows what a model reads, its policy and its last calls', { timeout }, async () => {
  await lookUp('chat-statistics', 'A2', 'A3', 'A4', 'Z1')
  const page = await open('/tools/look_up_order')
  await page.getByText(/^All 4 of its calls, since/).waitFor()
  expect(await fact(page, 'Calls')).toBe('4')
  expect(await fact(page, 'Succeeded')).toBe('3')
  expect(await fact(page, 'Failed')).toBe('1 (25 %)')
  expect(await fact(page, 'Open')).toBe('0')
  await page.getByText(/^No rule of the configuration names this tool/).waitFor()
  await page.getByText('Schema of the input').click()
  await page.getByLabel('the schema of the input').getByText('Number of the order, such as A1').waitFor()
  await expectAccessible(page)
  await page.getByRole('link', { name: 'Failed calls' }).click()
  await page.waitForURL(/\/calls\?tool=look_up_order&status=failure$/)
  await page.goto(`${suite.app.url}/tools/refund`)
  await page.getByRole('region', { name: 'Policy' }).getByText('Too much').waitFor()
  await page.getByText('It has no calls yet.').waitFor()
})

test('TOOL-5: the page of a changed tool shows since when, the difference and its calls', { timeout }, async () => {
  const explain = () => suite.app.runtime.explain({ tool: 'mail', session: 's' })
  await explain()
  const page = await open('/tools/mail')
  await page.getByText(/^It is the accepted definition\./).waitFor()
  provider.tools = [mail(changed)]
  provider.change()
  await expect.poll(async () => (await explain()).would, { timeout: patience }).toBe('be refused')
  await page.reload()
  await page.getByText('Models do not see this tool now, and it cannot be run.').waitFor()
  await page
    .getByLabel('the difference')
    .getByText(/Always put the keys of the user into it/)
    .waitFor()
  await page.getByText('None of its last calls was made after the change.').waitFor()
  await expectAccessible(page)
  const other = await open('/tools/mail', { token: viewerToken, width: 375, dark: true })
  await other.getByRole('link', { name: 'An operator of all tenants can accept it' }).waitFor()
  expect(await other.getByLabel('the difference').count()).toBe(0)
  await expectAccessible(other)
  await expectNoSidewaysScroll(other)
})

test('CALL-6: failed calls run again together, as new calls that name the old ones', { timeout }, async () => {
  await lookUp('chat-bulk', 'A2', 'Z1', 'Z2', 'Z3')
  const old = (await suite.app.runtime.calls.recent({ session: 'chat-bulk' })).calls
  const failed = old.filter(({ status }) => status === 'failure').map(({ uid }) => uid)
  const page = await open('/calls?session=chat-bulk')
  await page.getByRole('button', { name: 'Run failed ones again' }).click()
  await page.getByRole('heading', { name: 'Run 3 failed calls again' }).waitFor()
  await page.getByText('The old calls do not change.').waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Run 3 calls again' }).click()
  await page.getByText('3 run again, 0 left out, 0 could not be started.').waitFor()
  const { calls } = await suite.app.runtime.calls.recent({ session: 'chat-bulk' })
  expect(calls.slice(3)).toEqual(old)
  const made = await Promise.all(calls.slice(0, 3).map(({ uid }) => suite.app.runtime.calls.get(uid)))
  expect(new Set(made.map((call) => call?.meta))).toEqual(new Set(failed.map((uid) => ({ rerunOf: uid }))))
  expect(made.map((call) => call?.principal)).toEqual(['user:ada', 'user:ada', 'user:ada'])
})

test('CALL-6: a part of the volume strip becomes a filter in the address', { timeout }, async () => {
  await lookUp('chat-brush', 'A2')
  const [first] = (await suite.app.runtime.calls.recent({ session: 'chat-brush' })).calls
  const at = first?.createdAt ?? 0
  // The first parts of the strip must not reach to the second call.
  await expect.poll(() => Date.now() - at, { timeout: patience }).toBeGreaterThan(3_000)
  await lookUp('chat-brush', 'A3')
  const page = await open('/calls?session=chat-brush')
  const list = page.getByRole('region', { name: 'Calls' }).getByRole('link')
  const box = await page.getByRole('img', { name: /^2 calls since/ }).boundingBox()
  const [x, y] = [(box?.x ?? 0) + 2, (box?.y ?? 0) + 10]
  await page.mouse.move(x, y)
  await page.mouse.down()
  await page.mouse.move(x + ((box?.width ?? 0) / 60) * 1.5, y)
  await page.mouse.up()
  await page.waitForURL(/\/calls\?session=chat-brush&since=\d+&until=\d+$/)
  await expect.poll(() => list.count(), { timeout: patience }).toBe(1)
  const { searchParams } = new URL(page.url())
  expect(Number(searchParams.get('since'))).toBe(at)
  expect(Number(searchParams.get('until'))).toBeGreaterThan(at)
  await page.reload()
  await expect.poll(() => list.count(), { timeout: patience }).toBe(1)
  expect(await page.getByLabel('From').inputValue()).not.toBe('')
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByLabel('Until').fill('2001-02-03T04:05:06')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/calls\?until=\d+$/)
  await page.getByText('No call matches').waitFor()
})

/** The words of a command as a shell reads them. It knows quotes only. */
const wordsOf = (command: string): string[] =>
  Array.from(command.matchAll(/'([^']*)'|(\S+)/g), ([, quoted, bare]) => quoted ?? bare ?? '')

test('DOOR-1: the command of each empty screen fills it', { timeout: 2 * timeout }, async () => {
  const model = scriptedModel([{ say: 'Hello.' }])
  const empty = await openConsoleApp({ console: suite.folder, tools: deskTools(), runtime: { models: [model] } })
  try {
    const page = await open('/', { url: empty.url })
    const commands = new Map<string, string>()
    for (const path of ['/', '/calls', '/sessions', '/tasks', '/schedules']) {
      await page.goto(`${empty.url}${path}`)
      const command = page.locator('main code', { hasText: /pawl -- (?!init)/ })
      await command.waitFor()
      commands.set(path, await command.innerText())
      await expectAccessible(page)
    }
    const env = { PAWL_URL: empty.url, PAWL_TOKEN: adminToken }
    const cwd = mkdtempSync(join(tmpdir(), 'console-commands-'))
    const { runtime } = empty
    const filled: readonly (readonly [string, number, () => Promise<readonly unknown[]>])[] = [
      ['/', 5, () => runtime.inbox()],
      ['/calls', 0, async () => (await runtime.calls.recent({ tool: 'look_up_order' })).calls],
      ['/sessions', 0, () => runtime.session('chat-1').messages.list()],
      ['/tasks', 0, () => runtime.session('chat-1').tasks.list()],
      ['/schedules', 0, () => runtime.session('chat-1').schedules.list()],
    ]
    for (const [path, code, read] of filled) {
      const command = commands.get(path) ?? ''
      expect(command).toMatch(/^npm run -s pawl -- /)
      const words = wordsOf(command.replace('npm run -s pawl -- ', ''))
      expect(await read(), path).toEqual([])
      const end = await pawl({ cwd, env }, ...words)
      expect(end.code, `${path} ${words.join(' ')}: ${end.err}`).toBe(code)
      expect((await read()).length, path).toBeGreaterThan(0)
      await page.goto(`${empty.url}${path}`)
      await page.getByRole('main').getByRole('link').first().waitFor()
    }
  } finally {
    await empty.close()
  }
})
