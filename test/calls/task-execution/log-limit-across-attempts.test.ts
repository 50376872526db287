// The size limit of a task log holds over all attempts.

import { createRuntime, retry } from 'pawl'
import { describe, expect, test } from 'vitest'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { backgroundTool } from '../../kit/simple-tools.ts'
import { stores } from '../../kit/open-runtime.ts'

const most = 262_144

describe.each(stores)('the log of a task on %s', (_kind, fresh) => {
  for (const left of [0, 5, 18, 19, 100])
    test(`TASK-4: the log is cut once at 262,144 characters; the second attempt has ${left} left`, async () => {
      const { clock, store } = fresh()
      const chatty = backgroundTool('chatty', { retry: { attempts: 2 } }, (_, ctx) => {
        // Each line has a stream prefix and a newline.
        if (ctx.attempt === 1) ctx.output(`${'a'.repeat(most - left - '[stdout] '.length - 1)}\n`)
        else ctx.output(`${'b'.repeat(200_000)}\n`)
        if (ctx.attempt === 1) throw retry({ message: 'Again', after: '5ms' })
        return 'done'
      })
      const runtime = await createRuntime({ store, clock, tools: [chatty], logger: quiet })
      const session = runtime.session('s')
      await session.tasks.start({ tool: chatty, id: 'x' })
      for (let n = 0; n < 30; n++) await clock.advance(1_000)
      const task = await session.tasks.get('x')
      const { text } = await session.files.read('/.background/x/output.log')
      await runtime.close({ grace: 0 })
      await store.close()
      const notes = text?.match(/\[system\] background output truncated/g)?.length ?? 0
      expect({ attempt: task?.attempt, over: Math.max(0, (text?.length ?? 0) - most - 100), notes }).toEqual({
        attempt: 2,
        over: 0,
        notes: 1,
      })
    })
})
