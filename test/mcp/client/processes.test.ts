import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PawlError } from 'pawl'
import { mcpProvider } from 'pawl/mcp'
import { expect, test, vi } from 'vitest'
import { HostileServer, isAlive } from '../../kit/mcp/hostile-server.ts'
import {
  atEnd,
  callOne,
  freshFolder,
  logged,
  logger,
  openHostile,
  openWith,
  plainTool,
  safetyNet,
} from '../../kit/mcp/open-mcp.ts'

const bin = (name: string): string => join(import.meta.dirname, '../../../node_modules/.bin', name)

const withEnv = (name: string, value: string): void => {
  process.env[name] = value
  atEnd(() => delete process.env[name])
}

test('MCP-2: a server gets only the listed variables and those of its entry', async () => {
  withEnv('PAWL_TEST_PRIVATE', 'must-not-be-inherited')
  withEnv('PAWL_TEST_TOKEN', 'tok-4f9a8b7c6d5e')
  const env = { API_TOKEN: '${PAWL_TEST_TOKEN}', MODE: 'plain' }
  const { runtime } = await openHostile({ tools: [plainTool('env')], calls: { env: { env: true } } }, { env })
  const outcome = await callOne(runtime, 'h__env')
  const seen = JSON.parse(outcome.value as string) as Record<string, string>
  expect(seen).toMatchObject({ MODE: 'plain', PATH: process.env.PATH })
  expect(seen.PAWL_TEST_PRIVATE).toBeUndefined()
  expect(Object.keys(seen).filter((name) => name.startsWith('VITEST'))).toEqual([])
})

test('MCP-2: values of references are redacted from results, errors and resources', async () => {
  withEnv('PAWL_TEST_TOKEN', 'tok-4f9a8b7c6d5e')
  const script = {
    tools: [plainTool('env')],
    calls: { env: { env: true } },
    resources: [{ uri: 'x://env', name: 'env tok-4f9a8b7c6d5e' }],
  } as const
  const { runtime, provider } = await openHostile(script, { env: { API_TOKEN: '${PAWL_TEST_TOKEN}' } })
  const outcome = await callOne(runtime, 'h__env')
  const parts = JSON.stringify(outcome.parts)
  expect(parts).toContain('API_TOKEN')
  expect(parts).not.toContain('tok-4f9a8b7c6d5e')
  expect(JSON.stringify(await provider.content.listResources())).toContain('env [redacted]')
  expect(JSON.stringify(await provider.content.readResource('x://env'))).not.toContain('tok-4f9a8b7c6d5e')
})

test('MCP-2: a reference to a variable that is not set is an error that names it', () => {
  const start = (): unknown => mcpProvider('h', { command: 'x', env: { TOKEN: 'Bearer ${PAWL_TEST_MISSING}' } })
  expect(start).toThrow(PawlError)
  expect(start).toThrow(
    'The MCP server "h": `env.TOKEN` refers to the environment variable PAWL_TEST_MISSING, which is not set.',
  )
})

test.each([
  [{}, 'exactly one of `command` and `url`'],
  [{ command: 'a', url: 'http://x' }, 'exactly one of `command` and `url`'],
  [{ url: 'ftp://x' }, 'must begin with https:// or http://'],
  [{ url: 'https://user:pass@x' }, 'contains a password'],
  [{ url: 'https://x', headers: { 'a b': 'secret-value' } }, 'that HTTP does not allow'],
  [{ command: 'a', headers: {} }, '`headers` is only for a server with `url`'],
  [{ url: 'https://x', args: [] }, '`args` is only for a server with `command`'],
  [{ command: 'a', prefix: 'a b' }, '`prefix`'],
  [{ command: 'a', comand: 'b' }, 'comand'],
] as const)('MCP-2: the entry %j is refused', (config, why) => {
  expect(() => mcpProvider('h', config)).toThrow(why)
  expect(() => mcpProvider('h', config)).not.toThrow('secret-value')
})

test('MCP-2: a server that cannot start is tried again, and its errors say why', async () => {
  const exitAtStart = { code: 7, stderr: 'first\n\u001b[31mNo license key\u0007\n' }
  const { runtime, server } = await openHostile({ tools: [plainTool('t')], exitAtStart })
  expect(runtime.tools.list()).toEqual([])
  expect(logged.join('\n')).toContain(
    'It exited with code 7. Its last output on stderr: "first" "<U+001B>[31mNo license key<U+0007>".',
  )
  server.become({ tools: [plainTool('t')] })
  await expect.poll(() => runtime.tools.list().length, safetyNet).toBe(1)
  expect(server.pids.length).toBeLessThan(10)
})

test('MCP-2: a tool whose server is gone answers tool_unavailable with the reason', async () => {
  const { runtime, server } = await openHostile({ tools: [plainTool('t')] })
  expect(await callOne(runtime, 'h__t')).toMatchObject({ status: 'success' })
  server.become({ exitAtStart: { code: 5, stderr: 'Disk full\n' } })
  process.kill(server.pids.at(-1) as number, 'SIGKILL')
  await expect.poll(() => runtime.tools.list()[0]?.available, safetyNet).toBe(false)
  const { failure } = (await callOne(runtime, 'h__t')) as { failure: { code: string; message: string } }
  expect(failure.code).toBe('tool_unavailable')
  expect(failure.message).toContain('exited with code 5')
  expect(failure.message).toContain('Disk full')
})

