// Tools with their form, sessions and the system screen in a real browser.

import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { adminToken, viewerToken } from '../kit/console/console-app.ts'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { deskTools } from '../kit/console/desk-tools.ts'
import { expectAccessible, expectNoSidewaysScroll } from '../kit/console/screen.ts'

/** It has every character that an address treats in its own way. */
const oddSession = '<b>50%25</b>/a?b=c#d &é'

const model = scriptedModel([{ say: 'Let me look.', call: { name: 'look_up_order', input: { order: 'A2' } } }, { say: '<script>alert(1)</script> It was delivered.' }]) // prettier-ignore
const suite = consoleSuite({ tools: deskTools(), runtime: { models: [model] }, allTenants: true })
const { open } = suite

test('DOOR-1: the form of a tool refuses bad input, runs it, and links the call', { timeout }, async () => {
  const page = await open('/tools')
  await page.getByRole('link', { name: 'look_up_order' }).click()
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('It is required.').waitFor()
  await page.getByRole('textbox', { name: 'order', exact: true }).fill('A7')
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByLabel('the result').getByText('"order": "A7"').waitFor()
  await page.getByRole('link', { name: 'Open the call' }).click()
  await page.getByText(/^Succeeded after/).waitFor()
  const { calls } = await suite.app.runtime.calls.recent({ session: 'console' })
  expect(calls).toMatchObject([{ name: 'look_up_order', principal: 'user:ada' }])
})

test('POL-4: the form says whether a call would ask, and runs nothing', { timeout }, async () => {
  const page = await open('/tools/refund')
  await page.getByRole('textbox', { name: 'order', exact: true }).fill('A1')
  await page.getByRole('textbox', { name: 'cents', exact: true }).fill('100')
  await page.getByRole('button', { name: 'Would it ask?' }).click()
  await page.getByText(/^It would need approval\./).waitFor()
  expect((await suite.app.runtime.calls.recent({ tool: 'refund' })).calls).toEqual([])
})

test('CALL-6: running a call again with edits leaves the first one as it was', { timeout }, async () => {
  const session = suite.app.runtime.session('chat-again')
  await session.run([{ id: 'first', name: 'look_up_order', input: { order: 'A5' } }])
  const [first] = (await suite.app.runtime.calls.recent({ session: 'chat-again' })).calls
  const page = await open(`/calls/${first?.uid}`)
  await page.getByRole('link', { name: 'Run again with edits' }).click()
  await page.getByRole('textbox', { name: 'order', exact: true }).fill('A6')
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByLabel('the result').getByText('"order": "A6"').waitFor()
  expect((await suite.app.runtime.calls.recent({ session: 'chat-again' })).calls).toHaveLength(2)
  expect(await suite.app.runtime.calls.get(first?.uid ?? '')).toMatchObject({ input: { order: 'A5' } })
})

test('SESS-1: a session shows its conversation and starts a turn', { timeout }, async () => {
  const of = encodeURIComponent(oddSession)
  await suite.app.runtime.session(oddSession).run([{ id: 'a', name: 'look_up_order', input: { order: 'A3' } }])
  const page = await open('/sessions')
  await page.getByRole('link', { name: /50%25/ }).click()
  await page.getByRole('heading', { name: oddSession }).waitFor()
  expect(new URL(page.url()).pathname).toBe(`/sessions/${of}`)
  await page.reload()
  await page.getByLabel('Message to the model').fill('Where is my order?')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('<script>alert(1)</script> It was delivered.').waitFor()
  await page.getByText('Where is my order?').waitFor()
  await page.getByRole('link', { name: 'Calls' }).last().click()
  await page
    .getByRole('region', { name: 'Calls' })
    .getByRole('link', { name: /look_up_order/ })
    .first()
    .waitFor()
})

test('POL-3: the system screen shows health, and revokes a rule that a person added', { timeout }, async () => {
  const session = suite.app.runtime.session('chat-rule')
  await session.run([{ id: 'r', name: 'refund', input: { order: 'A1', cents: 5 } }], { until: 'waiting' })
  const [item] = await suite.app.runtime.inbox({ tenant: 'default', session: 'chat-rule' })
  await suite.app.runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea', remember: { scope: 'session' } })
  const page = await open('/system')
  await page.getByText('Every open call can continue').waitFor()
  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByText('None. A rule is added with').waitFor()
  expect(await suite.app.runtime.rules.list({ tenant: 'default' })).toEqual([])
})

test('DOOR-1: a viewer sees tools and sessions, and no button that runs something', { timeout }, async () => {
  const page = await open('/tools/refund', { token: viewerToken })
  await page.getByText('Your login may look, but not run tools.').waitFor()
  expect(await page.getByRole('button', { name: 'Run' }).count()).toBe(0)
  await page.goto(`${suite.app.url}/system`)
  await page.getByText('Health and workers are about the whole store').waitFor()
})

test('DOOR-1: tools, sessions and system are accessible, also on a phone', { timeout }, async () => {
  const paths: readonly (readonly [string, string])[] = [
    ['/tools', 'Search'],
    ['/tools/refund', 'Try it'],
    ['/sessions', 'last call'],
    [`/sessions/${encodeURIComponent(oddSession)}`, 'Conversation'],
    ['/system', 'Open calls'],
  ]
  for (const [dark, width] of [
    [false, 375],
    [true, 1280],
  ] as const) {
    const page = await open('/', { token: adminToken, dark, width })
    for (const [path, ready] of paths) {
      await page.goto(`${suite.app.url}${path}`)
      await page.getByText(ready).first().waitFor()
      await expectAccessible(page)
      await expectNoSidewaysScroll(page)
    }
  }
})
