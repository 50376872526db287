// `pawl` against a server of a newer release: kinds, roles, states and fields that it does not know.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { pawl, projectFolder } from '../kit/run-pawl.ts'

const item = {
  id: 'item-0001',
  kind: 'review',
  verbs: ['approve', 'defer'],
  tenant: 'default',
  session: 's',
  principal: null,
  tool: 'refund',
  title: 'Refund',
  args: {},
  preview: { summary: 'Refunds an order', score: 1 },
  effect: 'Destructive.',
  reason: 'A rule asks.',
  fingerprint: 'f',
  quorum: 1,
  approvals: [],
  separate: false,
  approvers: [],
  askedAt: 1,
  expiresAt: 2e12,
  call: 'c',
  callId: 'c',
  under: [],
  deputies: ['user:bea'],
}
const token = { name: 'n', roles: ['auditor'], tenant: null, principal: 'p', createdAt: 1, expiresAt: null }
const answers: Readonly<Record<string, unknown>> = {
  '/v1/inbox': [item],
  '/v1/tokens': [{ id: 't', revokedAt: null, createdBy: null, lastUsedAt: 1, ...token }],
}

test('DOOR-2: the inbox and tokens of a newer server are shown', { timeout: 60_000 }, async () => {
  const server = createServer((request, response) => {
    const answer = answers[request.url?.split('?')[0] ?? '']
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const there = {
    cwd: projectFolder(),
    env: { PAWL_URL: `http://127.0.0.1:${port}`, PAWL_TOKEN: 'token-of-the-test' },
  }
  try {
    for (const [args, shown] of [
      [['inbox'], 'review'],
      [['inbox', 'item-0001'], 'review'],
      [['tokens'], 'auditor'],
    ] as const) {
      const { code, out, err } = await pawl(there, ...args)
      expect([code, err.includes('error')], err).toEqual([0, false])
      expect(out).toContain(shown)
    }
  } finally {
    server.close()
  }
})
