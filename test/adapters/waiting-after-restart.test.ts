// A call that waits for approval outlives the process that requested it through an adapter.

import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freshDir } from '../kit/stores/fresh-store.ts'
import { refundRuntime, refundThroughAdapters } from './refund-adapters.ts'

test('POL-7 DUR-1: after kill -9 a waiting call is approved elsewhere, runs once, and the same request gets its result', async () => {
  const file = join(freshDir(), 'app.db')
  const child = fork(join(import.meta.dirname, 'child-waiting-app.ts'), [file], {
    execArgv: ['--conditions=@pawl/source'],
  })
  const [read] = (await once(child, 'message')) as [string[]]
  expect(read).toHaveLength(3)
  for (const text of read) expect(text).toMatch(/^\[Tool call waiting\]\nIt waits for the approval of a person/)
  child.kill('SIGKILL')
  await once(child, 'exit')

  const { runtime, paid } = await refundRuntime(file)
  expect(await refundThroughAdapters(runtime, 'waiting', 'Refund it ')).toEqual(read)
  const items = await runtime.inbox()
  expect(items.map(({ session }) => session).toSorted()).toEqual(['ai', 'anthropic', 'openai'])
  for (const { id } of items) await runtime.decide(id, { approve: true, by: 'user:bea' })
  for (let round = 0; round < 2; round++)
    expect(await refundThroughAdapters(runtime, 'settled', 'Refund it, please')).toEqual([
      'refunded ai',
      'refunded openai',
      'refunded anthropic',
    ])
  expect(paid.toSorted()).toEqual(['ai', 'anthropic', 'openai'])
  await runtime.close()
})
