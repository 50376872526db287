// A real Chromium for tests of the console. The package brings the browser compressed, with the libraries it needs.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright } from 'playwright-core'

/** Flags of the package that would make the browser less strict than that of a person, or all of it one process. */
const unwanted = new Set(['--single-process', '--disable-web-security', '--allow-running-insecure-content'])

export async function openBrowser(): Promise<Browser> {
  const before = process.env.TMPDIR
  // Several test files unpack it at once, and each must find a whole file.
  process.env.TMPDIR = mkdtempSync(join(tmpdir(), 'chromium-'))
  const executablePath = await chromium.executablePath()
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  const args = chromium.args.filter((flag) => !unwanted.has(flag) && !flag.startsWith('--headless'))
  return playwright.launch({ executablePath, args, headless: true, timeout: 60_000 })
}
