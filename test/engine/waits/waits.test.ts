// Waits on all three stores: timeouts, cancels, checked answers, secret keys, and thousands of parked calls.

import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type LaterOptions, type Runtime } from 'pawl'
import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { onEveryStore, until } from '../../kit/stores/all-stores.ts'
import { argumentTool, rerunTool, simpleTool } from '../../kit/simple-tools.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'
import { long } from '../../kit/long-run.ts'

/** Wait keys by session. */
const keys = new Map<string, string>()
const keyOf = async (session: string): Promise<string> => {
  await until(() => keys.has(session))
  return keys.get(session) as string
}
const parked = (runtime: Runtime, session: string, id = 'a'): Promise<void> =>
  until(async () => (await runtime.session(session).calls.get(id))?.state === 'parked')

/** Id of the call whose key was created last. */
let lastAsked = ''

const asks = (options: LaterOptions = {}) =>
  argumentTool(
    'asks',
    z.object({ inside: z.boolean().default(false) }),
    { onCrash: 'rerun', concurrency: 'parallel', timeout: '30d' },
    async ({ inside }, ctx) => {
      const later = await ctx.later<unknown>(options)
      keys.set(ctx.session, later.key)
      lastAsked = ctx.callId
      return inside ? await later.value : later
    },
  )
const works = simpleTool(
  'works',
  {
    description: 'Works on until it is told to stop',
    timeout: '30d',
    concurrency: 'parallel',
  },
  (_, ctx) =>
    new Promise((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error))),
)

