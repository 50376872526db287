// The content of an export of a session or one call, and that the page needs nothing else.

import { hash } from 'node:crypto'
import { createRuntime, type Runtime } from 'pawl'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { collectExport } from '../../../src/server/export/collect-export.ts'
import type { ExportBundle, ExportPart } from '../../../src/server/export/export-bundle.ts'
import { exportHtml } from '../../../src/server/export/export-html.ts'
import { exportJsonl } from '../../../src/server/export/export-jsonl.ts'
import { readOnlyTool } from '../../kit/simple-tools.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { hiddenPin, hostSecret, type Sample, sampleSession, sessionSecret, start, tenant } from './sample-session.ts'

let sample: Sample
let bundle: ExportBundle
let page: string
const request = (call?: string) => ({
  tenant,
  session: 'chat-42',
  now: sample.clock.now(),
  ...(call === undefined ? {} : { call }),
})

beforeAll(async () => {
  sample = await sampleSession()
  bundle = (await collectExport(sample.runtime, request())) as ExportBundle
  page = exportHtml(bundle)
})
afterAll(() => sample.runtime.close({ grace: 0 }))

async function linesOf(runtime: Runtime, of: Parameters<typeof exportJsonl>[1]): Promise<ExportPart[]> {
  const parts: ExportPart[] = []
  for await (const line of (await exportJsonl(runtime, of)) ?? []) {
    expect(line.indexOf('\n')).toBe(line.length - 1)
    parts.push(JSON.parse(line) as ExportPart)
  }
  return parts
}

const callNamed = (name: string) => bundle.calls.find((call) => call.name === name)
/** The row of the page about a call, with the rows below it. */
const rowOf = (name: string): string => {
  const from = page.indexOf(`<h3>${name}</h3>`)
  expect(from, name).toBeGreaterThan(0)
  const next = page.indexOf('class="call ', from)
  return page.slice(from, next === -1 ? undefined : next)
}

test('DOOR-4: the lines are a header, one object each, and an end with the counts', async () => {
  const parts = await linesOf(sample.runtime, request())
  expect(parts[0]).toEqual({
    kind: 'header',
    data: { format: 'pawl-export', version: 1, tenant, session: 'chat-42', call: null, exportedAt: sample.clock.now() },
  })
  const kinds = parts.slice(1, -1).map(({ kind }) => kind)
  const counts = { message: 4, call: 16, task: 1, schedule: 1, inbox: 1, event: 77 }
  expect(Object.fromEntries([...Map.groupBy(kinds, (kind) => kind)].map(([kind, all]) => [kind, all.length]))).toEqual(
    counts,
  )
  expect(parts.at(-1)).toMatchObject({ kind: 'end', data: { counts, omitted: { call: 0, event: 0 } } })
})

