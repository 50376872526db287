// Running calls again, hidden arguments, lists of calls and screens that fail, in a real browser.

import { jsonSchema, tool } from 'pawl'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { adminToken } from '../kit/console/console-app.ts'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { look } from '../kit/console/small-tools.ts'
import { openScreen, patience } from '../kit/console/screen.ts'
import { rerunTool } from '../kit/simple-tools.ts'

const secret = 'hunter2-hunter2'
const got: unknown[] = []
const logIn = tool({
  name: 'log_in',
  description: 'Takes a password',
  input: z.object({ user: z.string(), password: z.string() }),
  hints: { readOnly: true },
  execute(input) {
    got.push(input)
    return 'in'
  },
})
const hides = tool({
  name: 'hides',
  description: 'Has a hidden argument',
  input: jsonSchema<{ pin?: string }>({
    type: 'object',
    properties: { pin: { type: 'string', writeOnly: true } },
    required: ['pin'],
  }),
  hints: { readOnly: true },
  execute() {
    throw new Error('The internal reason')
  },
})
const waits = rerunTool('waits', (_, ctx) => ctx.later({ deadline: '1d' }))
const sleeps = rerunTool('sleeps', (_, ctx) => ctx.sleep('1h'))

const suite = consoleSuite({ tools: [look, logIn, hides, waits, sleeps], runtime: { secrets: [secret] } })
const { open } = suite
const uidOf = async (session: string): Promise<string> =>
  (await suite.app.runtime.calls.recent({ session })).calls[0]?.uid ?? ''
const callsOf = async (session: string): Promise<number> =>
  (await suite.app.runtime.calls.recent({ session })).calls.length

test('CALL-6: a call runs again once, although the read after it fails', { timeout }, async () => {
  await suite.app.runtime.session('again').run([{ id: 'a', name: 'look', input: { n: 1 } }])
  const page = await open(`/calls/${await uidOf('again')}`)
  await page.getByRole('button', { name: 'Run again', exact: true }).click()
  await page.route('**/v1/calls?*', (route) => route.abort())
  await page.getByRole('button', { name: 'Run it again' }).click()
  await page.getByText('It runs again, as a new call.').waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  expect(await callsOf('again')).toBe(2)
})

test('CALL-6: a call runs again once, although the answer of the server was lost', { timeout }, async () => {
  await suite.app.runtime.session('lost').run([{ id: 'a', name: 'look', input: { n: 1 } }])
  const page = await open(`/calls/${await uidOf('lost')}`)
  await page.getByRole('button', { name: 'Run again', exact: true }).click()
  let isBroken = true
  await page.route('**/v1/sessions/lost/calls*', async (route) => {
    if (!isBroken) return route.continue()
    isBroken = false
    await route.fetch()
    await route.abort()
  })
  // The client sends it again by itself, under the same key.
  await page.getByRole('button', { name: 'Run it again' }).click()
  await page.getByText('It runs again, as a new call.').waitFor()
  expect(await callsOf('lost')).toBe(2)
})

test('DUR-12: the mark of a secret is not sent as an argument', { timeout }, async () => {
  await suite.app.runtime.session('secret').run([{ id: 'a', name: 'log_in', input: { user: 'ada', password: secret } }])
  const page = await open(`/calls/${await uidOf('secret')}`)
  await page.getByText('It has hidden arguments').waitFor()
  expect(await page.getByRole('button', { name: 'Run again', exact: true }).count()).toBe(0)
  await page.getByRole('link', { name: 'Run again with edits' }).click()
  await page.getByText('Some arguments of the call are hidden. Enter them again.').waitFor()
  expect(await page.getByRole('textbox', { name: 'user', exact: true }).inputValue()).toBe('ada')
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByText('It is required.').waitFor()
  await page.getByRole('textbox', { name: 'password', exact: true }).fill('another')
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByLabel('the result').getByText('in', { exact: true }).waitFor()
  expect(got.at(-1)).toEqual({ user: 'ada', password: 'another' })
})

