// Commands in a terminal beside a running gateway: remembered approvals, the feed, and a gateway that ended.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type FormAnswer, gatewayFolder, startHost, textOf } from '../../kit/mcp/gateway-host.ts'
import { node, pawl, startPawl } from '../../kit/run-pawl.ts'

const ledgerServer = join(import.meta.dirname, '../../kit/mcp/child-ledger-server.ts')

function ledgerFolder(): string {
  const folder = gatewayFolder()
  const args = ['--conditions=@pawl/source', ledgerServer, join(folder, 'ledger')]
  writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: { ledger: { command: node, args } } }))
  return folder
}

const peek = (line: string) => ({ name: 'ledger__peek', arguments: { line } })

test(
  'POL-3: always is listed by pawl rules, and the tool asks again once it is revoked',
  { timeout: 90_000 },
  async () => {
    const cwd = ledgerFolder()
    const answers: FormAnswer[] = [{ action: 'accept', content: { decision: 'always' } }, { action: 'decline' }]
    const onForm = (): FormAnswer => answers.shift() ?? { action: 'cancel' }
    const { client } = await startHost(cwd, ['--config', 'servers.json'], { onForm })
    const store = ['--store', `sqlite:${join(cwd, '.pawl/pawl.db')}`]
    for (const line of ['first', 'second']) expect(textOf(await client.callTool(peek(line)))).toContain('peek done')
    expect(answers).toHaveLength(1)

    const listed = await pawl({ cwd }, 'rules', ...store)
    expect([listed.code, listed.out]).toEqual([0, expect.stringMatching(/ledger__pe(ek|…)\s+approve\s+mcp:user:/)])
    const [rule] = JSON.parse((await pawl({ cwd }, 'rules', ...store, '--json')).out) as { id: string }[]
    const revoked = await pawl({ cwd }, 'rules', 'revoke', rule?.id ?? '', ...store)
    expect([revoked.code, revoked.out]).toEqual([0, expect.stringContaining('Revoked')])
    expect(textOf(await client.callTool(peek('third')))).toContain('A person denied this call')
    expect(answers).toHaveLength(0)

    const tail = startPawl({ cwd }, 'tail', '--all', ...store)
    await tail.until('denied_by_person')
    tail.signal('SIGINT')
    await tail.ended
    expect(tail.shown()).toContain('ledger__peek')
    expect(tail.shown()).not.toContain('pawl:mcp-')
  },
)

test('MCP-2: without its gateway, an approved call and pawl health name the gateway', { timeout: 90_000 }, async () => {
  const cwd = ledgerFolder()
  const inputSchema = { type: 'object', properties: { line: { type: 'string' } } }
  const annotations = { destructiveHint: true }
  writeFileSync(join(cwd, 'ledger.tools.json'), JSON.stringify([{ name: 'peek', inputSchema, annotations }]))
  const { client } = await startHost(cwd, ['--config', 'servers.json'])
  expect(textOf(await client.callTool(peek('later')))).toContain('[Pending]')
  await client.close()
  const store = ['--store', `sqlite:${join(cwd, '.pawl/pawl.db')}`]
  const [item] = JSON.parse((await pawl({ cwd }, 'inbox', ...store, '--json')).out) as { id: string; effect: string }[]
  const effect = "It can have effects that cannot be undone and comes from 'ledger', which is not trusted."
  expect(item?.effect).toBe(effect)
  const health = await pawl({ cwd }, 'health', ...store)
  expect(health.out).toContain("the MCP gateway that has 'ledger__peek' of the provider 'ledger'")
  const approved = await pawl({ cwd }, 'approve', item?.id ?? '', ...store)
  expect([approved.code, approved.err]).toEqual([0, expect.stringContaining('its MCP gateway')])
})

test('MCP-2: pawl mcp servers marks the tools of a server that is not trusted', { timeout: 60_000 }, async () => {
  const { code, out } = await pawl({ cwd: ledgerFolder() }, 'mcp', 'servers', '--config', 'servers.json')
  expect([code, out]).toEqual([0, expect.stringMatching(/unverified\s+ledger__peek[^]*"trusted": true/)])
})
