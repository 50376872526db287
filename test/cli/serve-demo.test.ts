// `npm start`, which is `pawl serve --demo`: a refund waits, and a person approves it from a terminal, with curl's request,
// or by a signed link. A server that was killed shows the same request again. The worker is killed while it pays.

import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { entries } from '../../src/cli/demo/services.ts'
import { browserCommand } from '../../src/cli/open-browser.ts'
import { hasTerminal, pawl, pawlInTerminal, startPawl } from '../kit/run-pawl.ts'

const timeout = 180_000
const folder = (): string => mkdtempSync(join(tmpdir(), 'pawl-serve-demo-'))
const found = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? ''

type Decide = (shown: string, url: string, token: string) => Promise<void>

const ways: [name: string, by: string, decide: Decide][] = [
  [
    'pawl approve',
    'user:local',
    async (shown, url, token) => {
      const item = found(shown, /-- approve (\w+)/)
      const { code } = await pawl({ cwd: folder(), env: { PAWL_URL: url, PAWL_TOKEN: token } }, 'approve', item)
      expect(code).toBe(0)
    },
  ],
  [
    'the request that curl sends',
    'user:local',
    async (shown, _, token) => {
      const response = await fetch(found(shown, /(http\S+\/decision)/), {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{"approve":true}',
      })
      expect(response.status).toBe(200)
    },
  ],
  [
    'a signed link',
    'user:bea',
    async (shown) => {
      const link = found(shown, /(http\S+\/decide\/\S+)/)
      expect(await (await fetch(link)).text()).toContain('Refund 42.00 € for order A1.')
      const response = await fetch(link, { method: 'POST', body: new URLSearchParams({ decision: 'approve' }) })
      expect(await response.text()).toContain('Approved.')
    },
  ],
]

test.each(ways)('DOOR-1 DOOR-2 DOOR-5: npm start, approved with %s', { timeout }, async (_, by, decide) => {
  const cwd = folder()
  const first = startPawl({ cwd }, 'serve', '--demo', '--port', '0')
  await first.until('/decision')
  first.signal('SIGKILL')
  await first.ended
  const second = startPawl({ cwd }, 'serve', '--demo', '--port', '0')
  await second.until('nothing was lost')
  await second.until('/decision')
  const shown = second.shown()
  const url = found(shown, /stays signed in at (\S+)/)
  const token = found(shown, /the token (\S+), until/)
  await decide(shown, url, token)
  await second.until(/kill -9 \d+ {2}The worker died: the money has moved/)
  await second.until(/Another worker, process \d+, takes over/)
  await second.until('42.00 € are on their way')
  const worker = Number(found(second.shown(), /Another worker, process (\d+)/))
  const audit = await fetch(`${url}/v1/audit`, { headers: { authorization: `Bearer ${token}` } })
  expect(await audit.json()).toMatchObject({
    events: expect.arrayContaining([
      expect.objectContaining({ type: 'decision.made', body: expect.objectContaining({ by, decision: 'approve' }) }),
    ]),
  })
  second.signal('SIGTERM')
  expect(await second.ended).toBe(0)
  // The worker ends with the server.
  expect(() => process.kill(worker, 0)).toThrow(/ESRCH/)
  process.env.LEDGER = join(cwd, '.pawl/demo.db.ledger')
  expect(entries().filter(({ what }) => what === 'refund')).toHaveLength(1)
  delete process.env.LEDGER
})

/** A folder with an `xdg-open` that writes its address to a file. */
function fakeBrowser(): { readonly path: string; opened(): string } {
  const path = folder()
  const file = join(path, 'opened')
  writeFileSync(join(path, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" > '${file}.new'; mv '${file}.new' '${file}'\n`)
  chmodSync(join(path, 'xdg-open'), 0o755)
  writeFileSync(file, '')
  return { path, opened: () => readFileSync(file, 'utf8') }
}

test.skipIf(!hasTerminal)('DOOR-5: the demo opens the browser at its login address', { timeout }, async () => {
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

test.skipIf(!hasTerminal).each<[string, Record<string, string>, string[]]>([
  ['in CI', { CI: '1' }, []],
  ['over SSH', { SSH_CONNECTION: '1' }, []],
  ['with --no-open', {}, ['--no-open']],
])('DOOR-5: the demo opens no browser %s', { timeout }, async (_, extra, flags) => {
  const { path, opened } = fakeBrowser()
  const env = { DISPLAY: ':99', PATH: `${path}:${process.env.PATH}`, ...extra }
  const desk = pawlInTerminal({ cwd: folder(), env }, 'serve', '--demo', '--port', '0', ...flags)
  await desk.until('/decision')
  desk.type('\u0003')
  await desk.ended
  expect(opened()).toBe('')
})

test('DOOR-5: a browser is opened only where a person would see it', () => {
  expect(browserCommand('linux', {})).toBe(null)
  expect(browserCommand('linux', { WAYLAND_DISPLAY: 'wayland-0' })).toEqual(['xdg-open'])
  expect(browserCommand('linux', { DISPLAY: ':0', CI: 'true' })).toBe(null)
  expect(browserCommand('darwin', {})).toEqual(['open'])
  expect(browserCommand('darwin', { SSH_TTY: '/dev/pts/1' })).toBe(null)
  expect(browserCommand('win32', {})?.[0]).toBe('rundll32')
})
