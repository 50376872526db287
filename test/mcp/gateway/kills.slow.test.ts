// SIGKILL of a server, of the gateway and of the host in the middle of a call: no effect happens twice, and every call
// has a record.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { gatewayFolder, isAlive, serverBin, startHost, textOf, until } from '../../kit/mcp/gateway-host.ts'
import { alive } from '../../kit/processes/process-trees.ts'
import { node, pawl } from '../../kit/run-pawl.ts'

const ledgerServer = join(import.meta.dirname, '../../kit/mcp/child-ledger-server.ts')

const allowed = [{ tool: 'ledger__append', then: 'allow' }] as const
function ledgerFolder(rules: readonly object[] = allowed): string {
  const folder = gatewayFolder()
  const args = ['--conditions=@pawl/source', ledgerServer, join(folder, 'ledger')]
  const policy = { rules }
  writeFileSync(
    join(folder, 'servers.json'),
    JSON.stringify({ mcpServers: { ledger: { command: node, args, env: { GATEWAY_TEST: folder } } }, policy }),
  )
  return folder
}

/** The lines of the ledger with the process that wrote them. */
const effects = (folder: string): { line: string; pid: number }[] =>
  existsSync(join(folder, 'ledger'))
    ? readFileSync(join(folder, 'ledger'), 'utf8')
        .trim()
        .split('\n')
        .map((row) => ({ line: row.split(' ')[0] ?? '', pid: Number(row.split(' ')[1]) }))
    : []

interface RecordedCall {
  readonly name: string
  readonly outcome: { readonly status: string } | null
}

async function recorded(cwd: string, tool = 'ledger__append'): Promise<RecordedCall[]> {
  const sessions = JSON.parse((await pawl({ cwd }, 'sessions', '--json')).out) as { session: string }[]
  const calls = await Promise.all(
    sessions.map(async ({ session }) => {
      const { out } = await pawl({ cwd }, 'sessions', session, '--json')
      return (JSON.parse(out) as { calls: RecordedCall[] }).calls
    }),
  )
  return calls.flat().filter(({ name }) => name === tool)
}

const append = { name: 'ledger__append', arguments: { line: 'one' } }
const options = { timeout: 100_000, onprogress: () => {} }
const start = (cwd: string) => startHost(cwd, ['--config', 'servers.json'])

describe('a kill in the middle of a call', { timeout: 180_000 }, () => {
  test('MCP-2: of the server, and the call is not run again', async () => {
    const cwd = ledgerFolder()
    const { client } = await start(cwd)
    const called = client.callTool(append, options)
    const [effect] = await until(() => (effects(cwd).length > 0 ? effects(cwd) : undefined))
    process.kill(effect?.pid ?? 0, 'SIGKILL')
    const result = await called
    expect([result.isError, textOf(result)]).toEqual([true, expect.stringMatching(/not known|may have/i)])
    expect(effects(cwd)).toHaveLength(1)
    expect(await recorded(cwd)).toMatchObject([{ outcome: { status: 'unknown' } }])
    // The server starts again for the next call.
    writeFileSync(join(cwd, 'ledger.go'), '')
    const next = await client.callTool({ ...append, arguments: { line: 'two' } }, options)
    expect(textOf(next)).toBe('append done')
    expect(effects(cwd).map(({ line }) => line)).toEqual(['one', 'two'])
  })

  test('MCP-3: of the gateway, and the re-issued call is not run again', async () => {
    const cwd = ledgerFolder()
    const first = await start(cwd)
    const lost = first.client.callTool(append, options).catch((error: Error) => error)
    const [effect] = await until(() => (effects(cwd).length > 0 ? effects(cwd) : undefined))
    process.kill(first.pid, 'SIGKILL')
    expect(await lost).toBeInstanceOf(Error)
    // Its server has lost its stdin.
    await until(() => !isAlive(effect?.pid ?? 0))
    writeFileSync(join(cwd, 'ledger.go'), '')
    const second = await start(cwd)
    const result = await second.client.callTool(append, options)
    expect([result.isError, textOf(result)]).toEqual([true, expect.stringMatching(/not known|may have/i)])
    expect(effects(cwd)).toHaveLength(1)
    expect(await recorded(cwd)).toMatchObject([{ outcome: { status: 'unknown' } }])
  })

  test('MCP-3: of the host, and the re-issued call is not run again', async () => {
    const cwd = ledgerFolder()
    const child = join(import.meta.dirname, '../../kit/mcp/child-host.ts')
    const { spawn } = await import('node:child_process')
    const host = spawn(node, ['--conditions=@pawl/source', child, cwd], { stdio: 'inherit' })
    const [effect] = await until(() => (effects(cwd).length > 0 ? effects(cwd) : undefined))
    host.kill('SIGKILL')
    await until(() => !isAlive(effect?.pid ?? 0))
    writeFileSync(join(cwd, 'ledger.go'), '')
    const { client } = await start(cwd)
    const result = await client.callTool(append, options)
    expect(textOf(result)).toMatch(/not known|may have/i)
    expect(effects(cwd)).toHaveLength(1)
    expect(await recorded(cwd)).toMatchObject([{ outcome: { status: 'unknown' } }])
  })
})

