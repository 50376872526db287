// Every spelling of a secret on every way out of the runtime.

import { fail, type Json, type Runtime, tool, type Tool, type ToolContext } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test, vi } from 'vitest'
import { toolbox } from '../../src/toolbox/toolbox.ts'
import { disk, logged, opened, printed, read } from '../kit/secret-leak-search.ts'
import { secrets, spellings, tracesOf } from './secret-spellings.ts'

type Spelling = (typeof spellings)[string]
const textOf = (spelling: Spelling): string =>
  `before ${typeof spelling === 'object' ? spelling.join('\n') : spelling} after`
const input = { type: 'object' } as const

function leakyTools(spelling: Spelling): Tool[] {
  const text = textOf(spelling)
  const leaky = (name: string, execute: (ctx: ToolContext) => unknown, more: object = {}): Tool =>
    tool({
      name,
      description: 'Leaks.',
      input,
      onCrash: 'rerun',
      ...more,
      execute: (_: unknown, ctx: ToolContext) => execute(ctx),
    })
  const events = { note: { wake: true } } as const
  return [
    leaky('value', () => ({ found: spelling, text })),
    leaky('breaks', () => {
      throw Object.assign(new Error(text), { found: spelling })
    }),
    leaky('fails', () => {
      throw fail(text)
    }),
    leaky('approve', () => 1, { hints: { destructive: true }, preview: () => text }),
    leaky('question', async (ctx) => (await (await ctx.ask({ text, choices: ['yes', 'no'] })).value).answer),
    tool({
      name: 'hidden',
      description: text,
      input: { type: 'object', properties: { note: { enum: [spelling as Json], description: text } } },
      defer: 'always',
      execute: () => 1,
    }),
    leaky(
      'work',
      async (ctx) => {
        ctx.output(text.slice(0, text.length / 2))
        ctx.output(text.slice(text.length / 2))
        ctx.progress({ label: text })
        ctx.task?.status(text)
        await ctx.emit('note', { found: spelling, text })
        return { found: spelling, text }
      },
      { background: { events } },
    ),
  ]
}

/** What each channel shows. */
const channels: Readonly<Record<string, (runtime: Runtime, spelling: Spelling) => Promise<unknown>>> = {
  'model parts': async (runtime) => (await runtime.session('s').run([{ id: 'v', name: 'value' }]))[0]?.parts,
  'failure message': async (runtime) => (await runtime.session('s').run([{ id: 'f', name: 'fails' }]))[0],
  'failure message on record': async (runtime) => (await runtime.session('s').calls.get('f'))?.outcome,
  'unparseable arguments': async (runtime, spelling) => {
    const [outcome] = await runtime.session('s').run([{ id: 'r', name: 'value', input: `{"a": ${textOf(spelling)}` }])
    return [outcome?.parts, '[redacted]']
  },
  'log lines': async (runtime) => {
    await runtime.session('s').run([{ id: 'b', name: 'breaks' }])
    return logged
  },
  diagnostics: (runtime) => runtime.diagnostics({ session: 's', callId: 'b' }),
  'whole output': async (runtime) => {
    const call = await runtime.session('s').calls.get('v')
    return runtime.session('s').outputs.read(call?.uid ?? '', { limit: 100_000 })
  },
  'inbox items and previews': async (runtime, spelling) => {
    const calls = [
      { id: 'a', name: 'approve', input: { found: spelling, text: textOf(spelling) } },
      { id: 'q', name: 'question' },
    ]
    void runtime
      .session('s')
      .run(calls as never)
      .catch(() => {})
    await vi.waitUntil(async () => (await runtime.inbox()).length === 2, { interval: 5, timeout: 20_000 })
    return runtime.inbox()
  },
  health: async (runtime) => {
    const report = await runtime.health()
    expect(report.open.parked).toBeGreaterThan(0)
    return [report, '[redacted]'] // no text of a call is in it
  },
  'tasks: status, progress, summary': async (runtime) => {
    await runtime.session('s').tasks.start({ tool: 'work', title: 'Work' })
    await vi.waitUntil(async () => (await runtime.session('s').tasks.list({ state: 'open' })).length === 0, {
      interval: 5,
      timeout: 20_000,
    })
    return (await runtime.session('s').tasks.list()).map(({ outcome, ...task }) => [task, typeof outcome])
  },
  notices: (runtime) => runtime.session('s').notices.list(),
  'output.log and result file, as a model reads them': async (runtime) => {
    const [task] = await runtime.session('s').tasks.list()
    const paths = [task?.logPath ?? '', task?.resultPath ?? '']
    const calls = paths.map((path, at) => ({ id: `file${at}`, name: 'read_file', input: { path } }))
    return (await runtime.session('s').run(calls as never)).map(({ parts }) => parts)
  },
  'feed events and narration': (runtime) =>
    read(runtime.events({ narrate: 'en' }), (_, all) => all.filter(({ type }) => type === 'call.settled').length > 4),
  'history and model requests': async (runtime, spelling) => {
    await runtime.session('s').turn({ model: 'scripted', message: textOf(spelling), tools: ['value'] }).outcome
    return [model.requests, await runtime.session('s').messages.list()]
  },
  'tool search results': async (runtime) => {
    await runtime.session('s').turn({ model: 'searching', message: 'Search.' }).outcome
    // Definitions of tools are the host's own text and not redacted, results are.
    const result = searching.requests.at(-1)?.messages.at(-1)
    expect(printed(result)).toContain('Full schemas loaded')
    return result
  },
}

