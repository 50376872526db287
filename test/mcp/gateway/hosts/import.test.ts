// `pawl mcp import`, `restore` and `config` on the files of hosts.

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { lstatSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hostFile } from '../../../../src/mcp/gateway/hosts/host-files.ts'
import { planImport } from '../../../../src/mcp/gateway/hosts/import-servers.ts'
import { type PawlEnd, pawl } from '../../../kit/run-pawl.ts'

interface Place {
  readonly cwd: string
  readonly home: string
  read(name: string): string
  write(name: string, text: string, mode?: number): void
  run(...args: string[]): Promise<PawlEnd>
}

function place(): Place {
  const home = mkdtempSync(join(tmpdir(), 'pawl-home-'))
  const cwd = join(home, 'project')
  mkdirSync(cwd)
  return {
    cwd,
    home,
    read: (name) => readFileSync(join(cwd, name), 'utf8'),
    write(name, text, mode) {
      mkdirSync(dirname(join(cwd, name)), { recursive: true })
      writeFileSync(join(cwd, name), text)
      if (mode !== undefined) chmodSync(join(cwd, name), mode)
    },
    run: (...args) => pawl({ cwd, env: { HOME: home } }, 'mcp', ...args),
  }
}

const secrets = ['sk-in-env-0123', 'bearer-in-header-0123', 'query-key-0123', 'flag-token-0123']
const entries = {
  fs: { command: 'npx', args: ['-y', 'fs', '.', '--token', secrets[3]], env: { KEY: secrets[0], PLAIN: '${HOME}' } },
  web: { type: 'http', url: `https://x.test/mcp?key=${secrets[2]}`, headers: { Authorization: secrets[1] } },
}
const config = `${JSON.stringify({ mcpServers: entries, numStartups: 3 }, null, 4)}\n`

