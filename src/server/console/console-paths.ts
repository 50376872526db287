// The addresses of the console's screens. The server answers them with the page; the page shows the screen.

const sections: ReadonlySet<string> = new Set([
  'inbox',
  'calls',
  'sessions',
  'tools',
  'tasks',
  'schedules',
  'policy',
  'mcp-servers', // `/mcp` is the endpoint for MCP clients
  'system',
])

/** `/`, `/calls` and `/calls/…`. A section that does not exist is no page, so that a wrong address is a 404. */
export function isConsolePath(path: string): boolean {
  if (path === '/') return true
  const [, section = '', ...rest] = path.split('/')
  return sections.has(section) && rest.length <= 2
}
