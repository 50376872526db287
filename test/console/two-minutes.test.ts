// `npm start` in a fresh checkout, and a person who has never seen Pawl in front of it: the refund is approved, the
// worker is killed while it pays, another one goes on, and the call tells what happened.

import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { openBrowser } from '../kit/console/browser.ts'
import { expectAccessible, openScreen, patience } from '../kit/console/screen.ts'
import { environment } from '../kit/run-pawl.ts'

const root = join(import.meta.dirname, '../..')

/** The files of a checkout after `npm ci`; nothing is built. */
function checkout(): string {
  const folder = mkdtempSync(join(tmpdir(), 'checkout-'))
  for (const part of ['src', 'console', 'scripts', 'package.json', 'package-lock.json', 'tsconfig.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Starts it in a process group of its own, because a signal to npm alone may leave its children. */
function npmStart(cwd: string) {
  const child = spawn('npm', ['start', '--', '--port', '0'], { cwd, env: environment(), detached: true })
  let shown = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => void (shown += text))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  return {
    async until(pattern: RegExp): Promise<string> {
      await vi
        .waitUntil(() => pattern.test(shown) || child.exitCode !== null, { timeout: 2 * patience })
        .catch(() => {})
      expect(shown).toMatch(pattern)
      return pattern.exec(shown)?.[0] ?? ''
    },
    async stop(): Promise<void> {
      if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGTERM')
      await ended
    },
  }
}

test('DOOR-1 DUR-1: npm start, an approval, a killed worker and its story', { timeout: 6 * patience }, async () => {
  const cwd = checkout()
  const desk = npmStart(cwd)
  const browser = await openBrowser()
  try {
    const login = new URL(await desk.until(/http:\S+\/login\?code=\S+/))
    const { page, errors } = await openScreen(browser, {
      url: login.origin,
      token: '',
      path: `${login.pathname}${login.search}`,
    })
    await page.getByRole('heading', { name: 'Inbox' }).waitFor()
    await page.getByRole('link', { name: 'Refund 42.00 € for order A1.' }).waitFor()
    await page.getByRole('button', { name: /^Approve: Refund/ }).click()
    await page.getByText('The call runs with exactly the arguments shown, as soon as a worker is free.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()

    const decided = page.getByRole('region', { name: 'What you decided' })
    await desk.until(/kill -9 \d+ {2}The worker died: the money has moved/)
    await decided.getByText('The worker stopped while it ran. Another one continues as soon as one is free.').waitFor()
    await decided.getByText('The worker stopped during attempt 1. Another one continued with attempt 2.').waitFor()
    await decided.getByText('Succeeded').waitFor()
    await expectAccessible(page)
    await decided.getByRole('link', { name: /^What happened/ }).click()

    await page.getByText(/^Succeeded after .* and 2 attempts\./).waitFor()
    await page
      .getByRole('img', { name: /Waiting for a person.*No sign of the worker.*Another one continued/ })
      .waitFor()
    const attempts = page.getByRole('region', { name: 'Attempts' })
    await attempts.getByText(/the worker stopped$/).waitFor()
    await attempts.getByText('find charge replayed').waitFor()
    await attempts.getByText('refund recorded').waitFor()
    await page.getByLabel('the result').getByText('asked twice with the same key: paid once').waitFor()
    await page.getByRole('region', { name: 'Steps and waits' }).getByText('mail', { exact: true }).waitFor()
    expect(errors).toEqual([])
    await desk.until(/asked twice with the same idempotency key, and paid once/)
    await desk.until(/42\.00 € are on their way/)
  } finally {
    await browser.close()
    await desk.stop()
  }
  const ledger = readFileSync(join(cwd, '.pawl/demo.db.ledger'), 'utf8').split('\n').filter(Boolean)
  const effects = ledger.map((line) => (JSON.parse(line) as { what: string }).what)
  expect(effects.filter((what) => what === 'refund' || what === 'mail')).toEqual(['refund', 'mail'])
})
