// Where the configuration of each host is, and which key holds its MCP servers.

import { homedir } from 'node:os'
import { join } from 'node:path'

export const hostNames = ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'windsurf'] as const
export type HostName = (typeof hostNames)[number]

/** Hosts whose file Pawl may edit. For the others it prints what to add. */
export const editableHosts = ['claude-code', 'claude-desktop', 'cursor'] as const satisfies readonly HostName[]
export type EditableHost = (typeof editableHosts)[number]

export interface HostFile {
  readonly host: HostName
  /** `project`: the file belongs to this folder. `user`: to all projects of a person. */
  readonly scope: 'project' | 'user'
  readonly file: string
  /** The key of the servers. */
  readonly key: 'mcpServers' | 'servers'
  /** The folder that `.pawl` is in: the project, or the home directory. */
  readonly folder: string
}

/** Where the servers of a host may be moved to: out of sight, or beside a committed file. */
export const serversFilesOf = ({ folder }: HostFile): readonly [hidden: string, committed: string] => [
  join(folder, '.pawl', 'servers.json'),
  join(folder, 'mcp-servers.json'),
]

interface Machine {
  readonly cwd?: string
  readonly home?: string
  readonly platform?: NodeJS.Platform
  readonly env?: Readonly<Record<string, string | undefined>>
}

export function hostFile(
  host: HostName,
  user: boolean,
  { cwd = process.cwd(), home = homedir(), platform = process.platform, env = process.env }: Machine = {},
): HostFile {
  const ofProject = (...path: string[]): HostFile => ({
    host,
    scope: 'project',
    file: join(cwd, ...path),
    key: host === 'vscode' ? 'servers' : 'mcpServers',
    folder: cwd,
  })
  const ofUser = (...path: string[]): HostFile => ({
    host,
    scope: 'user',
    file: join(...path),
    key: 'mcpServers',
    folder: home,
  })
  switch (host) {
    case 'claude-code':
      return user ? ofUser(home, '.claude.json') : ofProject('.mcp.json')
    case 'cursor':
      return user ? ofUser(home, '.cursor', 'mcp.json') : ofProject('.cursor', 'mcp.json')
    case 'claude-desktop':
      return ofUser(claudeDesktopFolder(home, platform, env), 'claude_desktop_config.json')
    case 'vscode':
      return ofProject('.vscode', 'mcp.json')
    case 'windsurf':
      return ofUser(home, '.codeium', 'windsurf', 'mcp_config.json')
  }
}

function claudeDesktopFolder(home: string, platform: NodeJS.Platform, env: NonNullable<Machine['env']>): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'Claude')
  if (platform === 'win32') return join(env.APPDATA ?? join(home, 'AppData', 'Roaming'), 'Claude')
  return join(env.XDG_CONFIG_HOME ?? join(home, '.config'), 'Claude')
}