test('MCP-2: a program that does not exist is reported by name', async () => {
  const runtime = await openWith(mcpProvider('gone', { command: 'no-such-program-4711' }))
  expect(runtime.tools.list()).toEqual([])
  expect(logged.join('\n')).toContain('There is no program \\"no-such-program-4711\\"'.replaceAll('\\', ''))
})

test('MCP-2: the revision of a server is found out once, also if it exits at the probe', async () => {
  const { runtime, server } = await openHostile({ tools: [plainTool('t')], exitOnDiscover: true })
  expect(await callOne(runtime, 'h__t')).toMatchObject({ status: 'success' })
  expect(server.pids).toHaveLength(2)
  process.kill(server.pids.at(-1) as number, 'SIGKILL')
  await vi.waitUntil(() => server.pids.length === 3, safetyNet)
  expect(await callOne(runtime, 'h__t')).toMatchObject({ status: 'success' })
  expect(server.pids).toHaveLength(3)
})

test('MCP-2: a flood on stderr and of notifications does not stop a call', async () => {
  const { runtime } = await openHostile({
    tools: [plainTool('loud'), plainTool('chatty')],
    calls: { loud: { stderrBytes: 20_000_000 }, chatty: { notifications: 20_000 } },
  })
  expect(await callOne(runtime, 'h__loud')).toMatchObject({ value: 'done' })
  expect(await callOne(runtime, 'h__chatty')).toMatchObject({ value: 'done' })
})

test('MCP-2: closing the runtime ends the server and what it started', async () => {
  const server = new HostileServer({ tools: [plainTool('t')], stubborn: true })
  atEnd(() => server.remove())
  const { command = '', args = [] } = server.config()
  const pidFile = join(server.folder, 'pid')
  const script = `sleep 1000 & echo $! > '${pidFile}'; exec "$0" "$@"`
  const provider = mcpProvider('h', { command: '/bin/sh', args: ['-c', script, command, ...args] }, { logger })
  const runtime = await openWith(provider)
  expect(await callOne(runtime, 'h__t')).toMatchObject({ status: 'success' })
  const pids = [Number(readFileSync(pidFile, 'utf8')), ...server.pids]
  expect(pids.map(isAlive)).toEqual([true, true])
  await runtime.close({ grace: 0 })
  await vi.waitUntil(() => !pids.some(isAlive), safetyNet)
})

test('MCP-2: a server dies with its gateway, and the call in its middle has one effect and a record', async () => {
  const server = new HostileServer({ tools: [plainTool('pay')], calls: { pay: { never: true } }, stubborn: true })
  atEnd(() => server.remove())
  const store = `sqlite:${join(freshFolder(), 'db')}`
  const gateway = spawn(
    process.execPath,
    [
      '--conditions=@pawl/source',
      join(import.meta.dirname, '../../kit/mcp/child-gateway.ts'),
      JSON.stringify({ store, config: server.config() }),
    ],
    { stdio: 'inherit' },
  )
  atEnd(() => gateway.kill('SIGKILL'))
  await vi.waitUntil(() => server.effects.length === 1, safetyNet)
  gateway.kill('SIGKILL')
  await vi.waitUntil(() => !server.pids.some(isAlive), safetyNet)
  server.become({ tools: [plainTool('pay')] })
  const runtime = await openWith(mcpProvider('h', server.config(), { logger }), {
    store,
    keys: undefined as never,
    lease: '1s',
  })
  const outcomes = await runtime.session('s').run([{ id: 'p', name: 'h__pay', input: {} }], { batch: 'b' })
  expect(outcomes[0]).toMatchObject({ status: 'unknown' })
  expect(server.effects).toEqual(['pay {}'])
})

test('MCP-2: the key of the store is redacted from what a filesystem server reads', async () => {
  const root = freshFolder()
  const provider = mcpProvider('files', { command: bin('mcp-server-filesystem'), args: [root] })
  const runtime = await openWith(provider, { store: `sqlite:${join(root, 'db')}`, keys: undefined as never })
  const key = readFileSync(join(root, 'db-key'), 'utf8').trim()
  writeFileSync(join(root, 'copy'), `key: ${key} end`)
  const outcome = await callOne(runtime, 'files__read_text_file', { path: join(root, 'copy') })
  expect(JSON.stringify(outcome.parts)).toContain(' end')
  expect(JSON.stringify(outcome.parts)).not.toContain(key)
})

test('MCP-2: a server that is closed while it starts is not left running', async () => {
  const server = new HostileServer({ tools: [plainTool('t')], startDelayMs: 60_000 })
  atEnd(() => server.remove())
  const provider = mcpProvider('h', server.config(), { logger })
  const listing = Promise.resolve(provider.list()).catch((error: unknown) => String(error))
  await vi.waitUntil(() => server.pids.length === 1, safetyNet)
  await provider.close?.()
  expect(await listing).toContain('is not available')
  await vi.waitUntil(() => !server.pids.some(isAlive), safetyNet)
  expect(server.pids).toHaveLength(1)
  await expect(provider.list()).rejects.toThrow('It was closed')
})
