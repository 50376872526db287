// `npm start`, which is `pawl serve --demo`: a refund waits, and a person approves it from a terminal, with curl's request,
// or by a signed link. A server that was killed shows the same request again.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { entries } from '../../src/cli/demo/services.ts'
import { pawl, startPawl } from '../kit/run-pawl.ts'

const folder = (): string => mkdtempSync(join(tmpdir(), 'pawl-serve-demo-'))
const found = (text: string, pattern: RegExp): string => pattern.exec(text)?.[1] ?? ''

type Decide = (shown: string, url: string, token: string) => Promise<void>

const ways: [name: string, by: string, decide: Decide][] = [
  [
    'pawl approve',
    'user:local',
    async (shown, url, token) => {
      const item = found(shown, /approve (\w+)/)
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

test.each(ways)('DOOR-1 DOOR-2 DOOR-5: npm start, approved with %s', { timeout: 120_000 }, async (_, by, decide) => {
  const cwd = folder()
  const first = startPawl({ cwd }, 'serve', '--demo', '--port', '0')
  await first.until('/decision')
  first.signal('SIGKILL')
  await first.ended
  const second = startPawl({ cwd }, 'serve', '--demo', '--port', '0')
  await second.until('nothing was lost')
  await second.until('/decision')
  const shown = second.shown()
  const url = found(shown, /url +(\S+)/)
  const token = found(shown, /token +(\S+)/)
  await decide(shown, url, token)
  await second.until('42.00 € are on their way')
  const audit = await fetch(`${url}/v1/audit`, { headers: { authorization: `Bearer ${token}` } })
  expect(await audit.json()).toMatchObject({
    events: expect.arrayContaining([
      expect.objectContaining({ type: 'decision.made', body: expect.objectContaining({ by, decision: 'approve' }) }),
    ]),
  })
  second.signal('SIGTERM')
  expect(await second.ended).toBe(0)
  process.env.LEDGER = join(cwd, '.pawl/demo.db.ledger')
  expect(entries().filter(({ what }) => what === 'refund')).toHaveLength(1)
  delete process.env.LEDGER
})
