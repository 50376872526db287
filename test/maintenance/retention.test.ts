// prune() and erase() as a host uses them, and the errors that feed readers get for removed events.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type FeedEvent, type Runtime, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { rerunTool } from '../kit/simple-tools.ts'

const input = { type: 'object' } as const
const echo = rerunTool('echo', (given, ctx) => ctx.step('s', given, (same) => same))
const parks = tool({ name: 'parks', description: 'Parks', input, onCrash: 'rerun', execute: (_, ctx) => ctx.later() })
const keeps = tool({
  name: 'keeps',
  description: 'Keeps a text as an attachment',
  input,
  hints: { readOnly: true },
  execute: async ({ text }, ctx) => ctx.attachments.create(text as string, { mediaType: 'text/plain' }),
})
const tools = [echo, parks, keeps]

async function read(events: AsyncIterable<FeedEvent>, most: number): Promise<FeedEvent[]> {
  const found: FeedEvent[] = []
  for await (const event of events) if (found.push(event) === most) break
  return found
}

async function idsOf(runtime: Runtime, session: string): Promise<string[]> {
  return (await runtime.session(session).calls.list()).map(({ callId }) => callId)
}

onEachStore('retention', ({ open }) => {
  test('DUR-10: prune removes only calls that settled long ago', async () => {
    const clock = manualClock()
    const runtime = await open(tools, { clock })
    await runtime.session('old').run([{ id: 'a', name: 'echo', input: {} }])
    await runtime.session('busy').run([{ id: 'a', name: 'echo', input: {} }])
    await runtime.session('busy').run([{ id: 'b', name: 'parks' }], { until: 'waiting' })
    await clock.advance(1000 * 60 * 60 * 24)
    await runtime.session('new').run([{ id: 'a', name: 'echo', input: {} }])
    expect(await runtime.prune({ olderThan: '12h' })).toMatchObject({ calls: 1, more: false })
    expect([await idsOf(runtime, 'old'), await idsOf(runtime, 'busy'), await idsOf(runtime, 'new')]).toEqual([
      [],
      ['a', 'b'],
      ['a'],
    ])
    // The settled call of a batch that is still open is kept.
    expect(await runtime.session('busy').run([{ id: 'a', name: 'echo', input: {} }])).toMatchObject([
      { status: 'success', attempts: 1 },
    ])
  })

  test('DUR-10: prune stops at its limit, reports more, and requires an age', async () => {
    const runtime = await open(tools)
    await runtime.session('s').run(['a', 'b', 'c'].map((id) => ({ id, name: 'echo', input: {} })))
    const settledBefore = Date.now() + 1000
    expect(await runtime.prune({ settledBefore, limit: 2 })).toMatchObject({ calls: 2, more: true })
    expect(await runtime.prune({ settledBefore, limit: 2 })).toMatchObject({ calls: 1, more: false })
    await expect(runtime.prune({})).rejects.toMatchObject({ code: 'config_invalid' })
    await expect(runtime.prune({ settledBefore: Number.NaN })).rejects.toMatchObject({ code: 'config_invalid' })
    await expect(runtime.erase({})).rejects.toMatchObject({ code: 'config_invalid' })
  })

  test('DUR-10: erase refuses a session with open calls unless they are cancelled first', async () => {
    const runtime = await open(tools)
    const session = runtime.session('s')
    await session.run([{ id: 'a', name: 'echo', input: {} }])
    await session.run([{ id: 'b', name: 'parks' }], { until: 'waiting' })
    await expect(runtime.erase({ session: 's' })).rejects.toMatchObject({
      code: 'erase_open',
      message: expect.stringMatching(/'b' of parks in session 's' is parked.*Nothing was erased.*cancel/),
      details: { calls: [{ id: 'b', state: 'parked' }] },
    })
    await expect(runtime.erase({ tenant: 'default' })).rejects.toMatchObject({ code: 'erase_open' })
    expect(await idsOf(runtime, 's')).toEqual(['a', 'b'])
    expect(await runtime.erase({ session: 's', open: 'cancel' })).toMatchObject({ calls: 2, more: false })
    expect(await idsOf(runtime, 's')).toEqual([])
    // The session can be used again.
    expect(await session.run([{ id: 'a', name: 'echo', input: { again: true } }])).toMatchObject([
      { status: 'success' },
    ])
    expect((await read(session.events(), 1))[0]).toMatchObject({ seq: 1 })
  })

  test('DUR-10: an attachment is erased with the last session that created or received it', async () => {
    const runtime = await open(tools)
    const [a, b, c] = [runtime.session('a'), runtime.session('b'), runtime.session('c')]
    const [made] = await a.run([{ id: '1', name: 'keeps', input: { text: 'shared' } }])
    const [own] = await a.run([{ id: '2', name: 'keeps', input: { text: 'own' } }])
    await b.run([{ id: '1', name: 'keeps', input: { text: 'shared' } }])
    if (made?.status !== 'success' || own?.status !== 'success') throw new Error('not made')
    // Received as a value, not created in this session.
    await c.run([{ id: '1', name: 'echo', input: { file: made.value } }])
    expect(await runtime.erase({ session: 'a' })).toMatchObject({ attachments: 1 })
    await expect(b.attachments.read(own.value as never)).rejects.toMatchObject({ code: 'attachment_unknown' })
    expect(Buffer.from(await b.attachments.read(made.value as never)).toString()).toBe('shared')
    expect(await runtime.erase({ session: 'b' })).toMatchObject({ attachments: 0 })
    expect(Buffer.from(await c.attachments.read(made.value as never)).toString()).toBe('shared')
    expect(await runtime.erase({ session: 'c' })).toMatchObject({ attachments: 1 })
    await expect(c.attachments.read(made.value as never)).rejects.toMatchObject({ code: 'attachment_unknown' })
  })

  test('FEED-1: a reader behind an erasure gets cursor_expired, and other readers continue', async () => {
    const runtime = await open(tools)
    const session = runtime.session('s')
    const other = runtime.session('other')
    await session.run([{ id: 'a', name: 'echo', input: {} }])
    await other.run([{ id: 'a', name: 'echo', input: {} }])
    const seen = await read(session.events(), 4)
    const all = await read(runtime.events(), 8)
    await runtime.prune({ settledBefore: Date.now() + 1000, tenant: 'nobody' })
    await runtime.erase({ session: 's' })
    await session.run([{ id: 'b', name: 'echo', input: {} }])
    const expired = { code: 'cursor_expired', message: expect.stringMatching(/from the beginning/) }
    await expect(read(session.events({ after: seen[0]?.cursor as string }), 1)).rejects.toMatchObject(expired)
    await expect(read(runtime.events({ after: all[0]?.cursor as string }), 1)).rejects.toMatchObject(expired)
    // A cursor after the erased events is still valid.
    expect(await read(session.events({ after: seen.at(-1)?.cursor as string }), 4)).toHaveLength(4)
    expect(await read(runtime.events({ after: all.at(-1)?.cursor as string }), 4)).toHaveLength(4)
    expect(await read(other.events({ after: all[4]?.cursor as string }), 3)).toHaveLength(3)
    // Reading from the start returns all remaining events, and each of their cursors works.
    const left = await read(runtime.events(), 8)
    for (const [index, { cursor }] of left.slice(0, -1).entries()) {
      expect((await read(runtime.events({ after: cursor }), 7 - index)).map(({ position }) => position)).toEqual(
        left.slice(index + 1).map(({ position }) => position),
      )
    }
  })

  test('FEED-1: an active reader gets cursor_expired when prune removes unread events', async () => {
    const runtime = await open(tools)
    const session = runtime.session('s')
    for (let n = 0; n < 70; n++) await session.run([{ id: `${n}`, name: 'echo', input: {} }])
    const reading = session.events()[Symbol.asyncIterator]()
    await reading.next()
    await runtime.prune({ settledBefore: Date.now() + 1000 })
    await session.run([{ id: 'last', name: 'echo', input: {} }])
    const rest = (async () => {
      for (;;) await reading.next()
    })()
    await expect(rest).rejects.toMatchObject({ code: 'cursor_expired' })
    // The sequence did not restart.
    expect((await read(session.events(), 1))[0]).toMatchObject({ seq: 281 })
  })

  test('DUR-10: two concurrent prunes share the work while calls run', async () => {
    const runtime = await open(tools)
    const session = (n: number): string => `s${n % 20}`
    await Promise.all(
      Array.from({ length: 300 }, (_, n) => runtime.session(session(n)).run([{ id: `${n}`, name: 'echo', input: {} }])),
    )
    const settledBefore = Date.now() + 1000
    const running = Promise.all(
      Array.from({ length: 100 }, (_, n) => runtime.session('live').run([{ id: `${n}`, name: 'echo', input: { n } }])),
    )
    const sums = await Promise.all([runtime.prune({ settledBefore }), runtime.prune({ settledBefore })])
    expect((await running).flat().filter(({ status }) => status === 'success')).toHaveLength(100)
    const later = await runtime.prune({ settledBefore: Date.now() + 1000 })
    expect(sums[0].calls + sums[1].calls + later.calls).toBe(400)
    expect(sums[0].calls + sums[1].calls).toBeGreaterThanOrEqual(300)
  })
})