describe('import', () => {
  test('MCP-2: without --yes it shows the change, without secrets, and writes nothing', async () => {
    const { run, write, read, cwd } = place()
    write('.mcp.json', config)
    const { code, out, err } = await run('import', 'claude-code')
    expect([code, err]).toEqual([2, expect.stringContaining('Confirm with --yes. Nothing was done.')])
    expect(out).toMatch(/-\s+"fs": \{[^]*\+\s+"pawl": \{[^]*servers\.json[^]*\+\s+"web": \{/)
    for (const secret of secrets) expect(out + err).not.toContain(secret)
    expect([read('.mcp.json'), existsSync(join(cwd, '.pawl'))]).toEqual([config, false])
  })

  test('MCP-2: it moves the servers, keeps a backup, and restore brings every byte back', async () => {
    const { run, write, read, cwd } = place()
    write('.mcp.json', config, 0o600)
    expect(await run('import', 'claude-code', '--yes')).toMatchObject({ code: 0 })
    expect(JSON.parse(read('.mcp.json'))).toEqual({
      mcpServers: {
        pawl: { command: 'npx', args: ['--no-install', 'pawl', 'mcp', '--config', '.pawl/servers.json'] },
      },
      numStartups: 3,
    })
    const { type: _, ...web } = entries.web
    expect(JSON.parse(read('.pawl/servers.json'))).toEqual({ mcpServers: { fs: entries.fs, web } })
    expect(read('.pawl/imports/claude-code.backup')).toBe(config)
    const modes = [
      '.mcp.json',
      '.pawl/servers.json',
      '.pawl/imports/claude-code.backup',
      '.pawl/imports/claude-code.json',
    ]
    expect(modes.map((name) => statSync(join(cwd, name)).mode & 0o777)).toEqual([0o600, 0o600, 0o600, 0o600])
    expect(await run('restore', 'claude-code', '--yes')).toMatchObject({ code: 0 })
    expect([read('.mcp.json'), existsSync(join(cwd, '.pawl/servers.json'))]).toEqual([config, false])
    expect(await run('restore', 'claude-code', '--yes')).toMatchObject({
      code: 6,
      err: expect.stringContaining('was not imported, or is restored already'),
    })
  })

  test('MCP-2: a second import says so, and does not go on to the file of the account', async () => {
    const { run, write, read, home } = place()
    write('.mcp.json', config)
    write('../.claude.json', config)
    await run('import', 'claude-code', '--yes')
    const second = await run('import', 'claude-code', '--yes')
    expect(second).toMatchObject({ code: 6, err: expect.stringContaining('.mcp.json is imported already') })
    expect(second.err).toContain('--user imports those of your account')
    expect(read('../.claude.json')).toBe(config)
    expect(await run('import', 'claude-code', '--user', '--yes')).toMatchObject({ code: 0 })
    const { pawl: entry } = (JSON.parse(read('../.claude.json')) as { mcpServers: Record<string, { args: string[] }> })
      .mcpServers
    expect(entry?.args.at(-1)).toBe(join(home, '.pawl/servers.json'))
    expect(entry?.args).toContain('mcp')
    expect(JSON.stringify(entry)).not.toContain('npx')
  })

  test('MCP-2: what the gateway cannot do stays with the host, and is named', async () => {
    const { run, write, read } = place()
    const staying = {
      sse: { type: 'sse', url: 'http://x/sse' },
      'two words': { command: 'x' },
      file: { command: 'x', envFile: '.env' },
      home: { command: '${HOME}/x' },
      dflt: { command: 'x', env: { A: '${B:-c}' } },
    }
    const text = JSON.stringify({ mcpServers: { ...staying, ok: { command: 'x' } } }, null, 2).replace(
      '"command": "x"\n    }\n  }',
      '"command": "x"\n    },\n    "big": { "command": "x", "n": 9007199254740993 }\n  }',
    )
    write('.cursor/mcp.json', text)
    const { code, err } = await run('import', 'cursor', '--yes')
    expect(code).toBe(0)
    for (const name of [...Object.keys(staying), 'big']) expect(err).toContain(`'${name}' stays with cursor`)
    expect(err).toContain('9007199254740993 is larger than JavaScript can hold exactly')
    const { mcpServers } = JSON.parse(read('.cursor/mcp.json')) as { mcpServers: object }
    expect(Object.keys(mcpServers)).toEqual([...Object.keys(staying), 'pawl', 'big'])
    expect(read('.cursor/mcp.json')).toContain('9007199254740993')
    await run('restore', 'cursor', '--yes')
    expect(read('.cursor/mcp.json')).toBe(text)
  })

  test('MCP-2: beside a committed .mcp.json the servers are in a file that can be committed', async () => {
    const { run, write, read, cwd } = place()
    write('.mcp.json', config)
    execFileSync('git', ['init', '-q'], { cwd })
    execFileSync('git', ['add', '.mcp.json'], { cwd })
    expect(await run('import', 'claude-code', '--yes')).toMatchObject({ code: 0 })
    expect(read('.mcp.json')).toContain('"mcp-servers.json"')
    expect(Object.keys((JSON.parse(read('mcp-servers.json')) as { mcpServers: object }).mcpServers)).toEqual([
      'fs',
      'web',
    ])
    await run('restore', 'claude-code', '--yes')
    expect([read('.mcp.json'), existsSync(join(cwd, 'mcp-servers.json'))]).toEqual([config, false])
  })

  test('MCP-2: a symbolic link is written through and stays one', async () => {
    const { run, write, read, cwd } = place()
    write('dotfiles/mcp.json', config, 0o640)
    symlinkSync('dotfiles/mcp.json', join(cwd, '.mcp.json'))
    expect(await run('import', 'claude-code', '--yes')).toMatchObject({ code: 0 })
    expect(lstatSync(join(cwd, '.mcp.json')).isSymbolicLink()).toBe(true)
    expect(read('dotfiles/mcp.json')).toContain('--no-install')
    expect(statSync(join(cwd, 'dotfiles/mcp.json')).mode & 0o777).toBe(0o640)
    await run('restore', 'claude-code', '--yes')
    expect([read('dotfiles/mcp.json'), lstatSync(join(cwd, '.mcp.json')).isSymbolicLink()]).toEqual([config, true])
  })

  test.for([
    ['{"mcpServers":[]}', '`mcpServers` is no object'],
    ['{"mcpServers":{},"mcpServers":{"a":{"command":"x"}}}', 'the key "mcpServers" occurs twice'],
    ['{"mcpServers":{}}', 'names no MCP servers'],
    ['{"mcpServers":{"pawl":{"command":"x"}}}', "has a server named 'pawl' already"],
    ['{"mcpServers":{"a":{"type":"sse","url":"http://x"}}}', 'The gateway can take no server of'],
    ['{"mcpServers":', 'cannot be edited: line 1'],
  ] as const)('MCP-2: the file %s is refused and left alone', async ([text, message]) => {
    const { run, write, read } = place()
    write('.mcp.json', text)
    expect(await run('import', 'claude-code', '--yes')).toMatchObject({
      code: 6,
      err: expect.stringContaining(message),
    })
    expect(read('.mcp.json')).toBe(text)
  })

  test('MCP-2: a server of the same name with other settings is not overwritten', async () => {
    const { run, write, read } = place()
    const own = '{"mcpServers":{"fs":{"command":"other"}}}'
    write('.mcp.json', config)
    write('.pawl/servers.json', own)
    const { code, err } = await run('import', 'claude-code', '--yes')
    expect([code, err]).toEqual([6, expect.stringContaining("has a server 'fs' already, with other settings")])
    expect([read('.mcp.json'), read('.pawl/servers.json')]).toEqual([config, own])
  })
})

test('MCP-2: a file that changes while a person decides is left alone, and nothing is written', () => {
  const { cwd, write, read } = place()
  write('.mcp.json', config)
  const host = hostFile('claude-code', false, { cwd })
  const serversFile = join(cwd, '.pawl/servers.json')
  const plan = planImport({ host, serversFile, serversMode: 0o600, gatewayEntry: {}, moveServers: true })
  write('.mcp.json', `${config}\n`)
  expect(() => plan.apply()).toThrow('was changed by another program in the meantime')
  expect([read('.mcp.json'), existsSync(join(cwd, '.pawl'))]).toEqual([`${config}\n`, false])
})

describe('restore', () => {
  test('MCP-2: a file that was changed since keeps the changes and gets its servers back', async () => {
    const { run, write, read } = place()
    write('.mcp.json', config)
    await run('import', 'claude-code', '--yes')
    const changed = read('.mcp.json')
      .replace('"numStartups": 3', '"numStartups": 4, "big": 12345678901234567890')
      .replace('"mcpServers": {', '"mcpServers": { "new": { "command": "n" },')
    write('.mcp.json', changed)
    const servers = read('.pawl/servers.json').replace('"fs",', '"fs", "--verbose",')
    write('.pawl/servers.json', servers)
    const { code, out } = await run('restore', 'claude-code', '--yes')
    expect([code, out]).toEqual([0, expect.stringContaining('was changed since the import')])
    expect(out).toContain('"fs" stays: it was changed since')
    expect(JSON.parse(read('.mcp.json'))).toMatchObject({ mcpServers: { new: {}, ...entries }, numStartups: 4 })
    expect(read('.mcp.json')).toContain('12345678901234567890')
    const left = (JSON.parse(read('.pawl/servers.json')) as { mcpServers: object }).mcpServers
    expect(Object.keys(left)).toEqual(['fs'])
  })

  test('MCP-2: a server that two hosts moved stays until both are restored', async () => {
    const { run, write, read, cwd } = place()
    write('.mcp.json', config)
    write('.cursor/mcp.json', config)
    await run('import', 'claude-code', '--yes')
    await run('import', 'cursor', '--yes')
    const first = await run('restore', 'claude-code', '--yes')
    expect(first.out).toContain('stays: another host needs it')
    expect(read('.pawl/servers.json')).toContain('"fs"')
    await run('restore', 'cursor', '--yes')
    expect([read('.mcp.json'), read('.cursor/mcp.json')]).toEqual([config, config])
    expect(existsSync(join(cwd, '.pawl/servers.json')) && read('.pawl/servers.json').includes('"fs"')).toBe(false)
  })

  test('MCP-2: a record that names other files, or a damaged backup, is refused', async () => {
    const { run, write, read, cwd } = place()
    write('.mcp.json', config)
    await run('import', 'claude-code', '--yes')
    const [record, imported] = [read('.pawl/imports/claude-code.json'), read('.mcp.json')]
    write('victim', 'untouched')
    write('.pawl/imports/claude-code.json', record.replaceAll(join(cwd, '.mcp.json'), join(cwd, 'victim')))
    const other = await run('restore', 'claude-code', '--yes')
    expect(other).toMatchObject({ code: 6, err: expect.stringContaining('which is not a file of it') })
    write('.pawl/imports/claude-code.json', record)
    write('.pawl/imports/claude-code.backup', '{}')
    const damaged = await run('restore', 'claude-code', '--yes')
    expect(damaged).toMatchObject({ code: 6, err: expect.stringContaining('is missing or was changed') })
    expect([read('victim'), read('.mcp.json')]).toEqual(['untouched', imported])
  })
})

describe('config', () => {
  test.for(['claude-code', 'claude-desktop', 'cursor', 'vscode', 'windsurf'])(
    'MCP-2: pawl mcp config %s prints JSON that never downloads Pawl',
    async (host) => {
      const { run, cwd } = place()
      const { code, out } = await run('config', host)
      const { mcpServers, servers } = JSON.parse(out) as Record<string, { pawl: { args: string[] } } | undefined>
      const args = (mcpServers ?? servers)?.pawl.args ?? []
      expect([code, args.includes('mcp'), args.includes('-y')]).toEqual([0, true, false])
      expect(existsSync(join(cwd, '.pawl'))).toBe(false)
    },
  )

  test('MCP-2: --write makes a missing file, and restore removes it', async () => {
    const { run, read, cwd } = place()
    expect(await run('config', 'cursor', '--write', '--yes')).toMatchObject({ code: 0 })
    expect(JSON.parse(read('.cursor/mcp.json'))).toMatchObject({ mcpServers: { pawl: { command: 'npx' } } })
    await run('restore', 'cursor', '--yes')
    expect(existsSync(join(cwd, '.cursor/mcp.json'))).toBe(false)
    expect(await run('config', 'vscode', '--write', '--yes')).toMatchObject({ code: 2 })
  })

  test('MCP-2: the files of Claude Desktop are those of each system', () => {
    const at = (platform: NodeJS.Platform) =>
      hostFile('claude-desktop', false, { home: '/home/ada', platform, env: { APPDATA: '/app' } }).file
    expect([at('darwin'), at('linux'), at('win32')]).toEqual([
      '/home/ada/Library/Application Support/Claude/claude_desktop_config.json',
      '/home/ada/.config/Claude/claude_desktop_config.json',
      '/app/Claude/claude_desktop_config.json',
    ])
  })
})