test('VAL-4: a hidden argument is not run again, and operators read the internal error', { timeout }, async () => {
  await suite.app.runtime.session('hidden').run([{ id: 'a', name: 'hides', input: { pin: '1234' } }])
  const page = await open(`/calls/${await uidOf('hidden')}`)
  await page.getByText('[hidden]').first().waitFor()
  expect(await page.getByRole('button', { name: 'Run again', exact: true }).count()).toBe(0)
  await page.getByRole('region', { name: 'Internal error, for operators' }).getByText('The internal reason').waitFor()
  await page.goto(`${suite.app.url}/calls?session=hidden`)
  await page.getByRole('button', { name: 'Run failed ones again' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Run the call again' }).click()
  await page.getByText('0 run again, 1 left out').waitFor()
})

test('TIME-3: a bulk cancel of a list that is loaded in part says so', { timeout }, async () => {
  const session = suite.app.runtime.session('bulk')
  const many = (prefix: string, name: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({
      id: `${prefix}${n}`,
      name,
      input: (name === 'look' ? { n } : {}) as never,
    }))
  await session.run(many('old', 'waits', 5), { until: 'waiting' })
  await session.run(many('mid', 'look', 120))
  await session.run(many('new', 'waits', 1), { until: 'waiting' })
  const page = await open('/calls?session=bulk')
  await page.getByRole('button', { name: 'Cancel these' }).click()
  await page.getByText('These are the open calls among the 100 of the list that are loaded').waitFor()
  await page.keyboard.press('Escape')
  await session.cancel()
})

test('CALL-6: Enter opens the focused call, and the current one stays current', { timeout }, async () => {
  const session = suite.app.runtime.session('rows')
  await session.run([1, 2, 3].map((n) => ({ id: `r${n}`, name: 'look', input: { n } })))
  const page = await open('/calls?session=rows')
  const links = page.getByRole('region', { name: 'Calls' }).getByRole('link')
  await links.nth(2).waitFor()
  await page.keyboard.press('j')
  await links.nth(2).focus()
  const third = await links.nth(2).getAttribute('href')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${suite.app.url}${third}`)
  await page.goto(`${suite.app.url}/calls?session=rows`)
  await links.nth(2).waitFor()
  await page.keyboard.press('j')
  const first = await links.nth(0).getAttribute('href')
  await session.run([{ id: 'r4', name: 'look', input: { n: 4 } }])
  await links.nth(3).waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(`${suite.app.url}${first}`)
})

test('DOOR-1: an address with an unknown status shows all calls', { timeout }, async () => {
  const page = await open('/calls?status=bogus')
  await page.getByRole('region', { name: 'Calls' }).getByRole('link').first().waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
})

test('DUR-5: the page of a sleeping call says until when', { timeout }, async () => {
  const run = suite.app.runtime.session('sleepy').run([{ id: 's', name: 'sleeps' }])
  run.catch(() => {})
  const uid = await expect
    .poll(() => uidOf('sleepy'), { timeout: patience })
    .not.toBe('')
    .then(() => uidOf('sleepy'))
  const page = await open(`/calls/${uid}`)
  await page.getByText(/^It sleeps until/).waitFor()
  await page.getByRole('img', { name: /Sleeping/ }).waitFor()
  await suite.app.runtime.session('sleepy').cancel()
  await run
})

test('DOOR-1: a part that cannot be loaded leaves the navigation as it is', { timeout }, async () => {
  const { page, close } = await openScreen(suite.browser, { url: suite.app.url, token: adminToken })
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  await page.route('**/assets/*.js', (route) => route.abort())
  await page.getByRole('link', { name: 'Schedules' }).click()
  await page.getByText('This part of the console cannot be shown').waitFor()
  await page.getByRole('navigation').getByRole('link', { name: 'Inbox' }).click()
  await page.getByRole('heading', { name: 'Inbox' }).waitFor()
  await close()
})

test('DOOR-1: a person goes to a screen, a tool, a session or a call by typing', { timeout }, async () => {
  await suite.app.runtime.session('find-me').run([{ id: 'a', name: 'look', input: { n: 7 } }])
  const uid = await uidOf('find-me')
  const page = await open('/policy')
  const goTo = async (text: string, keys: string): Promise<void> => {
    await page.keyboard.press(keys)
    await page.getByRole('dialog').getByRole('combobox').fill(text)
    await page.getByRole('dialog').getByRole('option').first().waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  await page.getByRole('heading', { name: 'Policy', exact: true }).waitFor()
  await goTo('log_in', '/')
  await page.waitForURL(/\/tools\/log_in$/)
  await goTo('find-me', 'Control+k')
  await page.waitForURL(/\/sessions\/find-me$/)
  await goTo(uid, 'Control+k')
  await page.waitForURL(`${suite.app.url}/calls/${uid}`)
  await goTo('sched', '/')
  await page.waitForURL(/\/schedules$/)
})

test(
  'DOOR-1: a token and a cancellation are sent once, although the button is pressed twice',
  { timeout },
  async () => {
    const page = await open('/system')
    await page.getByRole('button', { name: 'New token' }).click()
    await page.getByLabel('Name').fill('twice')
    await page.getByRole('button', { name: 'Create the token' }).dblclick()
    await page.getByText('Copy it now').waitFor()
    await suite.app.runtime.session('twice').run([{ id: 'w', name: 'waits' }], { until: 'waiting' })
    await page.goto(`${suite.app.url}/calls/${await uidOf('twice')}`)
    let sent = 0
    page.on('request', (request) => {
      if (request.url().includes('/cancel')) sent++
    })
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByRole('button', { name: 'Cancel the call' }).dblclick()
    await page.getByText(/^Cancelled after/).waitFor()
    expect(sent).toBe(1)
    expect((await suite.app.runtime.tokens.list()).filter(({ name }) => name === 'twice')).toHaveLength(1)
  },
)
