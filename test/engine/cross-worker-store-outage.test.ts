// A single failed read or write while several workers share the store, or during a health check.
import { createRuntime, type PawlError, tool } from 'pawl'
import { expect, test } from 'vitest'
import { after, type Faults, faulty, freshMemory, lost, quiet } from '../kit/stores/fresh-store.ts'
import { rerunTool } from '../kit/simple-tools.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'

const input = { type: 'object' } as const
const hour = 3_600_000

for (const read of ['call', 'steps'] as const)
  test(`TIME-3 CALL-2: cancelling a call of another worker ends although store.${read} fails once`, async () => {
    const { clock, store } = freshMemory()
    const t = rerunTool(
      't',
      { timeout: '10h' },
      (_, ctx) =>
        new Promise<string>((_resolve, reject) =>
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error)),
        ),
    )
    let failing = 0
    const faults: Faults = { on: { [read]: () => (failing-- > 0 ? lost() : undefined) } }
    await createRuntime({ store, clock, tools: [t], logger: quiet })
    const front = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet, worker: false })
    const stop = new AbortController()
    const run = front.session('s').run([{ id: '1', name: 't' }], { signal: stop.signal })
    for (let i = 0; i < 30; i++) await clock.advance(1000)
    failing = 1
    stop.abort(new Error('enough'))
    expect(await after(run, clock, hour)).not.toBe('hangs')
  })

test('SCHED-1: a store failure in the first of two claimed barriers does not reorder them', async () => {
  const { clock, store } = freshMemory()
  const did: string[] = []
  const t = (name: string) => rerunTool(name, async (_, ctx) => void (await ctx.step('a', () => void did.push(name))))
  let failing = 1
  const faults: Faults = { onCommit: (change) => (change.steps && failing-- > 0 ? lost() : undefined) }
  const front = await createRuntime({ store, clock, tools: [t('first'), t('second')], logger: quiet, worker: false })
  await createRuntime({ store: faulty(store, faults), clock, tools: [t('first'), t('second')], logger: quiet })
  const run = front.session('s').run(
    [
      { id: '1', name: 'first' },
      { id: '2', name: 'second' },
    ],
    { batch: 'b' },
  )
  expect(await after(run, clock, hour)).toMatchObject({ value: [{ status: 'success' }, { status: 'success' }] })
  expect(did.indexOf('second')).toBe(did.length - 1) // 'first' may run twice
})

test('a wait that health() could not read is not reported as never woken', async () => {
  const { clock, store } = freshMemory()
  let failing = 0
  const faults: Faults = { on: { wait: () => (failing-- > 0 ? lost() : undefined) } }
  const t = tool({ name: 't', description: 'd', input, execute: async (_, ctx) => ctx.later({ deadline: '7d' }) })
  const runtime = await createRuntime({ store: faulty(store, faults), clock, tools: [t], logger: quiet })
  ignoreResult(runtime.session('s').run([{ id: '1', name: 't' }]))
  await clock.advance(10)
  failing = 1
  const said = await runtime.health().catch((error: PawlError) => error.code)
  expect(typeof said === 'string' ? said : said.findings.map(({ kind }) => kind)).not.toContain('never_woken')
})
