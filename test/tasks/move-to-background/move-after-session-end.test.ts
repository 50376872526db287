// TASK-8, TASK-10, DUR-12: calls of a session that has ended; and what is shown of a request.

import { createRuntime, type Runtime, tool } from 'pawl'
import { afterEach, describe, expect, test } from 'vitest'
import { freshMemory, freshSqlite, quiet } from '../../kit/stores/fresh-store.ts'

const input = { type: 'object' } as const
const runtimes: Runtime[] = []
afterEach(async () => {
  for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
})

describe.each([
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const)('ended sessions, on %s', (_kind, fresh) => {
  test('TASK-8 TASK-10: a call that its rule would move, in a session that has ended, is not tried again every second: nothing can be moved there any more, and the log says so once', async () => {
    const { clock, store } = fresh()
    const warned: string[] = []
    const slow = tool({
      name: 'slow',
      description: 'd',
      input,
      background: { after: '10s' },
      timeout: '10h',
      execute: async (_, ctx) => (await ctx.sleep('1h'), 'slept'),
      onCrash: 'rerun',
    })
    const runtime = await createRuntime({
      store,
      clock,
      tools: [slow],
      logger: { ...quiet, warn: (message: string) => void warned.push(message) },
    })
    runtimes.push(runtime)
    const session = runtime.session('s')
    const run = session.run([{ id: 'a', name: 'slow' }])
    run.catch(() => {})
    await clock.advance(2_000)
    await session.end()
    for (let n = 0; n < 600; n++) await clock.advance(1_000)
    expect(warned.filter((message) => message.includes('could not be moved')).length).toBeLessThanOrEqual(1)
  })

  test('DUR-12 TASK-3: a secret that became known later is in nothing that is shown of what a task asks', async () => {
    const { clock, store } = fresh()
    const token = 'tok-0123456789-abcdef'
    const asks = tool({
      name: 'asks',
      description: 'd',
      input,
      onCrash: 'rerun',
      background: true,
      execute: async (_, ctx) =>
        (await ctx.task?.request(`Is it ${token}?`, { expected: { enum: [token, 'no'], description: `${token} or no` } }))?.text ?? '',
    })
    const runtime = await createRuntime({ store, clock, tools: [asks], logger: quiet })
    runtimes.push(runtime)
    const session = runtime.session('s')
    await session.tasks.start({ tool: 'asks', id: 'a' })
    await clock.advance(2_000)
    await session.secrets.set('token', token)
    const task = await session.tasks.get('a')
    expect(task?.inputRequest?.prompt).toBe('Is it [redacted]?')
    expect(JSON.stringify(task?.inputRequest)).not.toContain(token)
  })
})
