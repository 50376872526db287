// Plans of imports: what they show of an entry, and when they are refused.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readTextFile, replaceTextFile } from '../../../../src/mcp/gateway/hosts/atomic-file.ts'
import { maskedEntry } from '../../../../src/mcp/gateway/hosts/host-entries.ts'
import { hostFile } from '../../../../src/mcp/gateway/hosts/host-files.ts'
import { planImport } from '../../../../src/mcp/gateway/hosts/import-servers.ts'

test('MCP-2: a file that the host writes after the plan was shown is not imported, not even in part', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-plan-'))
  const file = join(folder, '.mcp.json')
  writeFileSync(file, '{"mcpServers":{"a":{"command":"x"}}}')
  const plan = planImport({
    host: hostFile('claude-code', false, { cwd: folder }),
    serversFile: join(folder, '.pawl/servers.json'),
    serversMode: 0o600,
    gatewayEntry: { command: 'npx', args: ['--no-install', 'pawl', 'mcp'] },
    moveServers: true,
  })
  const later = '{"mcpServers":{"b":{"command":"y"}}}'
  writeFileSync(file, later)
  expect(() => plan.apply()).toThrow('was changed by another program')
  expect([readFileSync(file, 'utf8'), existsSync(join(folder, '.pawl'))]).toEqual([later, false])
})

test('MCP-2: a file that another import is writing is left, unless that import was killed', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-lock-'))
  const file = join(folder, 'servers.json')
  const lock = join(folder, '.servers.json.pawl-lock')
  writeFileSync(file, 'before')
  symlinkSync(String(process.ppid), lock)
  expect(() => replaceTextFile(readTextFile(file), 'after')).toThrow('another import')
  expect([readFileSync(file, 'utf8'), readdirSync(folder).length]).toEqual(['before', 2])
  rmSync(lock)
  for (const pid of [spawnSync('true').pid, process.pid]) {
    symlinkSync(String(pid), lock)
    replaceTextFile(readTextFile(file), `after ${pid}`)
    expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual([`after ${pid}`, ['servers.json']])
  }
})

test.for([
  [['run', '-e', 'GH_PAT=hidden', 'image']],
  [['run', '--env=GH_PAT=hidden', 'image']],
  [['--env', 'GH_PAT=hidden']],
  [['API_KEY=hidden', 'node', 'server.js']],
  [['-c', 'export API_TOKEN=hidden; exec server']],
  [['-H', 'Authorization: Bearer hidden']],
  [['--header', 'X-Api-Key: hidden']],
  [['--url=https://x.test/mcp?key=hidden']],
  [['https://hidden@x.test/mcp']],
  [['https://x.test/mcp?hidden']],
  [['https://x.test/mcp?a=1&hidden&b=2#hidden']],
] as const)('MCP-2: the plan shows no secret in the arguments %j', ([args]) => {
  const shown = JSON.stringify(maskedEntry({ command: 'docker', args }))
  expect(shown).toContain('****')
  expect(shown).not.toContain('hidden')
})

test('MCP-2: ordinary arguments are shown as they are', () => {
  const args = ['-y', '@scope/server', '.', '--port=80', 'https://x.test/mcp', '--', '-v']
  expect(maskedEntry({ command: 'npx', args })).toEqual({ command: 'npx', args })
})
