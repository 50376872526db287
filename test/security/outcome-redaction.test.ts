// Secret values reach neither models nor the feed nor logs, and internal errors are readable by operators only.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { fail, type FeedEvent, type LiveEvent, type Runtime, readOutputTool, result, tool } from 'pawl'
import { testRuntime } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { simpleTool } from '../kit/simple-tools.ts'
import { onEachStore } from '../kit/stores/local-stores.ts'

const secret = 'sk-live-"Zq8\\é/9+x=1'
const spellings = [
  secret,
  Buffer.from(secret).toString('base64'),
  Buffer.from(`user:${secret}`).toString('base64url'),
  Buffer.from(secret).toString('hex'),
  encodeURIComponent(secret),
  JSON.stringify(secret).slice(1, -1),
]
const all = spellings.join(' | ')
/** Every spelling of which a part is found: long enough to be unambiguous, short enough to notice a fragment. */
const hits = (shown: unknown): string[] => {
  const text =
    typeof shown === 'string'
      ? shown
      : `${JSON.stringify(shown)} ${inspect(shown, { depth: 20, maxStringLength: null })}`
  return spellings.flatMap((each) =>
    text.includes(each.slice(3, 15)) || text.includes(JSON.stringify(each).slice(4, 16)) ? [each] : [],
  )
}

const input = { type: 'object' } as const

async function gathered(
  runtime: Runtime,
  until: (event: FeedEvent | LiveEvent) => boolean,
): Promise<(FeedEvent | LiveEvent)[]> {
  const events: (FeedEvent | LiveEvent)[] = []
  for await (const event of runtime.events({ live: true })) {
    events.push(event)
    if (until(event)) return events
  }
  return events
}

