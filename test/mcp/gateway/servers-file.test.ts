// The servers file: what it accepts, and messages that name the file, the server and the key.

import { describe, expect, test } from 'vitest'
import type { Hints } from 'pawl'
import { gatewayPolicy } from '../../../src/mcp/gateway/gateway-policy.ts'
import { missingVariables, readServersFile } from '../../../src/mcp/gateway/servers-file.ts'
import { nameOfCommand, wrappedServer } from '../../../src/mcp/gateway/wrapped-server.ts'

const read = (content: unknown) =>
  readServersFile(typeof content === 'string' ? content : JSON.stringify(content), 'servers.json')
const withEntry = (entry: unknown) => () => read({ mcpServers: { github: entry } })

describe('the servers file', () => {
  test('MCP-2: every key of an entry is read', () => {
    const config = {
      command: 'npx',
      args: ['-y', 'x'],
      env: { TOKEN: '${GITHUB_TOKEN}' },
      cwd: 'sub',
      trusted: true,
      prefix: 'gh',
      tools: ['get_*'],
      timeout: { idle: '30s', total: '5m' },
      concurrency: 3,
      rate: { calls: 10, per: '1m' },
      disabled: false,
    }
    const url = { url: 'https://example.com/mcp', headers: { Authorization: 'Bearer ${T}' } }
    expect(read({ mcpServers: { github: config, web: url } })).toEqual({
      servers: [
        { name: 'github', config },
        { name: 'web', config: url },
      ],
      policy: {},
    })
  })

  test.for([
    [{ comand: 'x' }, "server 'github': `github` has no option `comand`; did you mean `command`?"],
    [{}, "server 'github': `command` or `url` is missing."],
    [{ command: 'x', url: 'http://x' }, "server 'github': `command` and `url` exclude each other."],
    [{ command: 'x', timeout: { idel: '1s' } }, 'did you mean `idle`?'],
    [{ command: 'x', trusted: 'yes' }, "`trusted` is 'yes'; it must be true or false."],
    [{ url: 'ftp://x' }, '`url` must begin with https:// or http://'],
    ['npx', "server 'github': the entry is 'npx'; it must be an object."],
    [{ command: 'x', prefix: 'a b' }, '`prefix` is'],
    [{ url: 'http://x', cwd: '.' }, '`cwd` is only for a server with `command`'],
    [{ url: 'http://ada:pw123456@x' }, '`url` contains a password'],
    [{ command: 'x', args: Array.from({ length: 1_001 }, () => 'a') }, 'have at most 1000 entries'],
  ] as const)('MCP-2: the entry %j is refused in words', ([entry, message]) => {
    expect(withEntry(entry)).toThrow('servers.json')
    expect(withEntry(entry)).toThrow(message)
  })

  test('MCP-2: a secret in a mistyped entry is not part of the message', () => {
    expect(withEntry({ command: 'x', env: { TOKEN: 12_345_678 } })).toThrow('`env.TOKEN` is invalid')
    expect(withEntry({ command: 'x', headers: { A: ['sk-very-secret'] } })).not.toThrow('sk-very-secret')
  })

  test.for([
    ['{', 'servers.json is no JSON: line 1: the text ends too early.'],
    ['[]', 'must be an object'],
    ['{"servers":{}}', 'has no option `servers`; did you mean `mcpServers`?'],
    ['{}', '`mcpServers` is missing'],
    ['{"mcpServers":{"a b":{"command":"x"}}}', "server 'a b': the name must be 1 to 40 characters"],
    ['{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}', 'the key "a" occurs twice'],
    ['{"mcpServers":{"a":{"command":"x","concurrency":9007199254740993}}}', '9007199254740993 is larger than'],
    ['{"mcpServers":{},"policy":{"decide":1}}', '`policy` has no option `decide`'],
  ] as const)('MCP-2: %s is refused in words', ([content, message]) => {
    expect(() => read(content)).toThrow(message)
  })

  test('MCP-2: a file with too many servers, or too large, is refused', () => {
    const many = Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`s${n}`, { command: 'x' }]))
    expect(() => read({ mcpServers: many })).toThrow('names 201 servers')
    expect(() => read(' '.repeat(5_000_000))).toThrow('has more than 4 MiB')
  })

  test('MCP-2: missing variables are found in env and headers', () => {
    const config = { command: 'x', env: { A: '${ONE}-${TWO}', B: 'plain', C: '$ONE' }, headers: { D: '${THREE}' } }
    expect(missingVariables(config, { TWO: '2', THREE: '' })).toEqual(['ONE', 'THREE'])
  })
})

describe('the policy', () => {
  test('TOOL-2: only trusted tools that read, and reach nothing else, run without a rule', () => {
    const rule = { tool: 'x', then: 'deny' } as const
    const { rules, decide, default: mode } = gatewayPolicy({ rules: [rule] })
    expect([rules, mode]).toEqual([[rule], 'careful'])
    const effect = (trusted: boolean, hints: Hints): unknown =>
      decide?.({
        tenant: 'a',
        session: 's',
        principal: null,
        tool: { name: 'x', id: 'x', hints, remote: true, trusted },
        args: {},
      })
    expect(effect(true, { readOnly: true })).toMatchObject({ effect: 'allow' })
    expect(effect(false, { readOnly: true })).toBeUndefined()
    expect(effect(true, { readOnly: true, openWorld: true })).toBeUndefined()
    expect(effect(true, { readOnly: true, destructive: true })).toBeUndefined()
    expect(effect(true, {})).toBeUndefined()
  })
})

describe('the name of a wrapped server', () => {
  test.for([
    ['npx -y @modelcontextprotocol/server-filesystem .', 'server-filesystem'],
    ['npx -y @scope/name@1.2.3', 'name'],
    ['uvx mcp-server-git==1.0 --repository .', 'mcp-server-git-1-0'],
    ['pnpm dlx some-server', 'some-server'],
    ['node /opt/notes/build/index.js', 'notes'],
    ['node index.js', 'index'],
    ['./my server.py', 'my-server'],
    ['/usr/bin/my-server', 'my-server'],
    ['npx', 'npx'],
    ['!!!', 'server'],
  ] as const)('MCP-2: %s is %s', ([line, name]) => {
    const [command = '', ...args] = line === './my server.py' ? [line] : line.split(' ')
    expect(nameOfCommand(command, args)).toBe(name)
  })

  test('MCP-2: its tools keep their names, and it is not trusted unless a person says so', () => {
    expect(wrappedServer(['npx', 'notes'], undefined, false).servers).toEqual([
      { name: 'notes', config: { command: 'npx', args: ['notes'], prefix: '' } },
    ])
    expect(wrappedServer(['npx', 'x'], 'mine', true).servers[0]).toMatchObject({
      name: 'mine',
      config: { trusted: true },
    })
  })
})
