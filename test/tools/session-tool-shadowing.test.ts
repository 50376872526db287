// A recorded call keeps its own tool when the session later defines a tool of the same name (decision 0012).

import { join } from 'node:path'
import { createRuntime, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { after, freshDir, quiet } from '../kit/stores/fresh-store.ts'

const input = z.object({})

// The record has the key `pay` of the runtime's tool; the session's tool has the key `pay@session:…`.
// A lookup by name or key alike would run the session's tool in place of the one that started.
test("TOOL-4 CALL-7: recovery does not run a session's tool in place of the runtime's tool", async () => {
  const clock = manualClock()
  const store = `sqlite:${join(freshDir(), 'a.db')}`
  const ran: string[] = []
  const paying = (whose: string) =>
    tool({
      name: 'pay',
      description: `Pays (${whose})`,
      input,
      onCrash: 'rerun',
      execute: async (_, ctx) => {
        ran.push(`${whose} ${ctx.attempt}`)
        if (ctx.attempt === 1) await ctx.sleep('1m')
        return whose
      },
    })
  const one = await createRuntime({ store, tools: [paying('runtime')], clock, logger: quiet })
  const two = await createRuntime({ store, tools: [paying('runtime')], clock, logger: quiet })
  const first = one.session('s').run([{ id: 'a', name: 'pay' }], { batch: 'm' })
  first.catch(() => {})
  await clock.advance(1_000)
  expect(ran).toEqual(['runtime 1'])
  const session = two.session('s', { tools: [paying('session')] })
  await one.close({ grace: 0 })
  await after(
    (async () => {
      for (;;) {
        const found = await session.calls.get('a', { batch: 'm' })
        if (found?.state === 'settled') return
        await new Promise((resolve) => setImmediate(resolve))
      }
    })(),
    clock,
    200_000,
    1_000,
  )
  await two.close({ grace: 0 })
  expect(ran).toEqual(['runtime 1', 'runtime 2'])
})

test('TOOL-4 TOOL-7: only its own tool validates a parked call, not another of the same name', async () => {
  const clock = manualClock()
  const store = `sqlite:${join(freshDir(), 'a.db')}`
  let key = ''
  const own = tool({
    name: 'sign',
    description: 'Asks for a signature',
    input,
    output: z.object({ signed: z.boolean() }),
    execute: async (_, ctx) => {
      const later = await ctx.later<{ signed: boolean }>()
      key = later.key
      return later
    },
  })
  const other = tool({
    name: 'sign',
    description: 'Signs a cheque',
    input,
    output: z.object({ cheque: z.number() }),
    execute: () => ({ cheque: 1 }),
  })
  const one = await createRuntime({ store, tools: [own], clock, logger: quiet })
  one
    .session('s')
    .run([{ id: 'a', name: 'sign' }], { batch: 'm' })
    .catch(() => {})
  await clock.advance(1_000)
  await one.close({ grace: 0 })
  const two = await createRuntime({ store, tools: [own], clock, logger: quiet })
  const session = two.session('s', { tools: [other] })
  const answer = await two.resolve(key, { value: { signed: true } })
  await clock.advance(5_000)
  await clock.advance(5_000)
  const found = await session.calls.get('a', { batch: 'm' })
  await two.close({ grace: 0 })
  expect([answer.answer, found?.outcome]).toEqual(['accepted', { status: 'success', value: { signed: true } }])
})
