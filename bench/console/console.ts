// What the console costs in a real Chromium on loopback: the first paint and the first row against a static page, frame
// times while 10,000 rows scroll against a page of one empty block, and the size of the first screen's scripts.
// `npm run bench:console`, or with a number of rows.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { openBrowser } from '../../test/kit/console/browser.ts'
import { adminToken, buildConsole, type ConsoleApp, openConsoleApp } from '../../test/kit/console/console-app.ts'
import { deskTools } from '../../test/kit/console/desk-tools.ts'
import { openScreen } from '../../test/kit/console/screen.ts'
import { median, quantile } from '../kit/statistics.ts'

const wantedRows = Number(process.argv[2] ?? 10_000)
const rounds = 10
const scrolledFrames = 600
const perBatch = 250

const controlPage = `<!doctype html><title>Control</title><main><h1>Inbox</h1><a href="/">Refund 42.00 €</a></main>`
const tallPage = `<!doctype html><title>Control</title><div role="region" style="height:700px;overflow:auto">
  <div style="height:${wantedRows * 60}px"></div></div>`

async function staticServer(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer(({ url }, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(url === '/tall' ? tallPage : controlPage)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

interface FirstPaint {
  readonly paint: number
  readonly row: number
}

/** With an empty cache, as on the first visit. */
async function firstPaint(browser: Browser, url: string): Promise<FirstPaint> {
  const { page, close } = await openScreen(browser, { url, token: adminToken })
  await page.getByText('Refund 42.00 €').first().waitFor()
  const row = await page.evaluate<number>('performance.now()')
  // The entry may come after the text is there.
  const paint = await page.evaluate<number>(`new Promise((resolve) =>
    new PerformanceObserver((list) => list.getEntriesByName('first-contentful-paint').forEach((entry) => resolve(entry.startTime)))
      .observe({ type: 'paint', buffered: true }))`)
  await close()
  return { paint, row }
}

async function scriptBytes(browser: Browser, app: ConsoleApp): Promise<number> {
  const { page, close } = await openScreen(browser, { url: app.url, token: adminToken, path: '/system' })
  const sizes: Promise<number>[] = []
  page.on('response', (response) => {
    const isScript = response.request().resourceType() === 'script'
    if (isScript) sizes.push(response.body().then((body) => gzipSync(body, { level: 9 }).length))
  })
  await page.goto(`${app.url}/`)
  await page.getByText('Refund 42.00 €').first().waitFor()
  const bytes = (await Promise.all(sizes)).reduce((sum, each) => sum + each, 0)
  await close()
  return bytes
}

const box = `document.querySelector('[role=region]')`

/** Milliseconds between frames while the box scrolls from its top to its end. */
const frameTimes = (page: Page): Promise<number[]> =>
  page.evaluate<number[]>(`new Promise((resolve) => {
    const box = ${box}, step = (box.scrollHeight - box.clientHeight) / ${scrolledFrames}, times = []
    box.scrollTop = 0
    let last
    requestAnimationFrame(function frame(now) {
      if (last !== undefined) times.push(now - last)
      last = now
      box.scrollTop += step
      if (times.length < ${scrolledFrames}) requestAnimationFrame(frame)
      else resolve(times)
    })
  })`)

async function scrollCalls(browser: Browser, app: ConsoleApp): Promise<{ times: number[]; rows: number }> {
  const { page, close } = await openScreen(browser, { url: app.url, token: adminToken, path: '/calls' })
  await page.getByRole('region', { name: 'Calls' }).getByRole('link').first().waitFor()
  let height = 0
  // Reads every page of the list first: the frames are about drawing.
  for (let unchanged = 0; unchanged < 40;) {
    const next = await page.evaluate<number>(`(${box}.scrollTop = ${box}.scrollHeight, ${box}.scrollHeight)`)
    unchanged = next === height ? unchanged + 1 : 0
    height = next
    await page.waitForTimeout(25)
  }
  const link = `document.querySelector('[role=region] a').getBoundingClientRect().height`
  // A row is a little higher than its link.
  const rows = Math.min(wantedRows, Math.round(height / (await page.evaluate<number>(link))))
  const times = await frameTimes(page)
  await close()
  return { times, rows }
}

async function scrollControl(browser: Browser, url: string): Promise<number[]> {
  const { page, close } = await openScreen(browser, { url, token: '', path: '/tall' })
  const times = await frameTimes(page)
  await close()
  return times
}

async function fill({ runtime }: ConsoleApp): Promise<void> {
  for (let made = 0; made < wantedRows; made += perBatch) {
    const calls = Array.from({ length: Math.min(perBatch, wantedRows - made) }, (_, n) => ({
      id: `c${n}`,
      name: 'look_up_order',
      input: { order: `A${made + n + 2}` },
    }))
    await runtime.session(`chat-${made}`, { principal: 'user:ada' }).run(calls)
  }
  const input = { order: 'A1', cents: 4200 }
  await runtime.session('chat-ada').run([{ id: 'r', name: 'refund', input }], { until: 'waiting' })
}

const ms = (value: number): string => value.toFixed(1)
const paintRow = (name: string, all: readonly FirstPaint[]): string => {
  const paints = all.map(({ paint }) => paint)
  const rows = all.map(({ row }) => row)
  return `| ${name} | ${ms(median(paints))} | ${ms(Math.max(...paints))} | ${ms(median(rows))} | ${ms(Math.max(...rows))} |`
}
const frameRow = (name: string, times: readonly number[]): string => {
  const late = times.filter((each) => each > 33.4).length
  const figures = [median(times), quantile(times, 0.95), quantile(times, 0.99), Math.max(...times)].map(ms)
  return `| ${name} | ${figures.join(' | ')} | ${late} of ${times.length} |`
}

const before = process.env.TMPDIR
const temporary = mkdtempSync(join(tmpdir(), 'pawl-bench-console-'))
process.env.TMPDIR = temporary
const [folder, browser, control] = await Promise.all([buildConsole(), openBrowser(), staticServer()])
const app = await openConsoleApp({ console: folder, tools: deskTools(), runtime: { commit: 'process' } })
try {
  await fill(app)
  await firstPaint(browser, app.url) // warms the processes up
  const paints: FirstPaint[] = []
  const controls: FirstPaint[] = []
  for (let round = 0; round < rounds; round++) {
    controls.push(await firstPaint(browser, control.url))
    paints.push(await firstPaint(browser, app.url))
  }
  const controlTimes = await scrollControl(browser, control.url)
  const { times, rows } = await scrollCalls(browser, app)
  console.log(`${rounds} first visits, ms | paint, median | slowest | first row, median | slowest`)
  console.log(paintRow('static page', controls))
  console.log(paintRow('console', paints))
  console.log(`${rows} rows scrolled in ${scrolledFrames} frames, ms | median | 95 % | 99 % | slowest | over 33 ms`)
  console.log(frameRow('empty block', controlTimes))
  console.log(frameRow('table of calls', times))
  console.log(`Scripts of the first screen: ${((await scriptBytes(browser, app)) / 1_000).toFixed(1)} kB gzipped`)
} finally {
  await browser.close()
  await app.close()
  control.server.close()
  rmSync(temporary, { recursive: true, force: true, maxRetries: 3 })
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
}
