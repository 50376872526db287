// `pawl/mcp`: Pawl's tools for MCP clients, and MCP servers as providers of tools.

export type { ContentSource, McpPrompt, McpResource, McpResourceTemplate } from './content-source.ts'
export type { McpServerConfig } from './client/server-config.ts'
export { mcpProvider, type McpProvider, type McpProviderOptions } from './client/mcp-provider.ts'
export { createMcpServer, type McpCaller, type McpServer, type McpServerOptions } from './server/mcp-server.ts'
