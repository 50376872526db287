// What files with tests of the console share: one browser and one server for the file, and a page for each test, which
// must not report an error.

import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { openBrowser } from './browser.ts'
import { adminToken, buildConsole, type ConsoleApp, type ConsoleAppOptions, openConsoleApp } from './console-app.ts'
import { openScreen, patience, type Screen, type ScreenOptions } from './screen.ts'

/** Of a test that opens several pages. */
export const timeout = 2 * patience

export interface ConsoleSuite {
  readonly app: ConsoleApp
  readonly browser: Browser
  /** The folder of the built console. */
  readonly folder: string
  /** Opens a page as the admin, or with another token. */
  open(path: string, more?: Partial<Omit<ScreenOptions, 'path'>>): Promise<Page>
}

/** `prepare` runs before the server starts, beside the start of the browser. */
export function consoleSuite(
  options: Omit<ConsoleAppOptions, 'console'>,
  prepare: () => Promise<unknown> = () => Promise.resolve(),
): ConsoleSuite {
  const screens: Screen[] = []
  let browser: Browser
  let app: ConsoleApp
  let folder: string
  beforeAll(async () => {
    ;[folder, browser] = await Promise.all([buildConsole(), openBrowser(), prepare()])
    app = await openConsoleApp({ ...options, console: folder })
  }, timeout)
  afterEach(async () => {
    for (const { close, errors } of screens.splice(0)) {
      await close()
      expect(errors).toEqual([])
    }
  })
  afterAll(async () => {
    await browser?.close()
    await app?.close()
  })
  return {
    get app() {
      return app
    },
    get browser() {
      return browser
    },
    get folder() {
      return folder
    },
    async open(path, more = {}) {
      const screen = await openScreen(browser, { url: app.url, token: adminToken, path, ...more })
      screens.push(screen)
      return screen.page
    },
  }
}
