// The table of calls and the page of one call in a real browser, with a worker that is killed.

import { expect, test, vi } from 'vitest'
import { newStore } from '../kit/console/console-app.ts'
import { consoleSuite, timeout } from '../kit/console/console-suite.ts'
import { deskTools } from '../kit/console/desk-tools.ts'
import { killWorkerDuring } from '../kit/console/killed-worker.ts'
import { expectAccessible, expectNoSidewaysScroll, patience } from '../kit/console/screen.ts'
import { rerunTool } from '../kit/simple-tools.ts'

const hostile = `<img src=x onerror="alert(1)">\u202e`
const waits = rerunTool('waits', (_, ctx) => ctx.later({ deadline: '1d' }))

const store = newStore()
const suite = consoleSuite({ store, tools: [...deskTools(), waits], runtime: { lease: '1s' } }, () =>
  killWorkerDuring('export_orders', store),
)
const { open } = suite

const lookUp = async (session: string, order: string, count = 1): Promise<void> => {
  const calls = Array.from({ length: count }, (_, n) => ({
    id: `${order}-${n}`,
    name: 'look_up_order',
    input: { order },
  }))
  await suite.app.runtime.session(session, { principal: 'user:cem' }).run(calls)
}

test('DUR-1: the page of a call shows where a worker was killed and another one continued', { timeout }, async () => {
  const { calls } = await suite.app.runtime.calls.recent({ session: 'chat-ada' })
  const page = await open(`/calls/${calls[0]?.uid}`)
  await page.getByText(/^Succeeded after .* and 2 attempts\./).waitFor()
  await page.getByText(/The worker stopped during attempt 1. Another one continued with attempt 2/).waitFor()
  await page.getByRole('img', { name: /No sign of the worker.*Another one continued/ }).waitFor()
  await page.getByText('page 3').first().waitFor()
})

test('CALL-6: a new call and its end appear in the table without a reload', { timeout }, async () => {
  const page = await open('/calls?session=chat-live')
  await page.getByText('No call matches').waitFor()
  // Many events at once must not keep the page from reading.
  await lookUp('chat-flood', 'A4', 300)
  await lookUp('chat-live', 'Z9')
  await page.getByRole('link', { name: /There is no order Z9/ }).waitFor()
  await page.getByRole('link', { name: /^Failed/ }).waitFor()
})

test('CALL-6: filters are in the address', { timeout }, async () => {
  await lookUp('chat-filter', 'A2')
  await lookUp('chat-filter', 'Z1')
  const page = await open('/calls')
  await page.getByLabel('Session').fill('chat-filter')
  await page.keyboard.press('Enter')
  await page.getByLabel('Status').selectOption('failure')
  await page.waitForURL(/\/calls\?session=chat-filter&status=failure$/)
  await page.reload()
  await page.getByRole('link', { name: /There is no order Z1/ }).waitFor()
  expect(await page.getByRole('region', { name: 'Calls' }).getByRole('link').count()).toBe(1)
})

test('CALL-6: of many calls only the visible rows are drawn, others are read on the way', { timeout }, async () => {
  await lookUp('chat-many', 'A3', 250)
  const page = await open('/calls?session=chat-many')
  const region = page.getByRole('region', { name: 'Calls' })
  await region.getByRole('link').first().waitFor()
  const box = `document.querySelector('[role=region]')`
  const scroll = (): Promise<number> =>
    page.evaluate<number>(`(${box}.scrollTop = ${box}.scrollHeight, ${box}.scrollHeight)`)
  await vi.waitUntil(async () => (await scroll()) >= 250 * 60, { timeout: patience, interval: 50 })
  expect(await region.getByRole('link').count()).toBeLessThan(60)
})

test('CALL-9: a person cancels a call with a reason', { timeout }, async () => {
  const session = suite.app.runtime.session('chat-cancel')
  const outcome = session.run([{ id: 'w', name: 'waits' }])
  await session.run([{ id: 'w', name: 'waits' }], { until: 'waiting' })
  const { calls } = await suite.app.runtime.calls.recent({ session: 'chat-cancel' })
  const page = await open(`/calls/${calls[0]?.uid}`)
  await page.getByText(/^It has been waiting for a result/).waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByLabel('Reason (optional)').fill('No longer needed')
  await page.getByRole('button', { name: 'Cancel the call' }).click()
  expect((await outcome)[0]).toMatchObject({ cancellation: { message: expect.stringContaining('No longer needed') } })
  await page.getByText(/^Cancelled after/).waitFor()
})

test('DOOR-1: hostile markup and reversed text in calls are shown as text', { timeout }, async () => {
  await suite.app.runtime.session(`chat-${hostile}`, { principal: hostile }).run([
    { id: hostile, name: 'look_up_order', input: { order: hostile, [hostile]: hostile } },
    { id: 'b', name: hostile, input: {} },
  ])
  const { calls } = await suite.app.runtime.calls.recent({ session: `chat-${hostile}` })
  const page = await open('/calls')
  await page
    .getByText(/<img src=x onerror="alert\(1\)">\\u202e/)
    .first()
    .waitFor()
  for (const { uid } of calls) {
    await page.goto(`${suite.app.url}/calls/${uid}`)
    await page.getByRole('heading', { name: 'Events and logs' }).waitFor()
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.locator('main').innerText()).not.toContain('\u202e')
  }
})

test('DOOR-1: table and page of calls are accessible, light and dark, also on a phone', { timeout }, async () => {
  const { calls } = await suite.app.runtime.calls.recent({ session: 'chat-ada' })
  for (const [dark, width] of [
    [false, 1280],
    [true, 375],
  ] as const) {
    const page = await open('/calls', { width, dark })
    await page.getByRole('region', { name: 'Calls' }).getByRole('link').first().waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
    await page.goto(`${suite.app.url}/calls/${calls[0]?.uid}`)
    await page.getByRole('heading', { name: 'Events and logs' }).waitFor()
    await expectAccessible(page)
    await expectNoSidewaysScroll(page)
  }
})
