// Scenarios with cancels and batches that stop on failure, for a store of which one call fails.
/* oxlint-disable typescript/no-explicit-any -- bodies and inputs of many shapes */

import { fail } from 'pawl'
import { oneCall, rerun, type Scenario, type World } from '../kit/fault-scenario.ts'

const untilAborted = (_: unknown, ctx: any) =>
  new Promise((_r, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)))
const told = (w: World) => ({ cancel: () => void w.did('told') })
const park = async (_: unknown, ctx: any) => ctx.later()

const cancelled = (name: string, tools: Scenario['tools'], more: Partial<Scenario> = {}): Scenario =>
  oneCall(name, tools, [{ status: 'cancelled' }], { abortAt: 3, ...more })
const toldOfCancel = { most: { told: 2 }, least: { told: 1 } }

export const cancels: Scenario[] = [
  cancelled('cancelled while running', () => [rerun('t', untilAborted, { timeout: '1h' })]),
  cancelled(
    'cancelled while waiting in the body',
    (w) => [rerun('t', async (_, ctx) => (await ctx.later()).value, told(w))],
    toldOfCancel,
  ),
  cancelled('cancelled while parked', (w) => [rerun('t', park, told(w))], toldOfCancel),
  cancelled(
    'cancelled with a parked nested call',
    (w) => {
      const inner = rerun('inner', park, told(w))
      return [inner, rerun('t', async (_, ctx) => (await ctx.call(inner, {})).status)]
    },
    toldOfCancel,
  ),
  {
    name: 'a batch that stops at a failure',
    tools: () => [
      rerun(
        'bad',
        async (_, ctx) => {
          await ctx.sleep('3s')
          throw fail('no', { code: 'no' })
        },
        { concurrency: 'parallel' },
      ),
      rerun('long', untilAborted, { concurrency: 'parallel', timeout: '1h' }),
      rerun('parks', park, { concurrency: 'parallel' }),
      rerun('last', () => 'never'),
    ],
    asks: ['bad', 'long', 'parks', 'last'].map((name, at) => ({ id: `${at + 1}`, name })),
    run: { onFailure: 'stop', batch: 'b' },
    ends: [
      { status: 'failure', failure: { code: 'no' } },
      { status: 'cancelled' },
      { status: 'cancelled' },
      { status: 'cancelled' },
    ],
    most: {},
  },
]
