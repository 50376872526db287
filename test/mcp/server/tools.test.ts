import { expect, test } from 'vitest'
import { connect, freshFolder, httpServer, type Era, type Target, type Way } from '../../kit/mcp/server-clients.ts'
import { effectsIn, pixel } from '../../kit/mcp/server-tools.ts'

const ways: readonly (readonly [Era, Way])[] = [
  ['modern', 'stdio'],
  ['modern', 'http'],
  ['legacy', 'stdio'],
  ['legacy', 'http'],
]

async function target(way: Way): Promise<{ folder: string; to: Target }> {
  if (way === 'stdio') {
    const folder = freshFolder()
    return { folder, to: { folder } }
  }
  const { folder, url } = await httpServer()
  return { folder, to: { url } }
}

test.each(ways)(
  'MCP-1: a %s client over %s lists tools and calls them',
  async (era, way) => {
    const { folder, to } = await target(way)
    const client = await connect(era, to)
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    expect(names).toEqual([...names].toSorted())
    expect(names).toContain('pawl_wait')
    expect(names).not.toContain('hidden')
    const add = tools.find(({ name }) => name === 'add')
    expect(add?.annotations).toMatchObject({ readOnlyHint: true })
    expect(add?.outputSchema).toMatchObject({ type: 'object' })

    const sum = await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })
    expect(sum).toMatchObject({ structuredContent: { sum: 3 }, content: [{ type: 'text', text: '{"sum":3}' }] })
    const { content } = await client.callTool({ name: 'picture', arguments: {} })
    expect(content).toContainEqual({ type: 'image', mimeType: 'image/png', data: pixel.toString('base64') })
    const broken = await client.callTool({ name: 'broken', arguments: {} })
    expect(broken.isError).toBe(true)
    expect(JSON.stringify(broken)).not.toContain('internal detail')
    const invalid = await client.callTool({ name: 'write', arguments: { text: 7 } })
    expect(invalid.isError).toBe(true)
    for (const name of ['missing', 'hidden'])
      await expect(client.callTool({ name, arguments: {} })).rejects.toMatchObject({ code: -32_602 })

    // Each result was delivered, so an equal request is a new call.
    for (let count = 0; count < 3; count++)
      expect(await client.callTool({ name: 'write', arguments: { text: 'same' } })).toMatchObject({
        content: [{ type: 'text', text: 'written' }],
      })
    expect(effectsIn(folder)).toEqual(['same', 'same', 'same'])
  },
  60_000,
)
