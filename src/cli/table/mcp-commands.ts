// Commands of the MCP gateway.

import type { CommandSpec, OptionSpec } from '../command-spec.ts'

const commit: OptionSpec = [
  '--commit <mode>',
  'which failure a recorded call survives; default: power',
  ['power', 'process'],
]

const user: OptionSpec = ['--user', 'the file of your account, not that of this project']
const yes: OptionSpec = ['-y, --yes', 'do not ask']

export const mcpCommands: readonly CommandSpec[] = [
  {
    name: 'mcp',
    takesServersFile: true,
    summary: 'A gateway in front of MCP servers, on stdin and stdout.',
    more: 'A host such as Claude Code starts it. Tools that only read and belong to trusted servers run; the others ask a person first. --config names the servers file; default: .pawl/servers.json or mcp-servers.json.',
    options: [commit],
    examples: ['pawl mcp --config servers.json', 'pawl mcp import claude-code', 'pawl mcp servers'],
    load: async () => (await import('../commands/mcp/gateway.ts')).mcp,
  },
  {
    name: 'mcp wrap',
    summary: 'A gateway in front of one MCP server, without a file.',
    args: [['<command...>', 'the command of the server, behind --']],
    options: [
      ['--name <name>', 'name of the server in the record; default: from the command'],
      ['--trust', 'believe its hints: tools that only read run without approval'],
      commit,
    ],
    examples: ['pawl mcp wrap -- npx -y @modelcontextprotocol/server-filesystem .'],
    load: async () => (await import('../commands/mcp/gateway.ts')).wrap,
  },
  {
    name: 'mcp serve',
    summary: 'The tools of this project as an MCP server, on stdin and stdout.',
    examples: ['pawl mcp serve'],
    load: async () => (await import('../commands/mcp/gateway.ts')).serveTools,
  },
  {
    name: 'mcp servers',
    takesServersFile: true,
    summary: 'List the servers of the gateway, their tools, and changed definitions.',
    more: 'Starts the servers to ask them. Exit code 1 if one is unavailable or a definition changed.',
    examples: ['pawl mcp servers', 'pawl mcp servers --config servers.json --json'],
    load: async () => (await import('../commands/mcp/servers.ts')).servers,
  },
  {
    name: 'mcp accept',
    summary: 'Accept the changed definition of a tool, which runs again then.',
    args: [
      ['<server>', 'name of the server'],
      ['<tool>', 'name of the tool'],
    ],
    options: [
      ['--fingerprint <hash>', 'accept only if this is the definition'],
      ['-y, --yes', 'do not ask'],
    ],
    examples: ['pawl mcp accept github github__create_issue'],
    load: async () => (await import('../commands/mcp/servers.ts')).accept,
  },
  {
    name: 'mcp import',
    summary: 'Move the MCP servers of a host behind the gateway.',
    more: 'Shows what changes, asks, keeps a backup, and edits only these entries. `pawl mcp restore` undoes it, also after a crash.',
    args: [['<host>', 'claude-code, claude-desktop or cursor']],
    options: [user, yes],
    examples: ['pawl mcp import claude-code', 'pawl mcp import cursor --user', 'pawl mcp import claude-desktop --yes'],
    load: async () => (await import('../commands/mcp/hosts.ts')).importServers,
  },
  {
    name: 'mcp restore',
    summary: 'Undo an import: the host gets its servers back.',
    more: 'An unchanged file gets its original bytes back. If it was changed since, only the entries return. Servers that were changed in the servers file stay there.',
    args: [['<host>', 'claude-code, claude-desktop or cursor']],
    options: [user, yes],
    examples: ['pawl mcp restore claude-code', 'pawl mcp restore claude-code --user'],
    load: async () => (await import('../commands/mcp/hosts.ts')).restore,
  },
  {
    name: 'mcp config',
    summary: 'Print what a host needs to start the gateway, or write it.',
    args: [['<host>', 'claude-code, claude-desktop, cursor, vscode or windsurf']],
    options: [['--write', 'add it to the file of claude-code, claude-desktop or cursor'], user, yes],
    examples: ['pawl mcp config vscode', 'pawl mcp config claude-code --write'],
    load: async () => (await import('../commands/mcp/hosts.ts')).hostConfig,
  },
]
