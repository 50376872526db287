// The gateway as a process: what is on its pipes, how it ends, and servers that are missing or changed.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { gatewayFolder, startHost, textOf, until } from '../../kit/mcp/gateway-host.ts'
import { alive } from '../../kit/processes/process-trees.ts'
import { environment, main, node, pawl } from '../../kit/run-pawl.ts'

const ledgerServer = join(import.meta.dirname, '../../kit/mcp/child-ledger-server.ts')

/** An entry of the ledger server; its processes carry the marker. */
const ledger = (folder: string, more: object = {}) => ({
  command: node,
  args: ['--conditions=@pawl/source', ledgerServer, join(folder, 'ledger')],
  env: { GATEWAY_TEST: folder },
  ...more,
})

function ledgerFolder(more: object = {}, policy?: object): string {
  const folder = gatewayFolder()
  const mcpServers = { ledger: ledger(folder, more) }
  writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers, ...(policy ? { policy } : {}) }))
  return folder
}

const message = (id: number | null, method: string, params: object = {}): string =>
  `${JSON.stringify({ jsonrpc: '2.0', ...(id === null ? {} : { id }), method, params })}\n`

const initialize = message(1, 'initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
})

/** The gateway on plain pipes. */
function startRaw(cwd: string, ...args: string[]) {
  const command = ['--conditions=@pawl/source', main, 'mcp', ...args]
  const child = spawn(node, command, { cwd, env: environment(), stdio: 'pipe' })
  const shown = { out: '', err: '' }
  child.stdout.on('data', (chunk: Buffer) => (shown.out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (shown.err += chunk.toString()))
  child.stdin.on('error', () => {})
  const ended = once(child, 'close').then(([code]) => code as number)
  return { child, shown, ended }
}

describe('the pipes', { timeout: 60_000 }, () => {
  test('MCP-2: every line on stdout is a message of MCP, also when things go wrong', async () => {
    const cwd = gatewayFolder({
      broken: { command: 'no-such-program-anywhere' },
      chatty: { command: 'echo', args: ['hi'] },
    })
    const { child, shown, ended } = startRaw(cwd, '--config', 'servers.json')
    child.stdin.write(initialize + message(null, 'notifications/initialized'))
    child.stdin.write(message(2, 'tools/call', { name: 'no_such_tool', arguments: {} }))
    child.stdin.write('this is no JSON\n')
    child.stdin.write(message(3, 'tools/list'))
    await until(() => shown.out.includes('"id":3'))
    child.stdin.end()
    expect(await ended).toBe(0)
    const lines = shown.out.trim().split('\n')
    for (const line of lines) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' })
    expect(shown.err).toContain("Provider 'broken'")
  })

  test('MCP-2: --json and a missing file are refused with an exit code, and stdout stays empty', async () => {
    const cwd = gatewayFolder({})
    expect(await pawl({ cwd }, 'mcp', '--config', 'servers.json', '--json')).toMatchObject({ code: 2, out: '' })
    expect(await pawl({ cwd }, 'mcp', '--config', 'other.json')).toMatchObject({ code: 3, out: '' })
    const none = await pawl({ cwd }, 'mcp')
    expect(none).toMatchObject({ code: 3, out: '', err: expect.stringContaining('.pawl/servers.json') })
    expect(await pawl({ cwd }, 'mcp', 'wrap')).toMatchObject({ code: 2, out: '' })
  })
})

describe('the end', { timeout: 60_000 }, () => {
  test.for([
    ['stdin closes', 0],
    ['SIGTERM', 143],
  ] as const)('MCP-2: when %s the gateway ends, and its servers with it', async ([how, code]) => {
    const cwd = ledgerFolder()
    const { child, shown, ended } = startRaw(cwd, '--config', 'servers.json')
    child.stdin.write(initialize + message(null, 'notifications/initialized') + message(2, 'tools/list'))
    await until(() => shown.out.includes('ledger__append'))
    expect(alive(`GATEWAY_TEST=${cwd}`).length).toBeGreaterThan(0)
    if (how === 'SIGTERM') child.kill('SIGTERM')
    else child.stdin.end()
    expect(await ended).toBe(code)
    await until(() => alive(`GATEWAY_TEST=${cwd}`).length === 0)
  })
})

describe('servers that are missing, disabled or changed', { timeout: 60_000 }, () => {
  test('MCP-2: without a variable only its server is off, and a message names both', async () => {
    const cwd = gatewayFolder()
    const mcpServers = {
      ledger: ledger(cwd),
      secret: ledger(cwd, { env: { TOKEN: '${PAWL_TEST_MISSING}' } }),
      off: { command: 'x', disabled: true },
    }
    writeFileSync(join(cwd, 'servers.json'), JSON.stringify({ mcpServers }))
    const { client, stderr } = await startHost(cwd, ['--config', 'servers.json'])
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).toContain('ledger__append')
    expect(names.filter((name) => name.startsWith('secret'))).toEqual([])
    expect(stderr()).toContain("Server 'secret' is not used: ${PAWL_TEST_MISSING} is not set")
    const { code, out } = await pawl({ cwd }, 'mcp', 'servers', '--config', 'servers.json', '--json')
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject([
      { name: 'ledger', state: 'connected', tools: [{ name: 'ledger__append' }, { name: 'ledger__peek' }] },
      { name: 'secret', state: 'incomplete' },
      { name: 'off', state: 'disabled' },
    ])
  })

  test('MCP-2: a server that does not start is listed with its reason, and exit code 1', async () => {
    const cwd = gatewayFolder({ broken: { command: 'no-such-program-anywhere' } })
    const { code, out } = await pawl({ cwd }, 'mcp', 'servers', '--config', 'servers.json')
    expect([code, out]).toEqual([1, expect.stringMatching(/broken\s+unavailable[^]*no-such-program-anywhere/)])
  })

  test('MCP-2: the reason of an address that cannot be reached is shown', async () => {
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const { port } = free.address() as AddressInfo
    await new Promise((resolve) => free.close(resolve))
    const cwd = gatewayFolder({ away: { url: `http://127.0.0.1:${port}/mcp` } })
    const { code, out } = await pawl({ cwd }, 'mcp', 'servers', '--config', 'servers.json')
    expect([code, out]).toEqual([1, expect.stringContaining('It cannot be reached: connect ECONNREFUSED 127.0.0.1')])
  })

  test('POL-9: a changed definition is not run until a person has read the difference', async () => {
    const cwd = ledgerFolder({ trusted: true })
    const run = (...args: string[]) => pawl({ cwd }, 'mcp', ...args)
    const before = await run('servers', '--config', 'servers.json')
    expect([before.code, before.out]).toEqual([0, expect.stringMatching(/reads\s+ledger__peek/)])
    const inputSchema = { type: 'object', properties: { line: { type: 'string' } }, required: ['line'] }
    const changed = {
      name: 'peek',
      description: 'Reads \u001b[2Jall.',
      inputSchema,
      annotations: { readOnlyHint: true },
    }
    writeFileSync(join(cwd, 'ledger.tools.json'), JSON.stringify([changed]))
    const { client } = await startHost(cwd, ['--config', 'servers.json'])
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names.filter((name) => name.startsWith('ledger'))).toEqual([])
    const refused = await client.callTool({ name: 'ledger__peek', arguments: { line: 'x' } })
    expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining('until a person accepts it')])
    const shown = await run('servers', '--config', 'servers.json')
    expect([shown.code, shown.out]).toEqual([1, expect.stringMatching(/quarantined[^]*Reads/)])
    expect(shown.out).not.toContain('\u001b[2J')
    const [, command = ''] = /pawl mcp (accept .*)/.exec(shown.out) ?? []
    expect(await run(...command.split(' '))).toMatchObject({ code: 2 })
    const wrong = await run('accept', 'ledger', 'ledger__peek', '--fingerprint', 'other', '--yes')
    expect(wrong).toMatchObject({ code: 6 })
    const { code, out } = await run(...command.split(' '), '--yes', '--json')
    expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ provider: 'ledger' })])
    const result = await until(async () => {
      const called = await client.callTool({ name: 'ledger__peek', arguments: { line: 'x' } }).catch(() => undefined)
      return called && textOf(called).includes('peek done') ? called : undefined
    })
    expect(result.isError).not.toBe(true)
  })
})