describe('a kill while a call waits for a person', { timeout: 180_000 }, () => {
  test('POL-4: of the gateway: the approval survives, and the next gateway runs the call once', async () => {
    const cwd = ledgerFolder([])
    const first = await start(cwd)
    const lost = first.client.callTool(append, options).catch((error: Error) => error)
    const [item] = await until(async () => {
      const { code, out } = await pawl({ cwd }, 'inbox', '--json')
      const items = code === 0 ? (JSON.parse(out) as { id: string }[]) : []
      return items.length > 0 ? items : undefined
    })
    process.kill(first.pid, 'SIGKILL')
    expect(await lost).toBeInstanceOf(Error)
    expect(await pawl({ cwd }, 'approve', item?.id ?? '')).toMatchObject({ code: 0 })
    expect(effects(cwd)).toEqual([])
    writeFileSync(join(cwd, 'ledger.go'), '')
    const second = await start(cwd)
    await until(() => effects(cwd).length > 0 || undefined)
    const result = await second.client.callTool(append, options)
    expect(textOf(result)).toBe('append done')
    expect(effects(cwd)).toHaveLength(1)
    expect(await recorded(cwd)).toMatchObject([{ outcome: { status: 'success' } }])
  })
})

describe('a kill in the middle of a call of server-everything', { timeout: 180_000 }, () => {
  test.for(['server', 'gateway'] as const)(
    'MCP-2: of the %s: the call has a record, and the next one works',
    async (victim) => {
      const cwd = gatewayFolder()
      const entry = { command: node, args: [serverBin('everything')], env: { GATEWAY_TEST: cwd } }
      const policy = { rules: [{ tool: 'all__*', then: 'allow' }] }
      writeFileSync(join(cwd, 'servers.json'), JSON.stringify({ mcpServers: { all: entry }, policy }))
      const first = await start(cwd)
      let progress = 0
      const long = { name: 'all__trigger-long-running-operation', arguments: { duration: 600, steps: 600 } }
      const lost = first.client
        .callTool(long, { timeout: 100_000, onprogress: () => void (progress += 1) })
        .catch((error: Error) => error)
      await until(() => progress > 0 || undefined)
      const servers = alive(`GATEWAY_TEST=${cwd}`)
      expect(servers.length).toBeGreaterThan(0)
      for (const pid of victim === 'server' ? servers : [first.pid]) process.kill(pid, 'SIGKILL')
      const end = await lost
      expect(end instanceof Error || end.isError === true).toBe(true)
      await until(() => servers.every((pid) => !isAlive(pid)) || undefined)
      const { client } = victim === 'server' ? first : await start(cwd)
      const echoed = await client.callTool({ name: 'all__echo', arguments: { message: 'again' } })
      expect(textOf(echoed)).toContain('again')
      const [call] = await until(async () => {
        const found = await recorded(cwd, long.name)
        return found[0]?.outcome ? found : undefined
      })
      expect(['unknown', 'failure']).toContain(call?.outcome?.status)
    },
  )
})
