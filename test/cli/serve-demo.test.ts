// `npm start`, approved from a terminal, and the browser that it opens. The slow tier has the other ways to approve.

import { expect, test, vi } from 'vitest'
import { browserCommand } from '../../src/cli/open-browser.ts'
import { hasTerminal, pawlInTerminal } from '../kit/run-pawl.ts'
import { approvedBy, fakeBrowser, folder, opensNoBrowser, timeout, ways } from './play-serve-demo.ts'

// The demo mostly waits, so these tests run at the same time.
test.concurrent('DOOR-1 DOOR-2 DOOR-5: npm start, approved with pawl approve', { timeout }, () =>
  approvedBy(ways['pawl approve']),
)

test
  .skipIf(!hasTerminal)
  .concurrent('DOOR-5: the demo opens the browser at its login address', { timeout }, async () => {
    const { path, opened } = fakeBrowser()
    const env = { DISPLAY: ':99', PATH: `${path}:${process.env.PATH}` }
    const desk = pawlInTerminal({ cwd: folder(), env }, 'serve', '--demo', '--port', '0')
    await desk.until('/decision')
    await vi.waitUntil(() => opened() !== '', { timeout: 30_000 })
    expect(opened()).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/login\?code=\S+$/)
    expect(desk.shown()).toContain(opened())
    desk.type('\u0003')
    await desk.ended
  })

test
  .skipIf(!hasTerminal)
  .concurrent('DOOR-5: the demo opens no browser in CI', { timeout }, () => opensNoBrowser({ CI: '1' }))

test('DOOR-5: a browser is opened only where a person would see it', () => {
  expect(browserCommand('linux', {})).toBe(null)
  expect(browserCommand('linux', { WAYLAND_DISPLAY: 'wayland-0' })).toEqual(['xdg-open'])
  expect(browserCommand('linux', { DISPLAY: ':0', CI: 'true' })).toBe(null)
  expect(browserCommand('darwin', {})).toEqual(['open'])
  expect(browserCommand('darwin', { SSH_TTY: '/dev/pts/1' })).toBe(null)
  expect(browserCommand('win32', {})?.[0]).toBe('rundll32')
})
