// Makes the two pictures of the README: the story of the refund in the console, and the demo in a terminal.

import { mkdirSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Browser } from 'playwright-core'
import { pawl, type RunningPawl, startPawl } from '../run-pawl.ts'
import { openScreen } from './screen.ts'

const width = 1040

/** Needs the console in dist/console, as `npm start` has it. */
export async function makeReadmeImages(browser: Browser, into: string): Promise<void> {
  mkdirSync(into, { recursive: true })
  await makeConsoleImage(browser, join(into, 'console.png'))
  await makeDemoImage(browser, join(into, 'demo.png'))
}

/** As `until` of the process, which needs a test run. */
async function shows(desk: RunningPawl, text: string): Promise<void> {
  for (let tries = 0; tries < 600 && !desk.shown().includes(text); tries++) await pause(100)
}

async function makeConsoleImage(browser: Browser, path: string): Promise<void> {
  const desk = startPawl({ cwd: mkdtempSync(join(tmpdir(), 'readme-')) }, 'serve', '--demo', '--port', '0')
  try {
    await shows(desk, '/decision')
    const login = new URL(/http:\S+\/login\?code=\S+/.exec(desk.shown())?.[0] ?? '')
    const target = { url: login.origin, token: '', path: `${login.pathname}${login.search}`, width }
    const { page, close } = await openScreen(browser, target)
    await page.getByRole('button', { name: /^Approve: Refund/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
    await shows(desk, 'Its story, with the crash')
    await page.getByRole('link', { name: /^What happened/ }).click()
    await page.getByText(/^Succeeded after .* and 2 attempts\./).waitFor()
    await page.getByRole('region', { name: 'Steps and waits' }).waitFor()
    // The notice of the approval would cover a part.
    await page.reload()
    await page.getByRole('region', { name: 'Steps and waits' }).waitFor()
    await page.setViewportSize({ width, height: 640 })
    await page.screenshot({ path })
    await close()
  } finally {
    desk.signal('SIGTERM')
    await desk.ended
  }
}

const colours: Readonly<Record<string, string>> = {
  31: '#f47067',
  32: '#6bc46d',
  33: '#daaa3f',
  35: '#dcbdfb',
  36: '#76e3ea',
}
const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Text with ANSI colours as HTML. */
function terminalHtml(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const parts = text.split(/\u001B\[(\d+)m/)
  let style = ''
  let html = ''
  for (const [index, part] of parts.entries()) {
    if (index % 2 === 0) html += style === '' ? escaped(part) : `<span style="${style}">${escaped(part)}</span>`
    else if (part === '1') style += 'font-weight:700;'
    else if (part === '2') style += 'opacity:.6;'
    else if (colours[part] !== undefined) style += `color:${colours[part]};`
    else style = ''
  }
  return html
}

async function makeDemoImage(browser: Browser, path: string): Promise<void> {
  const options = { cwd: mkdtempSync(join(tmpdir(), 'readme-')), env: { FORCE_COLOR: '1' } }
  const { out } = await pawl(options, 'demo', '--yes')
  const page = await browser.newPage({ viewport: { width: 760, height: 400 } })
  const look = 'background:#1c2128;color:#d1d7e0;margin:0;padding:12px 20px;font:14px/1.45 monospace'
  const command = '<span style="opacity:.6">$</span> npx pawl demo --yes\n'
  await page.setContent(`<pre style="${look}">${command}${terminalHtml(out.trimEnd())}</pre>`)
  await page.locator('pre').screenshot({ path })
  await page.close()
}
