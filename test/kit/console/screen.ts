// A page of the console that is signed in, with what the tests of all screens look at.

import axe from 'axe-core'
import { type Browser, type Page } from 'playwright-core'
import { expect } from 'vitest'

export interface Screen {
  readonly page: Page
  /** Errors of the page, refused loads and requests to other hosts. */
  readonly errors: readonly string[]
  close(): Promise<void>
}

export interface ScreenOptions {
  readonly url: string
  readonly token: string
  readonly path?: string
  readonly width?: number
  readonly dark?: boolean
}

/** A safety net: a machine under load is slow. */
export const patience = 45_000

/** Every test has its own context: cookies and storage of its own. */
export async function openScreen(browser: Browser, options: ScreenOptions): Promise<Screen> {
  const { url, token, path = '/', width = 1280, dark = false } = options
  const context = await browser.newContext({
    viewport: { width, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
  })
  context.setDefaultTimeout(patience)
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('dialog', (dialog) => {
    errors.push(`A script opened a dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('console', (message) => {
    // The answer of a failed request, which the console shows itself.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) errors.push(message.text())
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith('data:')) errors.push(request.url())
  })
  if (token !== '') {
    const { hostname } = new URL(url)
    await context.addCookies([{ name: 'pawl_token', value: token, domain: hostname, path: '/', httpOnly: true }])
  }
  await page.goto(`${url}${path}`)
  return { page, errors, close: () => context.close() }
}

/** Fails with the rules that the page breaks, and where. */
export async function expectAccessible(page: Page): Promise<void> {
  await page.evaluate(axe.source)
  const found = await page.evaluate<{ id: string; nodes: { html: string; failureSummary: string }[] }[]>(
    `axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)`,
  )
  expect(found.map(({ id, nodes }) => [id, ...nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`)])).toEqual([]) // prettier-ignore
}

/** A phone shows the screen without scrolling to the side. */
export async function expectNoSidewaysScroll(page: Page, where?: string): Promise<void> {
  const root = 'document.scrollingElement'
  expect(await page.evaluate<number>(`${root}.scrollWidth - ${root}.clientWidth`), where).toBe(0)
}