onEveryStore('waits', (ground) => {
  const { clock } = ground
  beforeAll(() => keys.clear())

  test.for([
    [false, 'result'],
    [true, 'result'],
    [false, 'fail'],
    [true, 'fail'],
  ] as const)('WAIT-4: inside %s, onTimeout %s: a timeout fails the call or the turn', async ([inside, onTimeout]) => {
    const session = `silence ${onTimeout} ${inside}`
    const { runtime } = await ground.worker({ tools: [asks({ deadline: '1h', onTimeout }), works] })
    const run = runtime.session(session).run([
      { id: 'a', name: 'asks', input: { inside } },
      { id: 'works', name: 'works' },
    ])
    const outcome = async () => (await runtime.session(session).calls.get('a'))?.outcome ?? null
    await keyOf(session)
    if (!inside) await parked(runtime, session)
    await clock.advance('1h')
    await until(async () => (await outcome()) !== null)
    const fails = onTimeout === 'fail'
    expect(await outcome()).toMatchObject({
      failure: { class: 'timeout', code: fails ? 'turn_aborted' : 'wait_timeout', source: 'runtime' },
    })
    // Failing the turn cancels the sibling; failing the call does not.
    if (!fails) await runtime.session(session).cancel('By hand')
    const [, other] = await run
    expect(other).toMatchObject({
      status: 'cancelled',
      cancellation: { message: fails ? "Stopped because 'a' failed" : 'By hand' },
    })
    const terminal = fails ? { timeout: true, failsTurn: true } : { timeout: true }
    expect(await runtime.resolve(keys.get(session) as string, { value: 1 })).toEqual({
      answer: 'already_resolved',
      terminal,
    })
    await runtime.close()
  })

  const heard: { session: string; key: string; name: string; input: unknown; reason: unknown }[] = []
  const stoppable = (onCancel: LaterOptions['onCancel'], cancel: () => unknown = () => {}) =>
    argumentTool(
      'stoppable',
      z.object({ inside: z.boolean(), what: z.string() }),
      {
        description: 'Waits for the outside, which can be stopped',
        onCrash: 'rerun',
        cancel({ key, name, input }, ctx) {
          heard.push({ session: ctx.session, key, name, input, reason: ctx.attempt })
          return cancel()
        },
      },
      async ({ inside }, ctx) => {
        const later = await ctx.later<unknown>({ name: 'job', ...(onCancel ? { onCancel } : {}) })
        keys.set(ctx.session, later.key)
        return inside ? await later.value : later
      },
    )

  test.for([
    [false, undefined],
    [true, undefined],
    [false, 'ignore'],
    [true, 'ignore'],
  ] as const)(
    "WAIT-4: inside %s, onCancel %s: the tool's cancel runs once with key and arguments",
    async ([inside, onCancel]) => {
      const session = `cancel ${onCancel} ${inside}`
      const { runtime } = await ground.worker({ tools: [stoppable(onCancel)] })
      const input = { inside, what: 'paint' }
      const run = runtime.session(session).run([{ id: 'a', name: 'stoppable', input }])
      const key = await keyOf(session)
      if (!inside) await parked(runtime, session)
      await runtime.session(session).cancel('Changed our mind', 'user:ada')
      expect(await run).toMatchObject([{ status: 'cancelled', cancellation: { message: 'Changed our mind' } }])
      const told = heard.filter((each) => each.session === session)
      expect(told).toMatchObject(onCancel === 'ignore' ? [] : [{ key, name: 'job', input }])
      expect(await runtime.resolve(key, { value: 1 })).toEqual({
        answer: 'already_resolved',
        terminal: { cancelled: 'Changed our mind' },
      })
      await runtime.close()
    },
  )

  test("WAIT-4: a cancel through resolve() does not run the tool's cancel", async () => {
    const { runtime } = await ground.worker({ tools: [stoppable(undefined)] })
    const run = runtime
      .session('from outside')
      .run([{ id: 'a', name: 'stoppable', input: { inside: false, what: 'x' } }])
    await runtime.resolve(await keyOf('from outside'), { cancelled: 'Shop closed' })
    expect(await run).toMatchObject([{ status: 'cancelled', cancellation: { message: 'Shop closed' } }])
    expect(heard.filter(({ session }) => session === 'from outside')).toEqual([])
    await runtime.close()
  })

  test("WAIT-4: the tool's cancel skips a wait that the outside cancelled with the same words", async () => {
    const both: string[] = []
    const two = rerunTool('two', { cancel: ({ name }) => void both.push(name) }, async (_, ctx) => {
      const [closed, open] = [await ctx.later({ name: 'closed' }), await ctx.later({ name: 'open' })]
      keys.set(ctx.session, closed.key)
      await closed.value.catch(() => keys.set('cancelled twice: closed', closed.key))
      return open.value
    })
    const { runtime } = await ground.worker({ tools: [two] })
    const session = 'cancelled twice'
    const run = runtime.session(session).run([{ id: 'a', name: 'two' }])
    await runtime.resolve(await keyOf(session), { cancelled: 'Stop' })
    await keyOf('cancelled twice: closed')
    await runtime.session(session).cancel('Stop')
    expect(await run).toMatchObject([{ status: 'cancelled', cancellation: { message: 'Stop' } }])
    expect(both).toEqual(['open'])
    await runtime.close()
  })

  test.for(['throws', 'hangs'])(
    "WAIT-4: a tool's cancel that %s is logged and does not change the outcome",
    async (how) => {
      const cancel = how === 'throws' ? () => Promise.reject(new Error('No line')) : () => new Promise(() => {})
      const { runtime } = await ground.worker({ tools: [stoppable(undefined, cancel)] })
      const run = runtime.session(how).run([{ id: 'a', name: 'stoppable', input: { inside: false, what: 'x' } }])
      await keyOf(how)
      await parked(runtime, how)
      await runtime.session(how).cancel('Enough')
      await until(() => heard.some(({ session }) => session === how))
      if (how === 'hangs') {
        await clock.advance('5s')
        await clock.advance('1s')
      }
      expect(await run).toMatchObject([{ status: 'cancelled', cancellation: { message: 'Enough' } }])
      await until(() =>
        ground.logged.some(({ message }) =>
          message.includes(how === 'throws' ? '`cancel` of a tool threw' : '`cancel` of a tool did not'),
        ),
      )
      await runtime.close()
    },
  )

  test.for([false, true])("WAIT-4: inside %s: the tool's cancel runs again after a crash", async (inside) => {
    const session = `told again ${inside}`
    const first = await ground.worker({ tools: [stoppable(undefined, () => new Promise(() => {}))] })
    const ask = { id: 'a', name: 'stoppable', input: { inside, what: 'x' } }
    ignoreResult(first.runtime.session(session).run([ask]))
    const key = await keyOf(session)
    if (!inside) await parked(first.runtime, session)
    await first.runtime.session(session).cancel('Enough')
    const told = () => heard.filter((each) => each.session === session)
    await until(() => told().length === 1)
    await first.die()
    const { runtime } = await ground.worker({ tools: [stoppable(undefined)] })
    expect(await runtime.session(session).run([ask])).toMatchObject([
      { status: 'cancelled', cancellation: { message: 'Enough' } },
    ])
    expect(told().map((each) => each.key)).toEqual([key, key])
    await runtime.close()
  })

  test('WAIT-4 TIME-3: cancelling a parent cancels the waits of its nested calls', async () => {
    const above = rerunTool('above', (_, ctx) =>
      ctx.run([{ id: 'x', name: 'stoppable', input: { inside: false, what: 'nested' } }]),
    )
    const { runtime } = await ground.worker({ tools: [above, stoppable(undefined)] })
    const run = runtime.session('nested').run([{ id: 'a', name: 'above' }])
    const key = await keyOf('nested')
    await until(async () => (await runtime.session('nested').calls.list({ status: 'parked' })).length === 1)
    await runtime.session('nested').cancel('Enough')
    expect(await run).toMatchObject([{ status: 'cancelled' }])
    await until(() => heard.some(({ session }) => session === 'nested'))
    expect(heard.filter(({ session }) => session === 'nested')).toMatchObject([{ key, input: { what: 'nested' } }])
    await runtime.close()
  })

  test('DUR-13: close() does not wait for a body whose nested calls only wait', async () => {
    const above = (name: string, below: string) =>
      rerunTool(name, async (_, ctx) => ctx.run([{ id: 'x', name: below, input: {} }]))
    const tools = [above('top', 'middle'), above('middle', 'asks'), asks()]
    const { runtime } = await ground.worker({ tools })
    ignoreResult(runtime.session('idle').run([{ id: 'a', name: 'top' }]))
    await until(async () => (await runtime.session('idle').calls.list({ status: 'parked' })).length === 1)
    // The clock does not advance: if close() used its grace period, it would never end.
    await runtime.close({ grace: '1h' })
    const next = await ground.worker({ tools })
    const run = next.runtime.session('idle').run([{ id: 'a', name: 'top' }])
    await next.runtime.resolve(keys.get('idle') as string, { value: 'done' })
    expect(await run).toMatchObject([{ status: 'success', value: [{ status: 'success', value: [{ value: 'done' }] }] }])
    await next.runtime.close()
  })

  const order = rerunTool(
    'order',
    { output: z.object({ id: z.string(), items: z.array(z.object({ count: z.number() })) }) },
    async (_, ctx) => {
      const later = await ctx.later<{ id: string; items: { count: number }[] }>()
      keys.set(ctx.session, later.key)
      return later
    },
  )

  test('WAIT-6: a value that violates the output schema is rejected and the wait stays open', async () => {
    const { runtime } = await ground.worker({ tools: [order] })
    const run = runtime.session('fits').run([{ id: 'a', name: 'order' }])
    const key = await keyOf('fits')
    await parked(runtime, 'fits')
    expect(await runtime.resolve(key, { value: { id: 7, items: [{ count: 1 }, { count: 'two' }] } })).toMatchObject({
      answer: 'invalid',
      problems: [
        expect.stringMatching(/^value\.id: .*string/),
        expect.stringMatching(/^value\.items\[1\]\.count: .*number/),
      ],
    })
    expect(await runtime.resolve(key, { value: 'no' })).toMatchObject({
      answer: 'invalid',
      problems: [expect.stringMatching(/^value: /)],
    })
    expect((await runtime.session('fits').calls.get('a'))?.state).toBe('parked')
    const value = { id: 'o1', items: [{ count: 2 }] }
    expect(await runtime.resolve(key, { value })).toEqual({ answer: 'accepted' })
    expect(await run).toMatchObject([{ status: 'success', value }])
    // Failures are not checked against the schema.
    const other = runtime.session('declined').run([{ id: 'a', name: 'order' }])
    const second = await keyOf('declined')
    await parked(runtime, 'declined')
    expect(await runtime.resolve(second, { failure: { code: 'declined', message: 'No' } })).toEqual({
      answer: 'accepted',
    })
    expect(await other).toMatchObject([{ failure: { code: 'declined' } }])
    await runtime.close()
  })

  test('WAIT-6: a runtime without the tool accepts only answers that need no check', async () => {
    const { runtime } = await ground.worker({ tools: [order, asks()] })
    const door = await ground.worker({})
    const strict = runtime.session('strict').run([{ id: 'a', name: 'order' }])
    const free = runtime.session('free').run([{ id: 'a', name: 'asks' }])
    await keyOf('strict')
    await keyOf('free')
    await parked(runtime, 'strict')
    await parked(runtime, 'free')
    const key = keys.get('strict') as string
    await expect(door.runtime.resolve(key, { value: 'no' })).rejects.toMatchObject({ code: 'answer_unchecked' })
    expect(await door.runtime.resolve(keys.get('free') as string, { value: 0 })).toEqual({ answer: 'accepted' })
    expect(await free).toMatchObject([{ status: 'success', value: 0 }])
    expect(await door.runtime.resolve(key, { failure: { code: 'x', message: 'y' } })).toEqual({ answer: 'accepted' })
    expect(await strict).toMatchObject([{ failure: { code: 'x' } }])
    await runtime.close()
    await door.runtime.close()
  })

  test('WAIT-6: an answer before the park is stored, and checked when the call parks', async () => {
    const gate = Promise.withResolvers<void>()
    const early = rerunTool('early', { output: z.string() }, async (_, ctx) => {
      const later = await ctx.later<string>()
      keys.set(ctx.session, later.key)
      await gate.promise
      return later
    })
    const { runtime } = await ground.worker({ tools: [early] })
    const run = runtime.session('early').run([{ id: 'a', name: 'early' }])
    expect(await runtime.resolve(await keyOf('early'), { value: 7 })).toEqual({ answer: 'accepted' })
    gate.resolve()
    expect(await run).toMatchObject([{ status: 'failure', failure: { class: 'internal', code: 'invalid_output' } }])
    await runtime.close()
  })

  test.for([[0], [''], [false], [null]])('WAIT-6: %j is a value and is checked', async ([value]) => {
    const session = `falsy ${JSON.stringify(value)}`
    const falsy = rerunTool(
      'falsy',
      {
        description: 'Takes what is falsy',
        output: z.union([z.literal(0), z.literal(''), z.literal(false), z.null()]),
      },
      async (_, ctx) => {
        const later = await ctx.later<0 | '' | false | null>()
        keys.set(ctx.session, later.key)
        return later
      },
    )
    const { runtime } = await ground.worker({ tools: [falsy] })
    const run = runtime.session(session).run([{ id: 'a', name: 'falsy' }])
    const key = await keyOf(session)
    await parked(runtime, session)
    expect(await runtime.resolve(key, { value: 1 })).toMatchObject({ answer: 'invalid' })
    expect(await runtime.resolve(key, { value })).toEqual({ answer: 'accepted' })
    expect(await run).toMatchObject([{ status: 'success', value }])
    await runtime.close()
  })

  test('WAIT-1: ctx.later rejects unknown options and values', async () => {
    const wrongs = [
      { onTimout: 'fail' },
      { onTimeout: 'error' },
      { onCancel: 'stop' },
      { announce: {} },
      { announce: { type: '' } },
    ]
    const codes: unknown[] = []
    const wrong = rerunTool('wrong', async (_, ctx) => {
      for (const each of wrongs)
        await ctx.later(each as never).catch((error: { code: string; message: string }) => codes.push(error.message))
      return null
    })
    const { runtime } = await ground.worker({ tools: [wrong] })
    await runtime.session('wrong').run([{ id: 'a', name: 'wrong' }])
    expect(codes).toEqual([
      expect.stringContaining('did you mean `onTimeout`?'),
      expect.stringContaining("'result' or 'fail'"),
      expect.stringContaining("'cancel' or 'ignore'"),
      expect.stringContaining('announce.type'),
      expect.stringContaining('announce.type'),
    ])
    await runtime.close()
  })

  // Fewer rounds on PostgreSQL, where each guess is a round trip; the code is the same.
  const rounds = ground.kind === 'postgres' ? 10 : long ? 1_000 : 100

  test(
    `WAIT-3: ${rounds * 100} guessed keys are rejected alike; of 100 valid answers one wins`,
    { timeout: 60_000 },
    async () => {
      const { runtime } = await ground.worker({ tools: [asks()] })
      const run = runtime.session('guessed', { tenant: 'one' }).run([{ id: 'a', name: 'asks' }])
      const key = await keyOf('guessed')
      await until(async () => (await runtime.session('guessed', { tenant: 'one' }).calls.get('a'))?.state === 'parked')
      for (let round = 0; round < rounds; round++) {
        const guesses = Array.from({ length: 100 }, () =>
          runtime.resolve(`pawl_${randomBytes(32).toString('base64url')}`, { value: 1 }),
        )
        for (const answer of await Promise.all(guesses))
          if (answer.answer !== 'unknown_or_revoked') expect(answer).toBe('refused')
      }
      const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => runtime.resolve(key, { value: n })))
      expect(answers.filter(({ answer }) => answer === 'accepted')).toHaveLength(1)
      const [outcome] = await run
      const terminal = { value: (outcome as unknown as { value: number }).value }
      expect(answers.filter((each) => each.answer === 'already_resolved')).toEqual(
        Array.from({ length: 99 }, () => ({ answer: 'already_resolved', terminal })),
      )
      await runtime.close()
    },
  )

  test('WAIT-3: the key of a call that ended without waiting is revoked', async () => {
    const leaves = rerunTool('leaves', { description: 'Does not wait after all' }, async (_, ctx) => {
      keys.set(ctx.session, (await ctx.later()).key)
      return 'done'
    })
    const { runtime } = await ground.worker({ tools: [leaves] })
    await runtime.session('leaves').run([{ id: 'a', name: 'leaves' }])
    expect(await runtime.resolve(keys.get('leaves') as string, { value: 1 })).toEqual({ answer: 'unknown_or_revoked' })
    await runtime.close()
  })

  const many = ground.kind === 'memory' ? 10_000 : 500

  test(
    `WAIT-1: ${many} parked calls use no timers, and a remote answer causes few reads`,
    { timeout: 60_000 },
    async () => {
      const { runtime } = await ground.worker({ tools: [asks()] })
      let reads = 0
      const { store } = ground
      const counted = {
        ...store,
        call: (uid: string) => (reads++, store.call(uid)),
        wait: (id: string) => (reads++, store.wait(id)),
      }
      const watching = await ground.worker({ store: counted, tools: [asks()] })
      const calls = Array.from({ length: many }, (_, n) => ({ id: `${n}`, name: 'asks' }))
      const before = clock.pending
      const batch = { batch: 'many', until: 'waiting' } as const
      expect((await runtime.session('many').run(calls, batch)).filter(({ status }) => status !== 'waiting')).toEqual([])
      // The second worker watches all calls.
      const watched = watching.runtime.session('many').run(calls, { batch: 'many' })
      watched.catch(() => {})
      await clock.advance(0)
      expect(clock.pending - before).toBeLessThanOrEqual(4)
      // One read of all calls may come first; after that one answer costs one read.
      const last = keys.get('many') as string
      await clock.advance('1s')
      // Queries are answered in order, so that all earlier reads have finished.
      for (let same = 0, had = -1; same < 50; same = reads === had ? same + 1 : 0) {
        had = reads
        await store.lastPosition()
        await new Promise((resolve) => setImmediate(resolve))
      }
      reads = 0
      expect(await runtime.resolve(last, { value: 'one' })).toEqual({ answer: 'accepted' })
      await until(
        async () => (await runtime.session('many').calls.get(lastAsked, { batch: 'many' }))?.state === 'settled',
      )
      for (let turn = 0; turn < 20; turn++) await clock.advance(0)
      expect(reads).toBeLessThan(20)
      await runtime.close({ grace: 0 })
      await watching.runtime.close({ grace: 0 })
    },
  )

  test('WAIT-3 WAIT-5: keys are not in the database, its log, the feed or the logs', async () => {
    const { runtime } = await ground.worker({ tools: [], announce: () => {} })
    const secrets = [...keys.values()].map((key) => key.slice('pawl_'.length))
    expect(secrets.length).toBeGreaterThan(0)
    const texts: string[] = [JSON.stringify(ground.logged)]
    for (let after = 0; ;) {
      const events = await ground.store.events({ after, limit: 1_000 })
      texts.push(JSON.stringify(events))
      if (events.length === 0) break
      after = events.at(-1)?.position ?? 0
    }
    for (const file of readdirSync(ground.dir)) texts.push(readFileSync(join(ground.dir, file), 'latin1'))
    if (ground.server) {
      const client = new pg.Client({ ...ground.server })
      await client.connect()
      for (const table of ['calls', 'steps', 'waits', 'events', 'settings', 'workers', 'attachments', 'log', 'meta'])
        texts.push(JSON.stringify((await client.query(`SELECT * FROM pawl.${table}`)).rows))
      await client.end()
    }
    const all = texts.join('\n')
    expect(all.length).toBeGreaterThan(10_000)
    expect(secrets.filter((secret) => all.includes(secret))).toEqual([])
    await runtime.close()
  })
})
