// The resources and prompts that the conformance suites read from a server.

import { ProtocolError } from '@modelcontextprotocol/server'
import type { ContentSource } from 'pawl/mcp'
import { png } from './conformance-tools.ts'

const pngText = png.toString('base64')
const resources: Readonly<Record<string, object>> = {
  'test://static-text': { mimeType: 'text/plain', text: 'This is the content of the static text resource.' },
  'test://static-binary': { mimeType: 'image/png', blob: pngText },
  'test://watched-resource': { mimeType: 'text/plain', text: 'Watched' },
}

const user = (content: object): object => ({ role: 'user', content })
const text = (value: string): object => user({ type: 'text', text: value })

const argument = (name: string): object => ({ name, description: `Argument ${name}`, required: true })
const prompts: Readonly<
  Record<string, { readonly takes?: readonly string[]; messages(args: Readonly<Record<string, string>>): object[] }>
> = {
  test_simple_prompt: { messages: () => [text('This is a simple prompt for testing.')] },
  test_prompt_with_arguments: {
    takes: ['arg1', 'arg2'],
    messages: ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  },
  test_prompt_with_embedded_resource: {
    takes: ['resourceUri'],
    messages: ({ resourceUri }) => [
      user({
        type: 'resource',
        resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
      }),
      text('Please process the embedded resource above.'),
    ],
  },
  test_prompt_with_image: {
    messages: () => [
      user({ type: 'image', data: pngText, mimeType: 'image/png' }),
      text('Please analyze the image above.'),
    ],
  },
}

/** Resources and prompts, and a function that reports a change of the prompts. */
export function conformanceContent(): { readonly content: ContentSource; promptsChanged(): void } {
  const listeners = new Set<(what: 'resources' | 'prompts') => void>()
  const content: ContentSource = {
    listResources: async () =>
      Object.entries(resources).map(([uri]) => ({ uri, name: uri.slice('test://'.length), description: 'A resource' })),
    listResourceTemplates: async () => [
      { uriTemplate: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
    ],
    readResource: async (uri) => {
      const id = /^test:\/\/template\/(?<id>\w+)\/data$/.exec(uri)?.groups?.id
      if (id !== undefined) {
        const data = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
        return { contents: [{ uri, mimeType: 'application/json', text: data }] }
      }
      const found = resources[uri]
      if (!found) throw new ProtocolError(-32_602, 'Resource not found', { uri })
      return { contents: [{ uri, ...found }] }
    },
    listPrompts: async () =>
      Object.entries(prompts).map(([name, { takes = [] }]) => ({
        name,
        description: 'A prompt',
        arguments: takes.map(argument),
      })),
    getPrompt: async (name, args) => {
      const found = prompts[name]
      if (!found) throw new ProtocolError(-32_602, 'Prompt not found')
      return { messages: found.messages(args) }
    },
    complete: async () => ({ completion: { values: ['test', 'testing'], total: 2, hasMore: false } }),
    onChange: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  return { content, promptsChanged: () => listeners.forEach((listener) => listener('prompts')) }
}
