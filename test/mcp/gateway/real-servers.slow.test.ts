// The gateway in front of real servers of npm, with a real client of each era.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { gatewayFolder, serverBin, startHost, textOf, until } from '../../kit/mcp/gateway-host.ts'
import { node, pawl, startPawl } from '../../kit/run-pawl.ts'

const approve = () => ({ action: 'accept' as const, content: { decision: 'approve' } })

/** The three servers: the everything server is trusted. */
function threeServers(more: object = {}): string {
  const folder = gatewayFolder()
  mkdirSync(join(folder, 'files'))
  writeFileSync(join(folder, 'files/a.txt'), 'hello')
  const mcpServers = {
    all: { command: node, args: [serverBin('everything')], trusted: true },
    files: { command: node, args: [serverBin('filesystem'), join(folder, 'files')] },
    memory: { command: node, args: [serverBin('memory')], env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } },
  }
  writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers, ...more }))
  return folder
}

describe('servers of npm', { timeout: 60_000 }, () => {
  test.for(['modern', 'legacy'] as const)('MCP-2: three servers work behind one gateway (%s client)', async (era) => {
    const cwd = threeServers()
    const forms: string[] = []
    const onForm = (form: { message: string }) => {
      forms.push(form.message)
      return approve()
    }
    const { client } = await startHost(cwd, ['--config', 'servers.json'], { era, onForm })
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['all__echo', 'files__write_file', 'memory__create_entities']))
    const path = join(cwd, 'files/b.txt')
    await client.callTool({ name: 'files__write_file', arguments: { path, content: 'from the host' } })
    expect(readFileSync(path, 'utf8')).toBe('from the host')
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['wrote a program'] }]
    await client.callTool({ name: 'memory__create_entities', arguments: { entities } })
    expect(readFileSync(join(cwd, 'memory.jsonl'), 'utf8')).toContain('wrote a program')
    expect(forms.map((message) => message.split('\n', 1)[0])).toEqual([
      'Allow Write File (files__write_file)?',
      'Allow Create Entities (memory__create_entities)?',
    ])
    expect(forms[0]).toContain('"content": "from the host"')

    const image = await client.callTool({ name: 'all__get-tiny-image', arguments: {} })
    expect(image.content).toEqual(
      expect.arrayContaining([expect.objectContaining({ type: 'image', mimeType: 'image/png' })]),
    )
    const { resources } = await client.listResources()
    const read = await client.readResource({ uri: resources[0]?.uri ?? '' })
    expect(read.contents).toHaveLength(1)
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toContain('all__simple-prompt')
    expect((await client.getPrompt({ name: 'all__simple-prompt', arguments: {} })).messages.length).toBeGreaterThan(0)
    expect(forms).toHaveLength(2)
  })

  test('MCP-2: a tool that only reads runs if its server is trusted, and asks if not', async () => {
    const cwd = threeServers()
    const asked: string[] = []
    const onForm = ({ message }: { message: string }) => {
      asked.push(message)
      return { action: 'decline' as const }
    }
    const { client } = await startHost(cwd, ['--config', 'servers.json'], { onForm })
    const free = await client.callTool({ name: 'all__get-sum', arguments: { a: 2, b: 3 } })
    const denied = await client.callTool({
      name: 'files__read_text_file',
      arguments: { path: join(cwd, 'files/a.txt') },
    })
    expect(asked).toHaveLength(1)
    expect(textOf(free)).toContain('5')
    expect([denied.isError, textOf(denied).includes('hello')]).toEqual([true, false])
  })
})

describe('approvals from another terminal', { timeout: 90_000 }, () => {
  test('POL-3: inbox, approve --remember and tail work on what a host asks for', async () => {
    const cwd = threeServers()
    const { client } = await startHost(cwd, ['--config', 'servers.json'])
    // A client that shows progress waits; the others get "pending" and call pawl_wait.
    const write = (name: string, options: object = { onprogress: () => {} }) =>
      client.callTool(
        { name: 'files__write_file', arguments: { path: join(cwd, 'files', name), content: 'x' } },
        { timeout: 60_000, ...options },
      )
    const pending = textOf(await write('pending.txt', {}))
    expect(pending).toContain('pawl_wait')
    await pawl(
      { cwd },
      'deny',
      (JSON.parse((await pawl({ cwd }, 'inbox', '--json')).out) as { id: string }[])[0]?.id ?? '',
    )
    const first = write('one.txt')
    const items = await until(async () => {
      const { code, out } = await pawl({ cwd }, 'inbox', '--json')
      const listed = code === 0 ? (JSON.parse(out) as { id: string; tool: string }[]) : []
      return listed.length > 0 ? listed : undefined
    })
    expect(items).toMatchObject([{ tool: 'files__write_file' }])
    expect(existsSync(join(cwd, 'files/one.txt'))).toBe(false)
    const approved = await pawl({ cwd }, 'approve', items[0]?.id ?? '', '--remember', 'session')
    expect(approved).toMatchObject({ code: 0 })
    expect(textOf(await first)).toContain('Successfully wrote')
    expect(textOf(await write('two.txt'))).toContain('Successfully wrote')
    expect([existsSync(join(cwd, 'files/one.txt')), existsSync(join(cwd, 'files/two.txt'))]).toEqual([true, true])
    expect(JSON.parse((await pawl({ cwd }, 'inbox', '--json')).out)).toEqual([])
    expect(existsSync(join(cwd, 'files/pending.txt'))).toBe(false)
    const tail = startPawl({ cwd }, 'tail', '--all')
    await tail.until(/files__write_file|Write File/)
    tail.signal('SIGINT')
    await tail.ended
    expect(tail.shown()).toContain('mcp:')
  })

  test('POL-3: "always" in the form of the host allows the tool for this session', async () => {
    const cwd = threeServers()
    let asked = 0
    const onForm = () => {
      asked += 1
      return { action: 'accept' as const, content: { decision: 'always' } }
    }
    const { client } = await startHost(cwd, ['--config', 'servers.json'], { onForm })
    for (const name of ['one.txt', 'two.txt', 'three.txt']) {
      const path = join(cwd, 'files', name)
      await client.callTool({ name: 'files__write_file', arguments: { path, content: 'x' } })
      expect(existsSync(path)).toBe(true)
    }
    expect(asked).toBe(1)
  })
})
