// An announcement of a wait is delivered to the host with the wait key, if and only if the call waits. On all three
// stores.

import type { Announcement, FeedEvent, Runtime, WaitAnnouncement } from 'pawl'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { onEveryStore, until } from '../../kit/stores/all-stores.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'
import { argumentTool } from '../../kit/simple-tools.ts'

const gates = new Map<string, Promise<void>>()
const keys = new Map<string, string>()

const asks = argumentTool(
  'asks',
  z.object({ how: z.enum(['parks', 'inside', 'both', 'never']) }),
  { onCrash: 'rerun', concurrency: 'parallel', timeout: '30d' },
  async ({ how }, ctx) => {
    const announce = { type: 'question', payload: { text: 'May I?', session: ctx.session } }
    const later = await ctx.later<unknown>({ name: 'permission', deadline: '1h', announce })
    keys.set(ctx.session, later.key)
    await gates.get(ctx.session)
    if (how === 'never') return 'asked nobody'
    if (how === 'inside') return await later.value
    if (how === 'both') await Promise.race([later.value, ctx.step('look', () => 'not yet')])
    return later
  },
)

const idOf = (session: string) => ({ id: 'a', name: 'asks', input: { how: session.split(' ')[0] as 'parks' } })

onEveryStore('announcements', (ground) => {
  const { clock } = ground
  beforeAll(() => keys.clear())
  const got: WaitAnnouncement[] = []
  const of = (session: string): WaitAnnouncement[] => got.filter((each) => each.session === session)
  const take = (announcement: Announcement): void => void got.push(announcement as WaitAnnouncement)
  const parked = (runtime: Runtime, session: string) =>
    until(async () => (await runtime.session(session).calls.get('a'))?.state === 'parked')
  const eventsOf = async (session: string): Promise<FeedEvent[]> =>
    (await ground.store.events({ after: 0, limit: 10_000, of: { tenant: 'default', session } })) as FeedEvent[]
  /** The open deliveries. */
  const deliveries = async () =>
    (await ground.store.unsettled({ after: '', limit: 1_000 })).filter(({ tool: name }) => name === 'pawl:announce')
  const open = async (): Promise<number> => (await deliveries()).length

  test.for(['parks', 'inside', 'both'])(
    'WAIT-5: %s: the announcement is delivered once with the key; the feed has no key',
    async (session) => {
      const { runtime } = await ground.worker({ tools: [asks], announce: take })
      const run = runtime.session(session).run([idOf(session)])
      await until(() => of(session).length > 0)
      const [announcement] = of(session) as [WaitAnnouncement]
      const call = await runtime.session(session).calls.get('a')
      expect(announcement).toEqual({
        about: 'wait',
        id: call?.waits[0]?.id,
        type: 'question',
        payload: { text: 'May I?', session },
        key: keys.get(session),
        wait: 'permission',
        deadline: call?.waits[0]?.deadline,
        call: call?.uid,
        callId: 'a',
        session,
        tenant: 'default',
      })
      expect(await runtime.resolve(announcement.key, { value: 'yes' })).toEqual({ answer: 'accepted' })
      expect(await run).toMatchObject([{ status: 'success', value: 'yes' }])
      const events = await eventsOf(session)
      expect(events.filter(({ type }) => type === 'wait.announced').map(({ body }) => body)).toEqual([
        { wait: announcement.id, type: 'question', payload: { text: 'May I?', session } },
      ])
      if (session === 'parks') {
        const types = events.map(({ type }) => type as string)
        expect(types.indexOf('wait.announced')).toBe(types.indexOf('call.parked') + 1)
      }
      expect(JSON.stringify(events)).not.toContain(announcement.key)
      await until(async () => (await open()) === 0)
      expect(of(session)).toHaveLength(1)
      await runtime.close()
    },
  )

  test.for(['parks early', 'inside early', 'never'])(
    'WAIT-5: %s: a call that does not wait announces nothing',
    async (session) => {
      const gate = Promise.withResolvers<void>()
      gates.set(session, gate.promise)
      const { runtime } = await ground.worker({ tools: [asks], announce: take })
      const run = runtime.session(session).run([idOf(session)])
      await until(() => keys.has(session))
      if (session !== 'never')
        expect(await runtime.resolve(keys.get(session) as string, { value: 'yes' })).toEqual({ answer: 'accepted' })
      gate.resolve()
      expect(await run).toMatchObject([{ status: 'success' }])
      expect((await eventsOf(session)).filter(({ type }) => type === 'wait.announced')).toEqual([])
      expect(await open()).toBe(0)
      expect(of(session)).toEqual([])
      await runtime.close()
    },
  )

  test.for(['parks and fails', 'inside and fails'])(
    'WAIT-5: %s: a failing announcer is retried with backoff while the call waits',
    async (session) => {
      let tries = 0
      const announce = (announcement: Announcement): Promise<void> | void => {
        if (++tries <= 3) return Promise.reject(new Error('The line is down'))
        take(announcement)
      }
      const { runtime } = await ground.worker({ tools: [asks], announce })
      const run = runtime.session(session).run([idOf(session)])
      for (const [index, wait] of (['1s', '2s', '4s'] as const).entries()) {
        await until(() => tries === index + 1)
        // The delay is recorded before it starts.
        await until(async () => (await deliveries()).filter(({ state }) => state === 'queued').length === 1)
        await clock.advance(0)
        expect(tries).toBe(index + 1)
        await clock.advance(wait)
      }
      await until(() => of(session).length === 1)
      expect(
        ground.logged.filter(({ message }) => message.includes('`announce` failed')).length,
      ).toBeGreaterThanOrEqual(3)
      await runtime.resolve((of(session)[0] as WaitAnnouncement).key, { value: 'yes' })
      expect(await run).toMatchObject([{ status: 'success', value: 'yes' }])
      await until(async () => (await open()) === 0)
      expect(tries).toBe(4)
      await runtime.close()
    },
  )

  test('WAIT-5: resolving the wait ends the retries of a failing announcer', async () => {
    const session = 'parks and nobody hears'
    let tries = 0
    const { runtime } = await ground.worker({
      tools: [asks],
      announce: () => Promise.reject(new Error(`No line ${++tries}`)),
    })
    const run = runtime.session(session).run([idOf(session)])
    await until(() => tries === 1)
    await runtime.resolve(keys.get(session) as string, { value: 'by another way' })
    expect(await run).toMatchObject([{ value: 'by another way' }])
    await until(async () => (await deliveries()).filter(({ state }) => state === 'queued').length === 1)
    await clock.advance('1s')
    await until(async () => (await open()) === 0)
    expect(tries).toBe(1)
    await runtime.close()
  })

  test.for(['parks and crashes', 'inside and crashes'])(
    'WAIT-5: %s: an undelivered announcement is delivered after a crash, with the same id',
    async (session) => {
      const seen: WaitAnnouncement[] = []
      const hangs = (announcement: Announcement): Promise<void> => (
        seen.push(announcement as WaitAnnouncement),
        new Promise(() => {})
      )
      const first = await ground.worker({ tools: [asks], announce: hangs })
      ignoreResult(first.runtime.session(session).run([idOf(session)]))
      await until(() => seen.length === 1)
      await first.die()
      const second = await ground.worker({ tools: [asks], announce: take })
      await until(() => of(session).length === 1)
      expect(of(session)).toEqual(seen)
      await until(async () => (await open()) === 0)
      await second.die()
      // Delivered: the next worker does not deliver it again.
      const third = await ground.worker({ tools: [asks], announce: take })
      const run = third.runtime.session(session).run([idOf(session)])
      await third.runtime.resolve(seen[0]?.key as string, { value: 'yes' })
      expect(await run).toMatchObject([{ status: 'success', value: 'yes' }])
      expect(of(session)).toHaveLength(1)
      await third.runtime.close()
    },
  )

  test('WAIT-5: a runtime without announce leaves the delivery to others, and one delivers', async () => {
    const session = 'parks elsewhere'
    const asking = await ground.worker({ tools: [asks] })
    const run = asking.runtime.session(session).run([idOf(session)])
    await parked(asking.runtime, session)
    expect(of(session)).toEqual([])
    const doors = [await ground.worker({ announce: take }), await ground.worker({ announce: take })]
    await until(() => of(session).length === 1)
    await until(async () => (await open()) === 0)
    await asking.runtime.resolve((of(session)[0] as WaitAnnouncement).key, { value: 'yes' })
    expect(await run).toMatchObject([{ value: 'yes' }])
    expect(of(session)).toHaveLength(1)
    for (const { runtime } of [asking, ...doors]) await runtime.close()
  })
})
