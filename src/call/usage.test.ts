import { expect, test } from 'vitest'
import type { CallRequest } from '../journal/call-state.ts'
import { defineBudgets } from '../policy/budget.ts'
import { SessionUsage } from './usage.ts'

test('POL-8: a worker remembers so many sessions and no more; one that was forgotten is read again', async () => {
  const read: string[] = []
  const record = {
    events: ({ of }: { of: { session: string } }) => (read.push(of.session), []),
    call: () => undefined,
  }
  const usage = new SessionUsage(defineBudgets({ session: { calls: 5 } }).session, record)
  const ask = (session: string, id: string) => {
    const request = { uid: `${session}-${id}`, position: { tenant: 't', session, batch: 'b', id, occurrence: 0 }, tool: 'x', options: null }
    return usage.overBudget({ request: request as unknown as CallRequest, attempt: 0 })
  }
  for (let session = 0; session < 10_000; session++) await ask(`${session}`, 'a')
  await ask('0', 'b') // used again: the next one to be forgotten is '1'
  await ask('one more', 'a')
  expect(read).toHaveLength(10_001)
  await ask('0', 'c')
  expect(read).toHaveLength(10_001)
  await ask('1', 'b')
  expect(read.slice(10_001)).toEqual(['1'])
})