test('DOOR-4: the bundle has calls with steps and waits, tasks with messages, and open requests', () => {
  expect(callNamed('book')).toMatchObject({ attempts: 2, steps: [{ id: 'reserve' }], outcome: { status: 'success' } })
  expect(callNamed('sign')).toMatchObject({ state: 'parked', waits: [{ name: 'signature', state: 'open' }] })
  expect(bundle.tasks).toMatchObject([
    { id: 'task-1', messages: [{ text: 'Found 12 pages' }], events: [{ type: 'page' }], call: callNamed('crawl')?.uid },
  ])
  expect(bundle.schedules).toMatchObject([{ id: 'daily', cron: '0 7 * * *' }])
  expect(bundle.inbox).toMatchObject([{ tool: 'refund', args: { order: 'B-2' } }])
  expect(bundle.messages.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  const numbers = bundle.events.map(({ seq }) => seq)
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  expect(bundle.events.at(-1)).toMatchObject({ type: 'call.settled', callId: 'c3' })
})

test('DOOR-4: a nested call and a call of a turn name the call that made them', () => {
  const parents = bundle.calls.filter(({ parent }) => parent !== null).map(({ callId, parent }) => [callId, parent])
  const [turn, both] = [callNamed('pawl:turn:main')?.uid, callNamed('both')?.uid]
  expect(parents).toEqual([
    ['m1', turn],
    ['n1', both],
    ['n2', both],
  ])
})

test('DOOR-4: the export of a call has the calls under it and their events only', async () => {
  const both = callNamed('both')?.uid as string
  const one = (await collectExport(sample.runtime, request(both))) as ExportBundle
  expect(one.calls.map(({ callId }) => callId)).toEqual(['c9', 'n1', 'n2'])
  const uids = new Set(one.calls.map(({ uid }) => uid))
  expect(one.events.length).toBeGreaterThan(8)
  expect(one.events.filter(({ call }) => !uids.has(call))).toEqual([])
  expect([one.messages, one.tasks, one.schedules, one.inbox]).toEqual([[], [], [], []])
  expect(exportHtml(one)).toContain('<h1>Call both</h1>')
})

test('DOOR-4: the export of a turn has its messages and its calls', async () => {
  const turn = (await collectExport(sample.runtime, request(callNamed('pawl:turn:main')?.uid))) as ExportBundle
  expect(turn.messages).toHaveLength(4)
  expect(turn.calls.map(({ callId }) => callId)).toEqual(['t1', 'm1'])
})

test('DOOR-4: a call of another session or tenant is not found', async () => {
  const uid = callNamed('both')?.uid as string
  for (const other of [{ tenant: 'other' }, { session: 'other' }, { call: 'none' }]) {
    expect(await collectExport(sample.runtime, { ...request(uid), ...other })).toBeNull()
    expect(await exportJsonl(sample.runtime, { ...request(uid), ...other })).toBeNull()
  }
  const foreign = await collectExport(sample.runtime, { ...request(), tenant: 'other' })
  expect(foreign).toMatchObject({ messages: [], calls: [], tasks: [], schedules: [], inbox: [], events: [] })
})

test('DOOR-4: the page shows each kind of outcome with its message or value', () => {
  expect(rowOf('look_up_order')).toContain('&quot;customer&quot;: &quot;Ada&quot;')
  expect(rowOf('not_found')).toContain('No such order: A-9999')
  expect(rowOf('not_found')).toContain('<code>not_found</code>')
  expect(rowOf('slow_report')).toContain('No longer needed')
  expect(rowOf('charge_card')).toContain('Outcome unknown')
  expect(rowOf('sign')).toContain('<span class="state waiting">waiting</span>')
  for (const [status, count] of Object.entries({ success: 8, failure: 4, cancelled: 1, unknown: 1, waiting: 2 }))
    expect(page).toContain(`<li class="state ${status}"><b>${count}</b> ${status}</li>`)
})

test('POL-3 DOOR-4: the page shows who decided, when, through which door and why', () => {
  const decisions = page.split('<h4>Decisions</h4>').slice(1)
  expect(decisions).toHaveLength(2)
  for (const [index, parts] of [
    ['Approved', '<b>user:bea</b>', '<code>cli</code>', '2026-01-05 09:36:36', 'The parcel was lost'],
    ['Denied', '<b>user:bea</b>', '<code>http</code>', '2026-01-05 09:36:36', 'Not our order'],
  ].entries())
    for (const part of parts) expect(decisions[index]?.slice(0, 500)).toContain(part)
})

test('DOOR-4: the page marks where a worker stopped and another one continued', () => {
  expect(rowOf('book')).toContain('The worker stopped during attempt 1. Another one continued with attempt 2')
  expect(rowOf('book')).toContain('class="mark takeover"')
  expect(rowOf('charge_card')).toContain('class="mark lost"')
  expect(page.match(/class="mark (?:takeover|lost)"/g)).toHaveLength(2)
})

test('DOOR-4: the page shows the conversation, tasks, schedules and what waits for a person', () => {
  for (const heading of ['Waiting for a person', 'Timeline', 'Conversation', 'Tasks', 'Schedules', 'Other events'])
    expect(page).toMatch(new RegExp(`<h2 id="\\w+">${heading}</h2>`))
  for (const text of ['I need the order first.', 'Found 12 pages', 'Every morning', 'Refund 5 € for order B-2'])
    expect(page).toContain(text)
})

test('DOOR-4: the page has no script and no address, and allows only its own style', () => {
  const style = /<style>([^]*?)<\/style>/.exec(page)?.[1] as string
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)?.[1]
  const own = hash('sha256', style, 'base64')
  expect(policy?.replaceAll('&#39;', "'")).toBe(
    `default-src 'none'; style-src 'sha256-${own}'; base-uri 'none'; form-action 'none'`,
  )
  expect(page).not.toMatch(/<(?:script|link|img|iframe|object|embed|form|base)\b/i)
  expect(page).not.toMatch(/\s(?:on\w+|style|src|srcset|action)="/i)
  expect(page.match(/href="[^#][^"]*"/g)).toBeNull()
  expect(style).not.toMatch(/url\((?!#)|@import|@font-face/)
})

test('DOOR-4: every link of the page leads to a call on it', () => {
  const links = [...page.matchAll(/href="#([^"]*)"/g)].map(([, id]) => id)
  expect(links.length).toBeGreaterThan(4)
  expect(links.filter((id) => !page.includes(` id="${id}"`))).toEqual([])
  const ids = [...page.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

test('DOOR-4: the same session at the same time gives the same bytes', async () => {
  const again = (await collectExport(sample.runtime, request())) as ExportBundle
  expect(exportHtml(again) === page).toBe(true)
  expect(JSON.stringify(again) === JSON.stringify(bundle)).toBe(true)
})

test('DOOR-4: events after the time of the export are left out', async () => {
  const early = (await collectExport(sample.runtime, { ...request(), now: start + 25_000 })) as ExportBundle
  expect(early.events).toHaveLength(8)
})

test('DUR-12 DOOR-4: no export contains a secret or a hidden argument', async () => {
  const lines = (await linesOf(sample.runtime, request())).map((part) => JSON.stringify(part)).join('\n')
  for (const text of [lines, page, JSON.stringify(bundle)]) {
    for (const secret of [hostSecret, sessionSecret, hiddenPin])
      for (const form of ['utf8', 'base64', 'hex'] as const) {
        const encoded = Buffer.from(secret).toString(form)
        expect(text.includes(encoded.slice(0, encoded.length - 4)), `${secret} as ${form}`).toBe(false)
      }
    expect(text).toContain('Bearer [redacted]')
    expect(text).toContain('[hidden]')
  }
})

test('DOOR-4: objects over a limit are counted, and the page says so', async () => {
  const limits = { call: 3, event: 10 }
  const short = (await collectExport(sample.runtime, { ...request(), limits })) as ExportBundle
  expect(short).toMatchObject({ omitted: { message: 0, call: 13, event: 67 } })
  expect([short.calls.length, short.events.length]).toEqual([3, 10])
  expect(exportHtml(short)).toContain('call: 13, event: 67')
  expect(page).not.toContain('Incomplete')
  const small = (await collectExport(sample.runtime, { ...request(), limits: { characters: 3_000 } })) as ExportBundle
  expect(JSON.stringify(small.messages).length + JSON.stringify(small.calls).length).toBeLessThan(3_100)
  expect(small.omitted.call).toBeGreaterThan(10)
})

test('DOOR-4: a session of 2,000 calls is exported in little memory', { timeout: 120_000 }, async () => {
  const echo = readOnlyTool('echo', (input) => input)
  const runtime = await createRuntime({ store: 'memory:', tools: [echo], logger: quiet })
  try {
    const session = runtime.session('big', { tenant })
    const text = 'x'.repeat(2_000)
    for (let batch = 0; batch < 20; batch++)
      await session.run(
        Array.from({ length: 100 }, (_, at) => ({ id: `c${at}`, name: 'echo', input: { at, text } })),
        { batch: `b${batch}` },
      )
    const of = { tenant, session: 'big', now: Date.now() }
    let [lines, longest] = [0, 0]
    for await (const line of (await exportJsonl(runtime, of)) ?? []) {
      lines++
      longest = Math.max(longest, line.length)
    }
    expect(lines).toBe(1 + 2_000 + 6_000 + 1)
    expect(longest).toBeLessThan(5_000)
    const big = (await collectExport(runtime, of)) as ExportBundle
    const before = process.memoryUsage().heapUsed
    const html = exportHtml(big)
    expect(html.match(/<details class="call /g)).toHaveLength(2_000)
    expect(html.length).toBeLessThan(25_000_000)
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(300_000_000)
  } finally {
    await runtime.close({ grace: 0 })
  }
})
