// What a deploy that changes the input schema does to calls that wait for people, whose tool must not run twice, or
// that were recorded by an older version of Pawl.

import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type InboxItem, retry, type Runtime, type Tool, tool, type ToolDefinition } from 'pawl'
import type { ManualClock } from 'pawl/testing'
import type { CallTerms } from '../../../src/store/records/call-record.ts'
import type { Change, Store } from '../../../src/store/store.ts'
import { argumentTool, hang } from '../../kit/simple-tools.ts'
import { bea } from '../../kit/refund-workers.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'
import { type Mortal, mortal as mortalStore, type StoreKind } from '../../kit/stores/killable-store.ts'
import { mortalWorld } from '../../kit/worker-takeover.ts'

/** The timeout is a safety net for a loaded machine. */
const until = <T>(holds: () => T | Promise<T>) => vi.waitUntil(holds, { interval: 5, timeout: 15_000 })

type Fields = Partial<ToolDefinition<z.ZodType, unknown>>

describe.each<StoreKind>(['memory', 'sqlite'])('a deploy during a call on %s', (kind) => {
  let clock: ManualClock
  let store: Store
  let first: Mortal
  const { start, takeOver } = mortalWorld(kind, (fresh) => void ({ clock, store, first } = fresh))
  const seen: unknown[] = []
  const work = (input: z.ZodType, fields: Fields = {}): Tool =>
    tool({
      name: 'work',
      description: 'Works',
      input,
      onCrash: 'rerun',
      execute: (given: unknown) => void seen.push(given),
      ...fields,
    })
  const length = z.object({ text: z.string().transform((text) => text.length) })
  const number = z.object({ text: z.number() })
  const ask = { id: 'c', name: 'work', input: { text: 'abc' } }
  const run = async (runtime: Runtime) => (await runtime.session('s').run([ask]))[0]

  /** Starts the call, loses its worker when `isReady`, and continues it with another tool. */
  const continued = async (was: Tool, now: Tool, isReady: (old: Runtime) => unknown, on?: Store): Promise<Runtime> => {
    seen.length = 0
    const old = await start([was], on ?? first.store)
    ignoreResult(run(old))
    await until(() => isReady(old))
    first.die()
    return takeOver([now])
  }
  const inboxOf = (runtime: Runtime): Promise<InboxItem> => until(async () => (await runtime.inbox())[0])
  const isParked = async (runtime: Runtime): Promise<boolean> => (await runtime.inbox()).length > 0
  const stateOf = async (): Promise<string | undefined> => (await store.unsettled({ after: '', limit: 1 }))[0]?.state
  /** The start of a body that may run again is written a moment later. */
  const attemptBegan = async (): Promise<boolean> => (await clock.advance(10), (await stateOf()) === 'running')

  test('DUR-15 POL-2: other words in a description do not validate a transformed value again', async () => {
    const approval = 'always' as const
    const next = await continued(
      work(length, { approval }),
      work(length, { approval, description: 'Works well' }),
      isParked,
    )
    const { id } = await inboxOf(next)
    await next.decide(id, { approve: true, ...bea })
    const again = await until(async () => (await next.inbox()).find((item) => item.id !== id))
    expect(again.args).toEqual({ text: 3 })
    await next.decide(again.id, { approve: true, ...bea })
    expect(await run(next)).toMatchObject({ status: 'success' })
    expect(seen).toEqual([{ text: 3 }])
  })

  test('DUR-15: a person approves a call whose tool no longer accepts its arguments: tool_changed', async () => {
    const approval = 'always' as const
    const next = await continued(work(length, { approval }), work(number, { approval }), isParked)
    await next.decide((await inboxOf(next)).id, { approve: true, ...bea })
    expect(await run(next)).toMatchObject({
      failure: { code: 'tool_changed', message: expect.stringMatching(/It was not run\. Read its schema/) },
    })
    expect(seen).toEqual([])
  })

  test('DUR-15 POL-3: a person edits the arguments for the new schema, and they run', async () => {
    const next = await continued(work(length, { approval: 'always' }), work(number), isParked)
    expect(await next.decide((await inboxOf(next)).id, { edit: { text: 5 }, ...bea })).toMatchObject({
      status: 'edited',
    })
    expect(await run(next)).toMatchObject({ status: 'success' })
    expect(seen).toEqual([{ text: 5 }])
  })

  test('DUR-15 POL-3: a person answers in place of a tool that has changed', async () => {
    const next = await continued(work(length, { approval: 'always' }), work(number), isParked)
    await next.decide((await inboxOf(next)).id, { answer: 'by hand', ...bea })
    expect(await run(next)).toMatchObject({ status: 'success', value: 'by hand' })
    expect(seen).toEqual([])
  })

  test('DUR-15: an edit made under the old schema that the new one rejects ends as tool_changed', async () => {
    const old = await start([work(length, { approval: 'always' })], first.store)
    ignoreResult(run(old))
    const { id } = await inboxOf(old)
    first.die()
    // This runtime decides with the old tool and runs nothing.
    const desk = await start([work(length, { approval: 'always' })], store, { worker: false })
    expect(await desk.decide(id, { edit: { text: 'edited' }, ...bea })).toMatchObject({ status: 'edited' })
    seen.length = 0
    const next = await takeOver([work(number)])
    expect(await run(next)).toMatchObject({ failure: { code: 'tool_changed' } })
    expect(seen).toEqual([])
  })

  test('DUR-15 DUR-2: an interrupted stop tool whose schema changed ends as unknown', async () => {
    const stop: Fields = { onCrash: 'stop', execute: hang }
    let asked = 0
    const reconcile = (): undefined => void asked++
    const next = await continued(work(length, stop), work(number, { onCrash: 'stop', reconcile }), attemptBegan)
    expect(await run(next)).toMatchObject({ status: 'unknown' })
    expect([seen, asked]).toEqual([[], 0])
  })

  test('DUR-15: reconcile gets the arguments that the new schema makes of those asked', async () => {
    const now = z.object({ text: z.string().transform((text) => text.toUpperCase()), more: z.number().default(1) })
    const looked: unknown[] = []
    const reconcile = (given: unknown) => (looked.push(given), { value: 'found' })
    const stop: Fields = { onCrash: 'stop', execute: hang }
    const next = await continued(work(length, stop), work(now, { onCrash: 'stop', reconcile }), attemptBegan)
    expect(await run(next)).toMatchObject({ value: 'found' })
    expect(looked).toEqual([{ text: 'ABC', more: 1 }])
  })

  test('DUR-15: what the new schema made is recorded: the next recovery does not make it again', async () => {
    let made = 0
    const now = z.object({ text: z.string(), id: z.string().default(() => `id ${++made}`) })
    const live = (execute: (given: unknown) => unknown): Tool => work(now, { execute })
    const second = mortalStore(store)
    ignoreResult(run(await start([work(length, { execute: hang })], first.store)))
    await until(attemptBegan)
    first.die()
    seen.length = 0
    await start([live((given) => (seen.push(given), hang()))], second.store)
    await clock.advance('31s')
    await until(async () => (await clock.advance(10), seen.length === 1))
    second.die()
    const last = await takeOver([live((given) => void seen.push(given))])
    const outcome = run(last)
    // Two workers died while they ran the call, so it starts when this one has been up for a while.
    for (let minute = 0; minute < 3; minute++) await clock.advance('1m')
    expect(await outcome).toMatchObject({ status: 'success' })
    expect(seen).toEqual([{ text: 'abc', id: expect.stringMatching(/^id /) }, seen[0]])
  })

  test('DUR-15: a computed default or another order of fields is not a change', async () => {
    let made = 0
    const a = z.string().default(() => `made ${++made}`)
    const next = await continued(
      work(z.object({ a, text: z.string() }), { execute: hang }),
      work(z.object({ text: z.string().describe('Any text'), a })),
      attemptBegan,
    )
    const count = made
    expect(await run(next)).toMatchObject({ status: 'success' })
    expect(seen).toEqual([{ a: expect.stringMatching(/^made /), text: 'abc' }])
    expect(made).toBe(count)
  })

  test('DUR-15: a record without a digest is checked', async () => {
    const withoutDigest = (change: Change): Change => {
      const terms = change.updateCall?.progress.terms
      if (!change.updateCall || !terms) return change
      const { schema: _, ...rest } = JSON.parse(terms) as CallTerms
      const progress = { ...change.updateCall.progress, terms: JSON.stringify(rest) }
      return { ...change, updateCall: { ...change.updateCall, progress } }
    }
    const before: Store = {
      ...first.store,
      commit: (change) => first.store.commit(withoutDigest(change)),
      write: (change, heard, how) => first.store.write(withoutDigest(change), heard, how),
    }
    const next = await continued(work(length, { execute: hang }), work(number), attemptBegan, before)
    expect(await run(next)).toMatchObject({ failure: { code: 'tool_changed' } })
    expect(seen).toEqual([])
  })

  test('DUR-15: the next attempt of a retried call does not run with arguments that do not fit', async () => {
    let failed = 0
    const policy = { attempts: 3, base: '1h', cap: '1h' } as const
    const fails = (): never => {
      failed++
      throw retry({ after: '1h' })
    }
    const next = await continued(
      work(length, { retry: policy, execute: fails }),
      work(number, { retry: policy }),
      async () => {
        await clock.advance(10)
        return failed === 1 && (await stateOf()) === 'queued'
      },
    )
    await clock.advance('3h')
    expect(await run(next)).toMatchObject({ attempts: 1, failure: { code: 'tool_changed' } })
    expect(seen).toEqual([])
  })

  test('DUR-15 TASK-3: a task whose arguments do not fit fails as tool_changed', async () => {
    const old = await start([work(length, { background: true, execute: hang })], first.store)
    await old.session('s').tasks.start({ id: 't', tool: 'work', input: { text: 'abc' } })
    await until(attemptBegan)
    first.die()
    seen.length = 0
    const next = await takeOver([work(number, { background: true })])
    await until(async () => (await next.session('s').tasks.get('t'))?.state === 'failed')
    const { outcome } = (await next.session('s').tasks.get('t')) ?? {}
    expect(outcome).toMatchObject({ failure: { code: 'tool_changed' } })
    expect(seen).toEqual([])
  })

  test('CALL-7 DUR-15: a changed version with an upgrade comes before the digest', async () => {
    const upgrade = ({ args }: { args: unknown }) => ({ text: (args as { text: number }).text + 0.5 })
    const next = await continued(work(length, { execute: hang }), work(number, { version: '2', upgrade }), attemptBegan)
    expect(await run(next)).toMatchObject({ status: 'success' })
    expect(seen).toEqual([{ text: 3.5 }])
  })

  test('DUR-15: a call that waits for an external answer ends with it, whatever its schema is now', async () => {
    const keys: string[] = []
    const old = argumentTool('work', length, { onCrash: 'rerun' }, async (_, ctx) => {
      const later = await ctx.later()
      keys.push(later.key)
      return later
    })
    const next = await continued(old, work(number), async () => (await stateOf()) === 'parked')
    await next.resolve(keys[0] as string, { value: 'answered' })
    expect(await run(next)).toMatchObject({ status: 'success', value: 'answered' })
  })
})