describe('DUR-12: redaction of outcomes', () => {
  const leaks = [
    ['a value', () => ({ [`key ${secret}`]: all, list: [all] })],
    ['a text', () => all],
    ['a long text, cut wherever the budget says', () => `${'x'.repeat(8_000)}${all} `.repeat(40)],
    ['a summary', () => result({ fine: true }, { summary: all })],
    [
      'a declared failure',
      () => {
        throw fail(all, { raw: { all }, code: 'no' })
      },
    ],
    [
      'an error with causes',
      () => {
        throw new AggregateError([new Error(all)], all, { cause: Object.assign(new Error(all), { token: all }) })
      },
    ],
    ['terminal codes inside', () => `\u001b[31msk-live\u001b[0m${secret.slice(7)}`],
  ] as const

  test.for(leaks)(
    '%s is redacted for the model, in the feed and in the log, but not for code',
    async ([what, execute]) => {
      const seen: unknown[] = []
      const leak = tool({
        name: 'leak',
        description: 'Leaks.',
        input,
        hints: { readOnly: true },
        execute: () => execute() as never,
      })
      const outer = tool({
        name: 'outer',
        description: 'Calls.',
        input,
        async execute(_, ctx) {
          const outcome = await ctx.call(leak, {})
          seen.push(outcome)
          ctx.log.error(`log ${all}`, {
            all,
            error: new Error(all, { cause: all }),
            headers: new Headers({ x: encodeURIComponent(secret) }),
          })
          return 'done'
        },
      })
      const { runtime, session, logged } = await testRuntime({
        tools: [leak, outer, readOutputTool()],
        secrets: [secret],
      })
      const outcomes = await session.run([
        { id: 'a', name: 'leak' },
        { id: 'b', name: 'outer' },
      ])
      const [a] = outcomes
      expect(hits(a?.parts)).toEqual([])
      if (a?.status === 'failure') expect(hits(a.failure.message)).toEqual([])
      const whole = what !== 'a summary' && what !== 'terminal codes inside'
      if (a?.status === 'success' && whole) expect(hits(a.value).length).toBeGreaterThan(0)
      // A calling body gets the unredacted outcome.
      if (whole && what !== 'an error with causes') expect(hits(seen).length).toBeGreaterThan(0)
      let settled = 0
      const feed = await gathered(runtime, (event) => event.type === 'call.settled' && ++settled === 3)
      expect(hits(feed)).toEqual([])
      expect(logged.length).toBeGreaterThan(0)
      expect(hits(logged)).toEqual([])
      // Reading the output page by page gives the redacted text.
      const { uid } = (await session.calls.get('a')) as { uid: string }
      let pages = ''
      for (let offset: number | null = 0; offset !== null;) {
        const page: { text: string; nextOffset: number | null } = await session.outputs.read(uid, {
          offset,
          limit: 1_100,
        })
        pages += page.text
        offset = page.nextOffset
      }
      expect(hits(pages)).toEqual([])
      expect(hits(await runtime.diagnostics(uid))).toEqual([])
      await runtime.close()
    },
  )

  test('progress and streamed output are redacted across chunk boundaries', async () => {
    const streams = tool({
      name: 'streams',
      description: 'Streams.',
      input,
      execute(_, ctx) {
        ctx.progress({ label: `at ${all}` })
        for (const piece of `start ${all} end`.match(/.{1,5}/gs) ?? []) ctx.output(piece)
        for (const unit of secret) {
          ctx.output(unit, 'stderr')
          ctx.output('.', 'stdout')
        }
        return 1
      },
    })
    const { runtime, session } = await testRuntime({ tools: [streams], secrets: () => [secret] })
    const events = gathered(runtime, (event) => event.type === 'call.settled')
    await new Promise(setImmediate)
    await session.run([{ id: 'a', name: 'streams' }])
    const told = await events
    const text = (stream: string): string =>
      told
        .flatMap((event) =>
          event.type === 'call.output' && (event.body as never)['stream'] === stream
            ? [(event.body as never)['text'] as string]
            : [],
        )
        .join('')
    expect(text('stdout')).toMatch(/^start \[redacted\].* end\.+$/s)
    expect(text('stderr')).toBe('[redacted]')
    expect(hits(told)).toEqual([])
    expect(JSON.stringify(told)).toContain('at [redacted]')
    await runtime.close()
  })

  test('a cancel reason is redacted in the feed and in the outcome', async () => {
    const waits = tool({ name: 'waits', description: 'W.', input, execute: async (_, ctx) => ctx.later() })
    const { runtime, session } = await testRuntime({ tools: [waits], secrets: [secret] })
    const running = session.run([{ id: 'a', name: 'waits' }])
    await gathered(runtime, (event) => event.type === 'call.parked')
    expect(await session.cancel(`because ${all}`)).toBe(1)
    const outcomes = await running
    expect(outcomes).toMatchObject([{ status: 'cancelled' }])
    expect(hits(outcomes)).toEqual([])
    expect(hits(await gathered(runtime, (event) => event.type === 'call.settled'))).toEqual([])
    await runtime.close()
  })

  test('WAIT-3: wait keys appear neither in logs nor in the feed, with or without secrets', async () => {
    let key = ''
    const asks = tool({
      name: 'asks',
      description: 'A.',
      input,
      async execute(_, ctx) {
        const later = await ctx.later()
        key = later.key
        ctx.log.info(`mail ${later.key}`, { link: `https://x.test/${later.key}`, error: new Error(later.key) })
        ctx.output(`go to ${later.key}`)
        return later
      },
    })
    const { runtime, session, logged } = await testRuntime({ tools: [asks] })
    const events = gathered(runtime, (event) => event.type === 'call.settled')
    await new Promise(setImmediate)
    const running = session.run([{ id: 'a', name: 'asks' }])
    await gathered(runtime, (event) => event.type === 'call.parked')
    expect(await runtime.resolve(key, { value: 1 })).toEqual({ answer: 'accepted' })
    await running
    const shown = inspect([logged, await events], { depth: 20 })
    expect(shown).toContain('[wait key]')
    expect(shown).not.toContain(key)
    await runtime.close()
  })

  test('`secrets` that is not a list of strings is rejected', async () => {
    await expect(testRuntime({ secrets: 'one' as never })).rejects.toMatchObject({ code: 'config_invalid' })
    await expect(testRuntime({ secrets: [1] as never })).rejects.toMatchObject({ code: 'config_invalid' })
  })
})

