// The resources and prompts of a server, which the gateway passes on to its clients.

import type { Client } from '@modelcontextprotocol/client'
import type { ContentSource, McpPrompt, McpResource, McpResourceTemplate } from '../content-source.ts'
import { anyObject } from './any-object.ts'
import type { ServerConnection } from './connection.ts'
import { listPages } from './list-pages.ts'
import { deepWithoutSecrets } from './plain-text.ts'

type Lists = {
  readonly 'resources/list': 'resources'
  readonly 'resources/templates/list': 'resourceTemplates'
  readonly 'prompts/list': 'prompts'
}

export function serverContent(connection: ServerConnection): ContentSource {
  const { idleMs, secrets } = connection.settings
  const offers = (client: Client, what: 'resources' | 'prompts'): boolean =>
    client.getServerCapabilities()?.[what] !== undefined
  /** Entries without the field that identifies them are left out. */
  const list = async <T>(method: keyof Lists, field: Lists[typeof method], key: keyof T): Promise<readonly T[]> => {
    const client = await connection.connect()
    if (!offers(client, method === 'prompts/list' ? 'prompts' : 'resources')) return []
    const { entries } = await listPages(client, method, field, { timeout: idleMs })
    return deepWithoutSecrets(
      entries.filter((entry) => typeof entry[key as string] === 'string'),
      secrets,
    ) as unknown as T[]
  }
  const request = async (
    method: 'resources/read' | 'prompts/get' | 'completion/complete',
    params: Readonly<Record<string, unknown>>,
    signal: AbortSignal | undefined,
  ): Promise<Record<string, unknown>> => {
    const client = await connection.connect()
    const options = { timeout: idleMs, ...(signal ? { signal } : {}) }
    return deepWithoutSecrets(await client.request({ method, params }, anyObject, options), secrets)
  }
  return {
    listResources: () => list<McpResource>('resources/list', 'resources', 'uri'),
    listResourceTemplates: () =>
      list<McpResourceTemplate>('resources/templates/list', 'resourceTemplates', 'uriTemplate'),
    readResource: (uri, signal) => request('resources/read', { uri }, signal),
    listPrompts: () => list<McpPrompt>('prompts/list', 'prompts', 'name'),
    getPrompt: (name, args, signal) => request('prompts/get', { name, arguments: { ...args } }, signal),
    complete: async (params, signal) => {
      const client = await connection.connect()
      if (!client.getServerCapabilities()?.completions) return { completion: { values: [] } }
      return request('completion/complete', params, signal)
    },
    onChange: (listener) => connection.onChange((change) => (change === 'tools' ? undefined : listener(change))),
  }
}
