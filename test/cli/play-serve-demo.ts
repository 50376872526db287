// Plays `npm start`, which is `pawl serve --demo`: a refund waits, and a person approves it. A server that was killed shows
// the same request again. The worker is killed while it pays.

import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { entries } from '../../src/cli/demo/services.ts'
import { pawl, pawlInTerminal, startPawl } from '../kit/run-pawl.ts'

export const timeout = 180_000
export const folder = (): string => mkdtempSync(join(tmpdir(), 'pawl-serve-demo-'))
const found = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? ''

type Decide = (shown: string, url: string, token: string) => Promise<void>

interface Way {
  /** Who is recorded. */
  readonly by: string
  readonly decide: Decide
}

/** How a person approves. */
export const ways = {
  'pawl approve': {
    by: 'user:local',
    decide: async (shown, url, token) => {
      const item = found(shown, /-- approve (\w+)/)
      const { code } = await pawl({ cwd: folder(), env: { PAWL_URL: url, PAWL_TOKEN: token } }, 'approve', item)
      expect(code).toBe(0)
    },
  },
  'the request that curl sends': {
    by: 'user:local',
    decide: async (shown, _, token) => {
      const response = await fetch(found(shown, /(http\S+\/decision)/), {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{"approve":true}',
      })
      expect(response.status).toBe(200)
    },
  },
  'a signed link': {
    by: 'user:bea',
    decide: async (shown) => {
      const link = found(shown, /(http\S+\/decide\/\S+)/)
      expect(await (await fetch(link)).text()).toContain('Refund 42.00 € for order A1.')
      const response = await fetch(link, { method: 'POST', body: new URLSearchParams({ decision: 'approve' }) })
      expect(await response.text()).toContain('Approved.')
    },
  },
} satisfies Readonly<Record<string, Way>>

export async function approvedBy({ by, decide }: Way): Promise<void> {
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
}

/** A folder with an `xdg-open` that writes its address to a file. */
export function fakeBrowser(): { readonly path: string; opened(): string } {
  const path = folder()
  const file = join(path, 'opened')
  writeFileSync(join(path, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" > '${file}.new'; mv '${file}.new' '${file}'\n`)
  chmodSync(join(path, 'xdg-open'), 0o755)
  writeFileSync(file, '')
  return { path, opened: () => readFileSync(file, 'utf8') }
}

export async function opensNoBrowser(extra: Record<string, string>, flags: readonly string[] = []): Promise<void> {
  const { path, opened } = fakeBrowser()
  const env = { DISPLAY: ':99', PATH: `${path}:${process.env.PATH}`, ...extra }
  const desk = pawlInTerminal({ cwd: folder(), env }, 'serve', '--demo', '--port', '0', ...flags)
  await desk.until('/decision')
  desk.type('\u0003')
  await desk.ended
  expect(opened()).toBe('')
}
