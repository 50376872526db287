// Resources and prompts of several servers: each request goes to the owner, and only there.

import { describe, expect, test } from 'vitest'
import type { ContentSource } from '../../../src/mcp/mcp.ts'
import { combineContent } from '../../../src/mcp/gateway/combined-content.ts'

interface Given {
  readonly resources?: readonly string[]
  readonly templates?: readonly string[]
  readonly prompts?: readonly string[]
  readonly fails?: string
  readonly listFails?: string
}

function serverOf(name: string, { resources = [], templates = [], prompts = [], fails, listFails }: Given) {
  const asked: string[] = []
  let changed: (what: 'resources' | 'prompts') => void = () => {}
  const list = async <T>(items: readonly T[]): Promise<readonly T[]> => {
    if (listFails !== undefined) throw new Error(listFails)
    return items
  }
  const answer = async (what: string): Promise<Record<string, unknown>> => {
    asked.push(what)
    if (fails !== undefined) throw new Error(fails)
    return { from: name }
  }
  const content: ContentSource = {
    listResources: () => list(resources.map((uri) => ({ uri, name: `${name} of ${uri}` }))),
    listResourceTemplates: () => list(templates.map((uriTemplate) => ({ uriTemplate, name }))),
    readResource: (uri) => answer(uri),
    listPrompts: () => list(prompts.map((prompt) => ({ name: prompt }))),
    getPrompt: (prompt) => answer(prompt),
    onChange(listener) {
      changed = listener
      return () => (changed = () => {})
    },
  }
  return { owner: { name, prefix: name, content }, asked, change: (what: 'resources' | 'prompts') => changed(what) }
}

const combine = (...servers: readonly ReturnType<typeof serverOf>[]) => {
  const problems: string[] = []
  return {
    content: combineContent(
      servers.map(({ owner }) => owner),
      (problem) => problems.push(problem),
    ),
    problems,
  }
}

describe('resources', () => {
  test('MCP-2: a resource is read from the server that lists it', async () => {
    const [a, b] = [serverOf('a', { resources: ['x://1'] }), serverOf('b', { resources: ['x://2', 'x://1'] })]
    const { content } = combine(a, b)
    expect((await content.listResources()).map(({ name }) => name)).toEqual(['a of x://1', 'b of x://2'])
    expect([await content.readResource('x://1'), await content.readResource('x://2')]).toEqual([
      { from: 'a' },
      { from: 'b' },
    ])
    expect([a.asked, b.asked]).toEqual([['x://1'], ['x://2']])
  })

  test('MCP-2: the error of the owner is the answer, and no other server is asked', async () => {
    const a = serverOf('a', { resources: ['x://1'], fails: 'permission denied' })
    const b = serverOf('b', { resources: ['x://1'], templates: ['{+all}'] })
    const { content } = combine(a, b)
    await expect(content.readResource('x://1')).rejects.toThrow('permission denied')
    expect(b.asked).toEqual([])
  })

  test('MCP-2: the template with the longest fixed beginning owns a uri that is not listed', async () => {
    const a = serverOf('a', { templates: ['{+all}'] })
    const b = serverOf('b', { templates: ['file:///{path}.txt'] })
    const { content } = combine(a, b)
    expect(await content.readResource('file:///x.txt')).toEqual({ from: 'b' })
    expect(await content.readResource('file:///x.md')).toEqual({ from: 'a' })
  })

  test('MCP-2: a uri of no server is refused, and no server is asked', async () => {
    const a = serverOf('a', { resources: ['x://1'], templates: ['y://{id}'] })
    const { content } = combine(a)
    await expect(content.readResource('z://1')).rejects.toThrow("No server of the gateway has the resource 'z://1'.")
    expect(a.asked).toEqual([])
  })

  test('MCP-2: a server that cannot list is left out and reported once', async () => {
    const a = serverOf('a', { listFails: 'it is gone' })
    const { content, problems } = combine(a, serverOf('b', { resources: ['x://2'] }))
    for (let n = 0; n < 3; n++) expect(await content.listResources()).toHaveLength(1)
    expect(problems).toEqual(["Server 'a': its resources cannot be listed, so they are left out: it is gone"])
  })

  test('MCP-2: a template of a server cannot make the match slow', async () => {
    const a = serverOf('a', { templates: [`x${'{a}b'.repeat(500)}!`] })
    const { content } = combine(a)
    const started = performance.now()
    await expect(content.readResource(`x${'b'.repeat(100_000)}`)).rejects.toThrow('No server')
    expect(performance.now() - started).toBeLessThan(2_000)
  })
})

describe('prompts', () => {
  test('MCP-2: prompts have the prefix of their server, which gets the name without it', async () => {
    const [a, b] = [serverOf('a', { prompts: ['plan'] }), serverOf('b', { prompts: ['plan'] })]
    const { content } = combine(a, b)
    expect((await content.listPrompts()).map(({ name }) => name)).toEqual(['a__plan', 'b__plan'])
    expect(await content.getPrompt('b__plan', {})).toEqual({ from: 'b' })
    expect([a.asked, b.asked]).toEqual([[], ['plan']])
    await expect(content.getPrompt('plan', {})).rejects.toThrow("No server of the gateway has the prompt 'plan'.")
  })

  test('MCP-2: changes of every server are passed on until the listener leaves', () => {
    const [a, b] = [serverOf('a', {}), serverOf('b', {})]
    const { content } = combine(a, b)
    const heard: string[] = []
    const stop = content.onChange?.((what) => heard.push(what))
    a.change('prompts')
    b.change('resources')
    stop?.()
    a.change('prompts')
    expect(heard).toEqual(['prompts', 'resources'])
  })
})