const model = scriptedModel([{ call: { name: 'value' } }, 'Done.'], { name: 'scripted' })
const searching = scriptedModel([], { name: 'searching' })

test.for(Object.entries(spellings))(
  'DUR-12 VAL-4: a secret written as %s is redacted on every channel',
  { timeout: 60_000 },
  async ([, spelling]) => {
    const requests = scriptedModel([{ call: { name: 'value' } }, 'Done.'], { name: 'scripted' })
    Object.assign(model, { requests: requests.requests })
    // Part of a secret is not recognized, so a query that would be too long is left out.
    const long = `hidden ${textOf(spelling)}`
    const query = long.length > 1_000 ? 'hidden' : long
    const searches = scriptedModel([{ call: { name: 'tool_search', input: { query } } }, 'Found.'], {
      name: 'searching',
    })
    Object.assign(searching, { requests: searches.requests })
    const runtime = await opened({ tools: [...leakyTools(spelling), ...toolbox.files()], models: [requests, searches] })
    for (const [name, secret] of Object.entries(secrets)) await runtime.session('s').secrets.set(name, secret)
    const live: unknown[] = []
    const watching = (async () => {
      for await (const event of runtime.events({ live: true })) if (event.live) live.push(event)
    })()
    const traces = tracesOf(spelling)
    expect(traces.length).toBeGreaterThan(0)
    const leaks: unknown[] = []
    const check = (channel: string, shown: string): void => {
      const left = traces.filter((trace) => shown.includes(trace))
      if (left.length > 0 || !shown.includes('[redacted]')) leaks.push({ channel, left, shown: shown.slice(0, 600) })
    }
    for (const [channel, show] of Object.entries(channels)) check(channel, printed(await show(runtime, spelling)))
    check('live events', printed(live))
    expect(leaks).toEqual([])
    // A program gets the value itself.
    expect((await runtime.session('s').run([{ id: 'v', name: 'value' }]))[0]).toMatchObject({
      value: { found: spelling, text: textOf(spelling) },
    })
    await runtime.close({ grace: 0 })
    await watching
  },
)

test('DUR-12: findings of health() about calls with secret arguments contain none of the spellings', async () => {
  const { store } = disk()
  const approve = (properties: object): Tool =>
    tool({
      name: 'approve',
      description: 'Approve',
      input: { type: 'object', properties: properties as never },
      approval: 'always',
      execute: () => 1,
    })
  const before = await opened({ store, tools: [approve({})] })
  const calls = Object.entries(spellings).map(([id, found]) => ({ id, name: 'approve', input: { found } }))
  await before.session('s').run(calls, { until: 'waiting' })
  await before.close({ grace: 0 })
  const after = await opened({ store, tools: [approve({ found: { type: 'boolean' } })], worker: false })
  for (const [name, secret] of Object.entries(secrets)) await after.session('s').secrets.set(name, secret)
  const report = await after.health()
  expect(report.findings.map(({ kind }) => kind)).toEqual(calls.map(() => 'tool_changed'))
  const shown = printed(report)
  expect(Object.values(spellings).filter((each) => tracesOf(each).some((trace) => shown.includes(trace)))).toEqual([])
})

test('DUR-12: there are 20 spellings and more, and 15 channels and more', () => {
  expect(Object.keys(spellings).length).toBeGreaterThanOrEqual(20)
  expect(Object.keys(channels).length + 1).toBeGreaterThanOrEqual(15) // and live events
})
