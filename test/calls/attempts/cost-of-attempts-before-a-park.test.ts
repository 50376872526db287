import { retry } from 'pawl'
import { expect, test } from 'vitest'
import { opening } from '../../kit/open-runtime.ts'
import { readOnlyTool } from '../../kit/simple-tools.ts'
import { after } from '../../kit/stores/fresh-store.ts'

const open = opening()

test('SESS-11: the cost of an attempt before a wait is part of the outcome after the wait', async () => {
  const look = readOnlyTool('look', { retry: { attempts: 2 } }, (_, ctx) => {
    if (ctx.attempt === 1) throw retry({ after: 1, cost: 2 })
    return ctx.later({ deadline: 1_000 })
  })
  const { runtime, clock } = await open({ tools: [look] })
  const ended = await after(runtime.session('s').run([{ id: 'c', name: 'look' }]), clock)
  expect(JSON.stringify(ended)).toContain('"cost":2')
})
