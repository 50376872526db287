// Two admission stages that decide about a call whose worker died.

import { tool, type ToolContext } from 'pawl'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { dieDuringCall, twoWorkers } from '../../kit/interrupted-calls.ts'
import { hang } from '../../kit/simple-tools.ts'

const input = z.object({})

test('DUR-8: a person is asked about a poisoned call whose outcome is unknown', async () => {
  const { clock, first, second } = twoWorkers('memory')
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input,
    onCrash: 'stop',
    onUnknown: 'ask',
    execute: () => hang(),
  })
  await dieDuringCall(await first([pay], { poisonAfter: 1 }), clock, { id: 'c', name: 'pay' }, 100)
  const runtime = await second([pay], { poisonAfter: 1 })
  await clock.advance('10s')
  const inbox: unknown = await runtime.inbox()
  expect(JSON.stringify(inbox)).toContain('"tool":"pay"')
  await runtime.close()
})

test('TASK-7: a task that emitted its end before its worker died does not run again', async () => {
  const { clock, first, second } = twoWorkers('memory')
  let runs = 0
  const watch = tool({
    name: 'watch',
    description: 'Watches',
    input,
    onCrash: 'rerun',
    background: { events: { done: { terminal: 'succeeded' } } },
    execute: async (_: unknown, ctx: ToolContext) => {
      if (++runs > 1) return 'again'
      void ctx.emit('done', { n: 1 }).catch(() => {})
      return hang()
    },
  } as never)
  const { runtime: dying, die } = await first([watch])
  await dying.session('s').tasks.start({ tool: 'watch', id: 't' })
  await clock.advance(0)
  die()
  await clock.advance('10s')
  const runtime = await second([watch])
  await clock.advance('20s')
  expect(await runtime.session('s').tasks.get('t')).toMatchObject({ state: 'succeeded' })
  expect(runs).toBe(1)
  await runtime.close()
})
