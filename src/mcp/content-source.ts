// Resources and prompts as an MCP server offers them. The client (client/) reads them from a server behind the gateway,
// and Pawl's own server (server/) offers them to its clients. The values have the shapes of the MCP specification.

/** Where a server takes its resources and prompts from. Every method may reject; the client then gets its error. */
export interface ContentSource {
  /** All resources. */
  listResources(): Promise<readonly McpResource[]>
  /** All resource templates. */
  listResourceTemplates(): Promise<readonly McpResourceTemplate[]>
  /** The result of resources/read. */
  readResource(uri: string, signal?: AbortSignal): Promise<Record<string, unknown>>
  /** All prompts. */
  listPrompts(): Promise<readonly McpPrompt[]>
  /** The result of prompts/get. */
  getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown>>
  /** The result of completion/complete. Without this method no completions are offered. */
  complete?(params: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<Record<string, unknown>>
  /** Calls the listener when one of the lists changed. Returns an unsubscribe function. */
  onChange?(listener: (what: 'resources' | 'prompts') => void): () => void
}

/** A resource as a server lists it. */
export interface McpResource {
  /** Identifies the resource. */
  readonly uri: string
  /** Its name. */
  readonly name: string
  readonly [field: string]: unknown
}

/** A resource template as a server lists it. */
export interface McpResourceTemplate {
  /** A URI template (RFC 6570). */
  readonly uriTemplate: string
  /** Its name. */
  readonly name: string
  readonly [field: string]: unknown
}

/** A prompt as a server lists it. */
export interface McpPrompt {
  /** Its name. */
  readonly name: string
  readonly [field: string]: unknown
}
