// A real Chromium for tests of the console. The package brings the browser compressed, with the libraries it needs.

import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright } from 'playwright-core'
import { oncePerRun } from './once-per-run.ts'

/** Flags of the package that would make the browser less strict than that of a person, or all of it one process. */
const unwanted = new Set(['--single-process', '--disable-web-security', '--allow-running-insecure-content'])

export async function openBrowser(): Promise<Browser> {
  const folder = await oncePerRun('unpacked-chromium', unpackInto)
  const args = chromium.args.filter((flag) => !unwanted.has(flag) && !flag.startsWith('--headless'))
  return playwright.launch({ executablePath: join(folder, 'chromium'), args, headless: true, timeout: 60_000 })
}

/** The package unpacks into the temporary folder of the process. */
async function unpackInto(folder: string): Promise<void> {
  const before = process.env.TMPDIR
  process.env.TMPDIR = folder
  try {
    await chromium.executablePath()
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
  }
}
