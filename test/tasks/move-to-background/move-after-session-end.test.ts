// Moving calls in an ended session, and redaction of input requests.

import { createRuntime } from 'pawl'
import { describe, expect, test } from 'vitest'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { closedAfterEach, stores } from '../../kit/open-runtime.ts'
import { rerunTask, rerunTool } from '../../kit/simple-tools.ts'

const runtimes = closedAfterEach()

describe.each(stores)('ended sessions on %s', (_kind, fresh) => {
  test('TASK-8, TASK-10: a failed move in an ended session is logged once and not retried', async () => {
    const { clock, store } = fresh()
    const warned: string[] = []
    const slow = rerunTool(
      'slow',
      { background: { after: '10s' }, timeout: '10h' },
      async (_, ctx) => (await ctx.sleep('1h'), 'slept'),
    )
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

  test('DUR-12, TASK-3: a secret learned later is redacted in an input request', async () => {
    const { clock, store } = fresh()
    const token = 'tok-0123456789-abcdef'
    const asks = rerunTask(
      'asks',
      async (_, ctx) =>
        (
          await ctx.task?.request(`Is it ${token}?`, {
            expected: { enum: [token, 'no'], description: `${token} or no` },
          })
        )?.text ?? '',
    )
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
