// A kill at any change of the file system leaves old or new content, and restore brings the original back.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { environment, node } from '../../../kit/run-pawl.ts'

const child = join(import.meta.dirname, 'child-import.ts')
const original = `{
    "big": 12345678901234567890, // stays
    "mcpServers": {
        "fs": { "command": "npx", "args": ["-y", "server-filesystem", "."], "env": { "TOKEN": "sk-0123456789" } },
        "sse": { "type": "sse", "url": "http://x/sse" }
    }
}
`
const ownServers = '{ "mcpServers": { "mine": { "command": "mine" } } } // mine\n'

function project(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-import-'))
  writeFileSync(join(folder, '.mcp.json'), original)
  mkdirSync(join(folder, '.pawl'))
  writeFileSync(join(folder, '.pawl/servers.json'), ownServers)
  return folder
}

function run(action: 'import' | 'restore', folder: string, killAt = 0): { killed: boolean; changes: number } {
  const args = ['--conditions=@pawl/source', child, action, folder, String(killAt)]
  const { signal, stdout, stderr, status } = spawnSync(node, args, { encoding: 'utf8', env: environment() })
  if (signal === null && status !== 0) throw new Error(stderr)
  return { killed: signal === 'SIGKILL', changes: Number(stdout) }
}

const contentOf = (folder: string) => ({
  host: readFileSync(join(folder, '.mcp.json'), 'utf8'),
  servers: readFileSync(join(folder, '.pawl/servers.json'), 'utf8'),
})

/** No file with half of a content, except the temporary one that the next run replaces. */
const leftOver = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.pawl-new'))

const whole = project()
const importing = run('import', whole).changes
const imported = contentOf(whole)
const restoring = run('restore', whole).changes

test('MCP-2: an import moves the entry, and a restore brings every byte back', () => {
  expect(JSON.parse(imported.servers.replace('// mine', ''))).toMatchObject({ mcpServers: { mine: {}, fs: {} } })
  expect(imported.host).toContain('"big": 12345678901234567890, // stays')
  expect(imported.host).not.toContain('sk-0123456789')
  expect(contentOf(whole)).toEqual({ host: original, servers: ownServers })
  expect([importing, restoring].every((changes) => changes > 15)).toBe(true)
  expect(existsSync(join(whole, '.pawl/imports/claude-code.json'))).toBe(false)
})

test(
  'MCP-2: killed at any change of an import, the files are old or new and restore works',
  { timeout: 120_000 },
  () => {
    for (let at = 1; at <= importing; at += 1) {
      const folder = project()
      expect(run('import', folder, at).killed, `import killed at ${at}`).toBe(true)
      const { host, servers } = contentOf(folder)
      expect([original, imported.host], `host at ${at}`).toContain(host)
      expect([ownServers, imported.servers], `servers at ${at}`).toContain(servers)
      // The servers are never lost: as long as the host has none of them, the servers file has.
      if (host === imported.host) expect(servers).toBe(imported.servers)
      if (!existsSync(join(folder, '.pawl/imports/claude-code.json'))) {
        expect(host).toBe(original)
        run('import', folder)
      } else if (at % 2 === 0 && host === original) {
        run('import', folder)
        expect(contentOf(folder)).toEqual(imported)
      }
      run('restore', folder)
      expect([contentOf(folder), leftOver(folder)]).toEqual([{ host: original, servers: ownServers }, []])
    }
  },
)

test('MCP-2: killed at any change of a restore, a second restore completes it', { timeout: 120_000 }, () => {
  for (let at = 1; at <= restoring; at += 1) {
    const folder = project()
    run('import', folder)
    expect(run('restore', folder, at).killed, `restore killed at ${at}`).toBe(true)
    const { host, servers } = contentOf(folder)
    expect([original, imported.host]).toContain(host)
    // The host has its servers before they leave the servers file.
    if (servers === ownServers) expect(host).toBe(original)
    if (existsSync(join(folder, '.pawl/imports/claude-code.json'))) run('restore', folder)
    expect(contentOf(folder)).toEqual({ host: original, servers: ownServers })
  }
})