test('MCP-2: the gateway uses the store of its servers file and runs no code of its folder', async () => {
  const home = gatewayFolder({})
  const cwd = gatewayFolder()
  writeFileSync(
    join(cwd, 'pawl.config.mjs'),
    `import { writeFileSync } from 'node:fs'; writeFileSync('executed', ''); export default {}`,
  )
  const { client } = await startHost(cwd, ['--config', join(home, 'servers.json')])
  await client.listTools()
  expect([
    existsSync(join(home, '.pawl/pawl.db')),
    existsSync(join(cwd, '.pawl')),
    existsSync(join(cwd, 'executed')),
  ]).toEqual([true, false, false])
})

test('MCP-2: pawl mcp servers shows no secrets of arguments, variables and headers', async () => {
  const secret = 'sk-secret-0123456789'
  const cwd = gatewayFolder({
    stdio: { command: 'no-such-program', args: ['--api-key', secret], env: { TOKEN: secret } },
    http: { url: `http://127.0.0.1:9/mcp?key=${secret}`, headers: { Authorization: `Bearer ${secret}` } },
  })
  for (const format of [[], ['--json']]) {
    const { code, out, err } = await pawl({ cwd }, 'mcp', 'servers', '--config', 'servers.json', ...format)
    expect([code, out.includes('no-such-program'), (out + err).includes(secret)]).toEqual([1, true, false])
  }
})

describe('the policy of the file', { timeout: 60_000 }, () => {
  test('POL-1: its rules allow and deny', async () => {
    const rules = [
      { tool: 'ledger__peek', then: 'allow' },
      { tool: 'ledger__append', then: 'deny', reason: 'The ledger is closed.' },
    ]
    const cwd = ledgerFolder({}, { rules })
    const { client } = await startHost(cwd, ['--config', 'servers.json'])
    const allowed = await client.callTool({ name: 'ledger__peek', arguments: { line: 'x' } })
    const denied = await client.callTool({ name: 'ledger__append', arguments: { line: 'x' } })
    expect([textOf(allowed), denied.isError, textOf(denied)]).toEqual([
      'peek done',
      true,
      expect.stringContaining('The ledger is closed.'),
    ])
    expect(() => readFileSync(join(cwd, 'ledger'))).toThrow('ENOENT')
  })

  test('POL-1: a mistake in a rule names the file and the rule', async () => {
    const cwd = ledgerFolder({}, { rules: [{ tool: 'x', then: 'alow' }] })
    const { code, err } = await pawl({ cwd }, 'mcp', '--config', 'servers.json')
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(/servers\.json: .*policy\.rules\[0\].*did you mean 'allow'/s),
    ])
  })
})

test('MCP-1: pawl mcp serve has the tools of the project', { timeout: 60_000 }, async () => {
  const { shopProject } = await import('../../kit/run-pawl.ts')
  const { client } = await startHost(shopProject(), ['serve'])
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(['look_up_order', 'refund']))
  const found = await client.callTool({ name: 'look_up_order', arguments: { order: 'A1' } })
  expect(textOf(found)).toContain('4200')
})
