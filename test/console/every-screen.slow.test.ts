// Every screen of the console on PostgreSQL, full of hostile texts of tools, callers and models, and an approval on a
// phone.

import { fail, jsonSchema, type Tool, tool } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import { scriptedModel } from 'pawl/testing'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../kit/console/browser.ts'
import { adminToken, buildConsole, type ConsoleApp, openConsoleApp } from '../kit/console/console-app.ts'
import { expectAccessible, expectNoSidewaysScroll, openScreen, patience } from '../kit/console/screen.ts'
import { serverForFile } from '../kit/stores/postgres-for-file.ts'

const timeout = 3 * patience
const markup = `<img src=x onerror="alert(1)"><script>alert(2)</script><style>*{display:none}</style>`
/** With a character that reverses the text behind it, and a word that is wider than a phone. */
const hostile = `${markup}\u202e${'w'.repeat(120)}`
const sessionId = `s-${markup}`
const input = jsonSchema<{ text?: string }>({
  type: 'object',
  properties: {
    text: { type: 'string', description: hostile },
    [hostile]: { type: 'string', title: hostile },
    choice: { enum: [hostile, 'b'], description: hostile },
    group: { type: 'object', title: hostile, properties: { is: { type: 'boolean', title: hostile } } },
  },
})

const tools: Tool[] = [
  tool({
    name: 'refund',
    title: hostile,
    description: hostile,
    input,
    hints: { destructive: true },
    preview: () => ({ summary: `Refund ${hostile}`, details: hostile, format: 'diff' }),
    execute: () => ({ [hostile]: hostile }),
  }),
  tool({ name: 'echo', description: hostile, input, hints: { readOnly: true }, execute: ({ text }) => ({ text }) }),
  tool({ name: 'breaks', description: hostile, input, execute: () => fail(hostile, { code: 'broken' }) }),
  tool({
    name: 'asks',
    description: hostile,
    input,
    onCrash: 'rerun',
    execute: (_, ctx) => ctx.ask({ text: hostile, choices: [hostile, 'b'] }),
  }),
  tool({
    name: 'works',
    description: hostile,
    input,
    hints: { idempotent: true },
    background: true,
    async execute(_, ctx) {
      await ctx.step(hostile, () => hostile)
      ctx.progress({ current: 1, total: 2, unit: hostile.slice(0, 100) })
      return hostile
    },
  }),
]

const postgres = serverForFile()
let browser: Browser
let app: ConsoleApp

beforeAll(async () => {
  let folder: string
  ;[folder, browser] = await Promise.all([buildConsole(), openBrowser()])
  const store = await postgresStore({ connection: postgres.connection, schema: 'console' })
  const model = scriptedModel([{ say: hostile, call: { name: 'echo', input: { text: hostile } } }, { say: hostile }])
  app = await openConsoleApp({
    console: folder,
    tools,
    runtime: { store, keys: { secret: 's'.repeat(40) }, models: [model] },
    allTenants: true,
  })
  const session = app.runtime.session(sessionId, { principal: hostile })
  await session.turn({ model, message: hostile }).outcome
  await session.run([{ id: hostile, name: 'breaks', input: { text: hostile } }])
  await session.tasks.start({ tool: 'works', input: { text: hostile }, title: hostile })
  await session.schedules.create({ tool: 'works', input: { text: hostile }, cron: '0 7 * * 1', title: hostile })
  await session.run([{ id: 'q', name: 'asks', input: { text: hostile } }], { until: 'waiting' })
  await session.run([{ id: 'r', name: 'refund', input: { text: hostile } }], { until: 'waiting' })
}, timeout)
afterAll(async () => {
  await browser?.close()
  await app?.close()
})

async function everyPath(): Promise<string[]> {
  const inbox = await app.runtime.inbox()
  const { calls } = await app.runtime.calls.recent({})
  const session = app.runtime.session(sessionId)
  const [tasks, schedules] = await Promise.all([session.tasks.list(), session.schedules.list()])
  const of = encodeURIComponent(sessionId)
  const lists = ['', 'calls', 'sessions', 'tasks', 'schedules', 'policy', 'mcp-servers', 'tools', 'system']
  return [
    ...lists.map((name) => `/${name}`),
    `/sessions/${of}`,
    '/tools/refund',
    '/policy?tool=refund',
    ...tasks.map(({ id }) => `/tasks/${of}/${id}`),
    ...schedules.map(({ id }) => `/schedules/${of}/${id}`),
    ...inbox.map(({ id }) => `/inbox/${id}`),
    ...calls.map(({ uid }) => `/calls/${uid}`),
  ]
}

test.each([
  [375, true],
  [1280, false],
])('DOOR-1: hostile texts are texts on every screen, %i pixels wide', { timeout }, async (width, dark) => {
  const { page, errors, close } = await openScreen(browser, { url: app.url, token: adminToken, width, dark })
  let seen = 0
  for (const path of await everyPath()) {
    await page.goto(`${app.url}${path}`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    // The content of a screen arrives in several answers, and a stream of events stays open.
    await page.waitForLoadState('load')
    await page.getByText('Loading…').waitFor({ state: 'detached' })
    const text = await page.locator('main').innerText()
    if (text.includes('onerror="alert(1)"')) seen++
    expect(text, path).not.toContain('\u202e')
    expect(await page.locator('main img, main script, main style').count(), path).toBe(0)
    await expectNoSidewaysScroll(page, path)
    await expectAccessible(page)
  }
  // Otherwise the screens were empty, and this would prove nothing.
  expect(seen).toBeGreaterThan(8)
  expect(errors).toEqual([])
  await close()
})

test('POL-6: a person approves on a phone, with the record on PostgreSQL', { timeout }, async () => {
  const session = app.runtime.session('phone', { principal: 'user:cem' })
  const outcome = session.run([{ id: 'r', name: 'refund', input: { text: 'A1' } }])
  await session.run([{ id: 'r', name: 'refund', input: { text: 'A1' } }], { until: 'waiting' })
  const [item] = await app.runtime.inbox({ tenant: 'default', session: 'phone' })
  const path = `/inbox/${item?.id}`
  const { page, errors, close } = await openScreen(browser, { url: app.url, token: adminToken, path, width: 375 })
  const approve = page.getByRole('button', { name: 'Approve', exact: true })
  await approve.waitFor()
  // A thumb hits it.
  expect((await approve.boundingBox())?.height).toBeGreaterThanOrEqual(36)
  await approve.click()
  await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
  expect((await outcome)[0]).toMatchObject({ status: 'success' })
  await expectNoSidewaysScroll(page)
  expect(errors).toEqual([])
  await close()
})
