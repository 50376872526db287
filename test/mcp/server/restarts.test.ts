import { join } from 'node:path'
import { createRuntime } from 'pawl'
import { expect, test, vi } from 'vitest'
import { atEnd, connect, freshFolder } from '../../kit/mcp/server-clients.ts'
import { effectsIn } from '../../kit/mcp/server-tools.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

/** A safety net. */
const patient = { timeout: 60_000, interval: 50 }

const idIn = (result: unknown): string => /call_[\w-]+/.exec(JSON.stringify(result))?.[0] ?? ''

test('MCP-3: a pending call survives a kill of the server, and is neither asked nor run twice', async () => {
  const folder = freshFolder()
  const names = ['asked', 'prepared']
  const killed = await connect('modern', { folder })
  const ids: string[] = []
  for (const name of names) ids.push(idIn(await killed.callTool({ name, arguments: { text: name } })))
  process.kill(killed.pid as number, 'SIGKILL')
  const next = await connect('legacy', { folder })
  for (const [at, name] of names.entries())
    expect(idIn(await next.callTool({ name, arguments: { text: name } }))).toBe(ids[at])
  const people = await createRuntime({ store: `sqlite:${join(folder, 'store.db')}`, worker: false, logger: quiet })
  atEnd(() => people.close({ grace: 0 }))
  const items = await people.inbox()
  expect(items.map(({ tool }) => tool)).toEqual(names)
  for (const { id } of items) await people.decide(id, { approve: true, by: 'user:boss' })
  // This server knows the calls only from the record.
  const third = await connect('modern', { folder })
  const resultOf = (call: string): Promise<string> =>
    vi.waitUntil(async () => {
      const { content } = await third.callTool({ name: 'pawl_wait', arguments: { call } })
      const shown = JSON.stringify(content)
      return shown.includes('[Pending]') ? '' : shown
    }, patient)
  expect(await resultOf(ids[0] ?? '')).toContain('written after approval')
  expect(await resultOf(ids[1] ?? '')).toContain('PREPARED')
  expect(effectsIn(folder).toSorted()).toEqual(['PREPARED', 'asked'])
  // Both results were delivered.
  expect(idIn(await third.callTool({ name: 'asked', arguments: { text: 'asked' } }))).not.toBe(ids[0])
}, 180_000)