onEachStore('VAL-4: diagnostics for operators', (bench) => {
  const token = 'hunter2-hunter2'
  const breaks = tool({
    name: 'breaks',
    description: 'Breaks.',
    input,
    execute: () => {
      const deepest = new Error('deepest')
      throw new AggregateError([deepest, new Error('beside')], `outer ${token}`, {
        cause: new Error('middle', { cause: deepest }),
      })
    },
  })
  const long = tool({
    name: 'long',
    description: 'Long.',
    input,
    execute: () => {
      throw new Error('"é'.repeat(500_000))
    },
  })
  const shape = tool({
    name: 'shape',
    description: 'Shape.',
    input,
    output: { type: 'string' },
    execute: () => 7 as never,
  })

  test('diagnostics list each cause once, redacted, and only operators can read them', async () => {
    const runtime = await bench.open([breaks, long, shape], { secrets: [token] })
    const session = runtime.session('s')
    const outcomes = await session.run([
      { id: 'a', name: 'breaks' },
      { id: 'b', name: 'long' },
      { id: 'c', name: 'shape' },
    ])
    const [a, b, c] = (await session.calls.list()) as { uid: string; outcome: unknown }[] as [never, never, never] as {
      uid: string
    }[]
    const trouble = await runtime.diagnostics(a?.uid as string)
    expect(trouble).toMatchObject({ what: 'A tool threw', tool: 'breaks', callId: 'a', call: a?.uid, attempt: 1 })
    const first = trouble?.causes.map((cause) => cause.split('\n')[0])
    expect(first).toEqual(['AggregateError: outer [redacted]', 'Error: middle', 'Error: deepest', 'Error: beside'])
    expect(JSON.stringify(await runtime.diagnostics(b?.uid as string)).length).toBeLessThan(64 * 1024)
    expect((await runtime.diagnostics(c?.uid as string))?.what).toContain('output schema')
    expect(await runtime.diagnostics('nobody')).toBeUndefined()
    const feed: FeedEvent[] = []
    for await (const event of session.events())
      if (feed.push(event) && event.type === 'call.settled' && event.call === c?.uid) break
    const details = await Promise.all(['a', 'b', 'c'].map((id) => session.calls.get(id)))
    for (const shown of [outcomes, feed, details]) expect(JSON.stringify(shown)).not.toMatch(/deepest|outer|allow/)
  })
})

test('VAL-4: diagnostics are encrypted at rest even without `encrypt`', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-trouble-'))
  const breaks = simpleTool('breaks', () => {
    throw new Error('canary-in-the-cause')
  })
  const fine = tool({ name: 'fine', description: 'F.', input, execute: () => 'canary-in-a-value' })
  const { runtime, session } = await testRuntime({ store: `sqlite:${join(dir, 'agent.db')}`, tools: [breaks, fine] })
  await session.run([
    { id: 'a', name: 'breaks' },
    { id: 'b', name: 'fine' },
  ])
  const { uid } = (await session.calls.get('a')) as { uid: string }
  expect((await runtime.diagnostics(uid))?.causes[0]).toContain('canary-in-the-cause')
  await runtime.close()
  const bytes = Buffer.concat(readdirSync(dir).map((name) => readFileSync(join(dir, name))))
  expect(bytes.includes('canary-in-a-value')).toBe(true)
  expect(bytes.includes('canary-in-the-cause')).toBe(false)
  rmSync(dir, { recursive: true, force: true })
})
