// Several concurrent waits of one task for the same signal.

import { describe, expect, test, vi } from 'vitest'
import { type FreshWorld, mortalWorld } from '../kit/worker-takeover.ts'
import { rerunTask } from '../kit/simple-tools.ts'
import { collections } from '../../src/store/collections.ts'

describe.each(['memory', 'sqlite'] as const)('concurrent signal waits on %s', (kind) => {
  let fresh: FreshWorld
  const { start } = mortalWorld(kind, (given) => void (fresh = given))

  test('TASK-8: signals resolve concurrent waits of one name in the order the waits were opened', async () => {
    const listener = rerunTask('listener', { description: 'Waits for three signals at once' }, (_, ctx) =>
      Promise.all([ctx.task?.signal('go'), ctx.task?.signal('go'), ctx.task?.signal('go')]),
    )
    const session = (await start([listener])).session('s')
    const { id } = await session.tasks.start({ tool: listener })
    // All three waits are queued before the first signal, so none of them finds an early one.
    const queued = async (): Promise<number | undefined> => {
      const [row] = await fresh.store.documentsOf({ of: 'task-signals', after: '', limit: 1 })
      return row && collections.taskSignals.parse(row.value).waiting.length
    }
    await vi.waitUntil(async () => (await queued()) === 3, { interval: 1, timeout: 10_000 })
    for (const value of ['first', 'second', 'third']) await session.tasks.signal(id, 'go', value)
    expect(await session.tasks.wait(id)).toMatchObject({
      state: 'succeeded',
      outcome: { value: ['first', 'second', 'third'] },
    })
  })
})
