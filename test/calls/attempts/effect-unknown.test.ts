import { createRuntime, effectUnknown, tool } from 'pawl'
import { expect, test } from 'vitest'

const input = { type: 'object' } as const

test('VAL-2: effectUnknown() ends a call as unknown, once, with its evidence', async () => {
  let runs = 0
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    input,
    retry: { attempts: 3 },
    hints: { idempotent: true },
    execute() {
      runs++
      throw effectUnknown('The bank did not answer.', { startedAt: 7, evidence: { order: 'A1' } })
    },
  })
  const odd = tool({
    name: 'odd',
    description: 'Has evidence that cannot be recorded',
    input,
    execute() {
      throw effectUnknown('Unclear.', { evidence: Number.NaN })
    },
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [pay, odd] })
  const before = Date.now()
  const [paid, other] = await runtime.session('s').run([
    { id: '1', name: 'pay', input: {} },
    { id: '2', name: 'odd', input: {} },
  ])
  expect(paid).toMatchObject({
    status: 'unknown',
    unknown: { message: 'The bank did not answer.', startedAt: 7, evidence: { order: 'A1' } },
    parts: [{ type: 'text', text: '[Tool outcome unknown]\nThe bank did not answer.' }],
  })
  expect(runs).toBe(1)
  expect(other).toMatchObject({ status: 'unknown', unknown: { message: 'Unclear.', evidence: null } })
  expect(other?.status === 'unknown' && other.unknown.startedAt).toBeGreaterThanOrEqual(before)
  await runtime.close()
})
