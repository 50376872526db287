// The first commands of docs/guide/mcp.md in a fresh folder, with the packed package installed from its tarball.

import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, test } from 'vitest'
import { textOf, until } from '../../kit/mcp/gateway-host.ts'
import { atEnd } from '../../kit/mcp/server-clients.ts'
import { node } from '../../kit/run-pawl.ts'

const root = join(import.meta.dirname, '../../..')
const run = promisify(execFile)
const guide = readFileSync(join(root, 'docs/guide/mcp.md'), 'utf8')
const [, wrapCommand = ''] = /^(npx --no-install pawl mcp wrap -- .*)$/m.exec(guide) ?? []

/** The environment of a person: their home with its npm settings, and the Node of the project. */
const { HOME = '', TMPDIR = '', NODE_EXTRA_CA_CERTS = '', SSL_CERT_FILE = '' } = process.env
const env: Record<string, string> = {
  ...Object.fromEntries(
    Object.entries({ HOME, TMPDIR, NODE_EXTRA_CA_CERTS, SSL_CERT_FILE }).filter(([, value]) => value),
  ),
  PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}`,
}

test('MCP-2: the commands of the guide work in a fresh folder', { timeout: 300_000 }, async () => {
  const cwd = realpathSync(mkdtempSync(join(tmpdir(), 'pawl-fresh-')))
  const packing = await run('npm', ['pack', '--json', '--pack-destination', cwd], { cwd: root })
  const [packed] = JSON.parse(packing.stdout) as { filename: string }[]
  writeFileSync(join(cwd, 'package.json'), '{"private":true}')
  await run('npm', ['install', '--no-audit', '--no-fund', join(cwd, packed?.filename ?? '')], {
    cwd,
    env,
    timeout: 120_000,
  })
  const pawl = (...args: string[]) =>
    spawnSync('npx', ['--no-install', 'pawl', ...args], { cwd, env, encoding: 'utf8', timeout: 60_000 })

  const [command = '', ...args] = wrapCommand.split(' ')
  expect([command, args.slice(0, 4)]).toEqual(['npx', ['--no-install', 'pawl', 'mcp', 'wrap']])
  const client = new Client({ name: 'host', version: '1' })
  await client.connect(new StdioClientTransport({ command, args, cwd, env, stderr: 'ignore' }), { timeout: 120_000 })
  atEnd(() => client.close())
  await until(async () => (await client.listTools()).tools.some(({ name }) => name === 'write_file') || undefined)

  const path = join(cwd, 'notes.txt')
  const writing = client.callTool(
    { name: 'write_file', arguments: { path, content: 'from the guide' } },
    { timeout: 120_000, onprogress: () => {} },
  )
  const [item] = await until(() => {
    const { status, stdout } = pawl('inbox', '--json')
    const items = status === 0 ? (JSON.parse(stdout) as { id: string; tool: string }[]) : []
    return items.length > 0 ? items : undefined
  })
  expect([item?.tool, existsSync(path)]).toEqual(['write_file', false])
  expect(pawl('approve', item?.id ?? '').status).toBe(0)
  expect(textOf(await writing)).toContain('Successfully wrote')
  expect(readFileSync(path, 'utf8')).toBe('from the guide')

  const tail = spawnSync('timeout', ['-s', 'INT', '10', 'npx', '--no-install', 'pawl', 'tail', '--all'], {
    cwd,
    env,
    encoding: 'utf8',
  })
  expect(tail.stdout).toMatch(/write_file|Write File/)
})
