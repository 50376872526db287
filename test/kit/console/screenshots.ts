// Makes pictures of every screen: wide and narrow, light and dark, and the pictures of the README. Without a folder the
// latter go to docs/images. `npm run screenshots [folder]`.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Runtime } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { openBrowser } from './browser.ts'
import { adminToken, buildConsole, newStore, openConsoleApp } from './console-app.ts'
import { deskTools } from './desk-tools.ts'
import { killWorkerDuring } from './killed-worker.ts'
import { makeReadmeImages } from './readme-images.ts'
import { openScreen } from './screen.ts'

const into = resolve(process.argv[2] ?? 'screenshots')
const before = process.env.TMPDIR
// Everything temporary is in one folder, which is removed at the end.
const temporary = mkdtempSync(join(tmpdir(), 'pawl-screenshots-'))
process.env.TMPDIR = temporary

async function fill(runtime: Runtime): Promise<void> {
  const session = runtime.session('chat-ada', { principal: 'user:ada' })
  const model = scriptedModel([
    { say: 'Let me look it up.', call: { name: 'look_up_order', input: { order: 'A5' } } },
    { say: 'Order A5 over 42.00 € was delivered. Can I help with anything else?' },
  ])
  await session.turn({ model, message: 'Where is my order A5?' }).outcome
  await session.tasks.start({ tool: 'export_orders', input: { customer: 'ada' }, title: 'Export of orders' })
  await session.schedules.create({
    tool: 'export_orders',
    input: { customer: 'ada' },
    cron: '0 7 * * 1',
    title: 'Weekly export',
    timezone: 'Europe/Berlin',
  })
  await session.run([
    { id: 'a', name: 'look_up_order', input: { order: 'A1' } },
    { id: 'b', name: 'look_up_order', input: { order: 'Z9' } },
  ])
  const desk = runtime.session('chat-bob', { principal: 'user:bob' })
  for (let n = 2; n < 30; n++)
    await desk.run([{ id: `c${n}`, name: 'look_up_order', input: { order: n % 7 === 0 ? `Z${n}` : `A${n}` } }])
  await session.run([{ id: 'r', name: 'refund', input: { order: 'A1', cents: 4200, reason: 'broken' } }], {
    until: 'waiting',
  })
  const to = '7 New Road, Springfield'
  await desk.run([{ id: 'd', name: 'change_address', input: { order: 'A7', to } }], { until: 'waiting' })
  await desk.run([{ id: 'v', name: 'choose_voucher', input: { customer: 'bob' } }], { until: 'waiting' })
}

const store = newStore()
const [folder, browser] = await Promise.all([buildConsole(), openBrowser(), killWorkerDuring('export_orders', store)])
const app = await openConsoleApp({
  console: folder,
  store,
  tools: deskTools(),
  runtime: { lease: '1s' },
  allTenants: true,
})
try {
  await fill(app.runtime)
  mkdirSync(into, { recursive: true })
  const inbox = await app.runtime.inbox()
  const item = (tool: string): string => inbox.find((each) => each.tool === tool)?.id ?? ''
  const { calls } = await app.runtime.calls.recent({ tool: 'export_orders' })
  const screens: Readonly<Record<string, { path: string; ready: string; act?: string }>> = {
    'sign-in': { path: '/', ready: 'Sign in to Pawl' },
    inbox: { path: '/', ready: 'Refund 42.00 €' },
    approve: { path: `/inbox/${item('refund')}`, ready: 'About this request', act: 'a' },
    edit: { path: `/inbox/${item('refund')}`, ready: 'About this request', act: 'e' },
    decision: { path: `/inbox/${item('change_address')}`, ready: 'About this request' },
    calls: { path: '/calls', ready: 'chat-bob' },
    sessions: { path: '/sessions', ready: 'chat-bob' },
    session: { path: '/sessions/chat-ada', ready: 'User' },
    tools: { path: '/tools', ready: 'Search' },
    tool: { path: '/tools/refund', ready: 'Try it' },
    tasks: { path: '/tasks', ready: 'Export of orders' },
    schedules: { path: '/schedules', ready: 'Weekly export' },
    policy: { path: '/policy?tool=refund', ready: 'Explain' },
    mcp: { path: '/mcp-servers', ready: 'Use these tools' },
    system: { path: '/system', ready: 'Open calls' },
    call: { path: `/calls/${calls.at(-1)?.uid}`, ready: 'Events and logs' },
  }
  for (const [name, { path, ready, act }] of Object.entries(screens))
    for (const width of [1280, 375])
      for (const dark of [false, true]) {
        const token = name === 'sign-in' ? '' : adminToken
        const { page, close } = await openScreen(browser, { url: app.url, token, path, width, dark })
        await page.getByText(ready).first().waitFor()
        if (act !== undefined) {
          await page.keyboard.press(act)
          await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).waitFor()
        }
        const file = `${name}-${width}-${dark ? 'dark' : 'light'}.png`
        await page.screenshot({ path: join(into, file), fullPage: act === undefined })
        await close()
      }
  await makeReadmeImages(browser, process.argv[2] ? into : resolve('docs/images'))
  console.log(`The pictures are in ${into}.`)
} finally {
  await browser.close()
  await app.close()
  rmSync(temporary, { recursive: true, force: true, maxRetries: 3 })
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
}