test('DUR-10: erased data is gone from all bytes of the SQLite files', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-erase-'))
  const runtime = await createRuntime({ store: `sqlite:${join(dir, 'a.db')}`, tools })
  try {
    const secret = 'canary-7f3a'
    const big = `${secret} `.repeat(3_000)
    for (let n = 0; n < 120; n++) {
      await runtime.session('private-session').run([
        { id: `${secret}-id-${n}`, name: 'echo', input: { text: n % 3 === 0 ? big : secret, n } },
        { id: `k${n}`, name: 'keeps', input: { text: `${n} ${big}` } },
      ])
      await runtime.session('other').run([{ id: `${n}`, name: 'echo', input: { text: 'stays-5512' } }])
    }
    await runtime.session('private-session').run([{ id: 'p', name: 'parks', input: { secret } }], { until: 'waiting' })
    const holds = (text: string): string[] =>
      readdirSync(dir).filter((name) => readFileSync(join(dir, name)).includes(text))
    expect(holds(secret)).not.toEqual([])
    expect(await runtime.erase({ session: 'private-session', open: 'cancel' })).toMatchObject({
      calls: 241,
      attachments: 120,
      traces: false,
    })
    expect(holds(secret)).toEqual([])
    expect(holds('private-session')).toEqual([])
    expect(holds('stays-5512')).toEqual(['a.db'])
  } finally {
    await runtime.close()
    rmSync(dir, { recursive: true, force: true })
  }
})
