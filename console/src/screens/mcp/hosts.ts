// The entry for the configuration of an MCP host, so that it uses this server over HTTP. The token is the reader's
// own, so the text has a placeholder.

export interface McpHost {
  readonly name: string
  /** As `pawl mcp config` calls it. */
  readonly command: string
  readonly file: string
  readonly entry: (url: string) => object
}

const headers = { Authorization: 'Bearer <token>' }
const servers = (entry: object): object => ({ mcpServers: { pawl: entry } })

export const hosts: readonly McpHost[] = [
  {
    name: 'Claude Code',
    command: 'claude-code',
    file: '.mcp.json',
    entry: (url) => servers({ type: 'http', url, headers }),
  },
  { name: 'Cursor', command: 'cursor', file: '.cursor/mcp.json', entry: (url) => servers({ url, headers }) },
  {
    name: 'VS Code',
    command: 'vscode',
    file: '.vscode/mcp.json',
    entry: (url) => ({ servers: { pawl: { type: 'http', url, headers } } }),
  },
  {
    name: 'Windsurf',
    command: 'windsurf',
    file: '~/.codeium/windsurf/mcp_config.json',
    entry: (url) => servers({ serverUrl: url, headers }),
  },
]
