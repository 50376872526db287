// Decisions in a chat request count only with the right to decide, and only in the own tenant.

import { createRuntime, type Role } from 'pawl'
import { createServer } from 'pawl/server'
import { scriptedModel } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { roleNames, tenantNames, tokenOf } from '../../kit/server/server-app.ts'
import { serverTools, type ToolLedger } from '../../kit/server/server-tools.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

test('POL-3 DOOR-1: an approval in a chat request needs the right to decide, in the tenant', async () => {
  const ledger: ToolLedger = { entries: [], keys: new Map() }
  const call = { name: 'refund', input: { order: 'A1', cents: 1 } }
  const runtime = await createRuntime({
    store: 'memory:',
    logger: quiet,
    tools: serverTools(ledger),
    models: [scriptedModel([{ call }, 'Done.'], { name: 'm' })],
  })
  const server = createServer(runtime, {
    turn: { model: 'm' },
    tokens: tenantNames.flatMap((tenant) =>
      roleNames.map((role) => ({
        token: tokenOf(tenant, role),
        roles: [role],
        tenant,
        principal: `user:${tenant}-${role}`,
      })),
    ),
  })
  const post = async (tenant: 'acme' | 'rival', role: Role, messages: readonly object[]): Promise<Response> => {
    const response = await server.fetch(
      new Request('http://localhost/v1/sessions/s/chat', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${tokenOf(tenant, role)}` },
        body: JSON.stringify({ id: 's', messages }),
      }),
    )
    await response.text()
    return response
  }
  const user = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Refund A1' }] }
  expect((await post('acme', 'caller', [user])).status).toBe(200)
  const [item] = await runtime.inbox({ tenant: 'acme' })
  const [, answer] = await runtime.session('s', { tenant: 'acme' }).turns.uiMessages()
  const part = {
    type: 'tool-refund',
    toolCallId: item?.callId,
    state: 'approval-responded',
    input: call.input,
    approval: { id: item?.id, approved: true },
  }
  const approved = [user, { id: answer?.id, role: 'assistant', parts: [{ type: 'step-start' }, part] }]
  for (const role of ['viewer', 'approver'] as const) expect((await post('acme', role, approved)).status).toBe(403)
  await post('acme', 'caller', approved)
  for (const role of roleNames) await post('rival', role, approved)
  expect(await runtime.inbox({ tenant: 'acme' })).toHaveLength(1)
  expect(ledger.entries).toEqual([])
  expect((await post('acme', 'operator', approved)).status).toBe(200)
  await vi.waitUntil(() => ledger.entries.length > 0, { interval: 1, timeout: 10_000 })
  expect(ledger.entries).toHaveLength(1)
  server.close()
  await runtime.close({ grace: 0 })
})
