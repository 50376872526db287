// Hostile texts in an export: as names, ids, arguments, results, errors and messages.

import { createRuntime, fail } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { expect, test } from 'vitest'
import { collectExport } from '../../../src/server/export/collect-export.ts'
import type { ExportBundle } from '../../../src/server/export/export-bundle.ts'
import { durationText, markup, showHidden } from '../../../src/server/export/escape-html.ts'
import { exportHtml } from '../../../src/server/export/export-html.ts'
import { exportJsonl } from '../../../src/server/export/export-jsonl.ts'
import { closedAfterEach } from '../../kit/open-runtime.ts'
import { patient, simpleTool } from '../../kit/simple-tools.ts'
import { freshMemory, quiet } from '../../kit/stores/fresh-store.ts'

const runtimes = closedAfterEach()

const payloads = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  '</pre></div></details></main><h1>Approved by the owner</h1>',
  '</style><style>*{display:none}</style>',
  '</title><meta http-equiv="refresh" content="0;url=https://evil.example">',
  '<!-- --><![CDATA[ ]]>',
  '<a href="javascript:alert(1)">click</a>',
  '&lt;b&gt; &amp; &#60;i&#62;',
  '`${alert(1)}` {{7*7}}',
  '</svg><svg onload=alert(1)>',
  '\u001b[2J\u001b[31mred\u001b[0m\u0007\u009b31m',
  '\u001b]8;;https://evil.example\u001b\\link\u001b]8;;\u001b\\',
  'refund \u202e000,1$\u202c to \u2066eve\u2069',
  'zero\u200bwidth\ufeff\u00ad and \u{e0041}\u{e0049} tags',
  'line\u2028separator\u2029s and\rreturn\u0085',
]
const hidden =
  // oxlint-disable-next-line no-control-regex, no-misleading-character-class
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\p{Cs}|[\u{e0000}-\u{e0fff}]/u

/** A session that has the text everywhere; ids and names leave out what the runtime refuses there. */
async function hostileExport(text: string): Promise<{ bundle: ExportBundle; lines: string[] }> {
  const { clock, store } = freshMemory()
  const model = scriptedModel(
    [{ think: text, say: text, call: { id: `m ${text}`, name: 'echo', input: { text } } }, text],
    { name: 'main' },
  )
  const tools = [
    simpleTool('echo', (input) => input),
    simpleTool('breaks', () => {
      throw fail(text, { code: text, raw: { [text]: text } })
    }),
    simpleTool('asks', { approval: 'always', title: text, preview: () => text }, () => 'ok'),
    patient,
  ]
  const runtime = await createRuntime({ store, clock, tools, models: [model], logger: quiet })
  runtimes.push(runtime)
  const session = runtime.session(`chat ${text}`, { tenant: `tenant ${text}`, principal: `user:${text}` })
  const batch = `batch ${text}`
  await session.run([{ id: `a ${text}`, name: 'echo', input: { [text]: text }, meta: { [text]: text } }], { batch })
  await session.run([{ id: 'b', name: 'breaks' }], { batch })
  await session.run([{ id: 'c', name: `absent ${text}`, input: text }], { batch })
  await session.run(
    [
      { id: 'd', name: 'asks', input: { text } },
      { id: 'e', name: 'asks' },
    ],
    { until: 'waiting' },
  )
  const [item] = await runtime.inbox()
  await runtime.decide(item?.id ?? '', { deny: true, by: `user:${text}`, reason: text, door: `door ${text}` })
  await session.tasks.start({ tool: 'patient', title: text, id: `t-${payloads.indexOf(text)}` })
  await session.tasks.message(`t-${payloads.indexOf(text)}`, text, { data: { [text]: text } })
  await session.schedules.create({ id: 's', message: text, title: text, cron: '0 7 * * *' })
  const turn = session.turn({ model, message: text })
  await turn.outcome
  const of = { tenant: session.tenant, session: session.id, now: clock.now() }
  const lines: string[] = []
  for await (const line of (await exportJsonl(runtime, of)) ?? []) lines.push(line)
  return { bundle: (await collectExport(runtime, of)) as ExportBundle, lines }
}

/** Elements and their attributes, without the values. */
const skeleton = (page: string): string[] =>
  [...page.replace(/<style>[^]*?<\/style>/, '').matchAll(/<[^>]*>/g)].map(([tag]) => tag.replace(/="[^"]*"/g, '="…"'))

/** The bundle with another text in every place of the given one. */
const withText = (bundle: ExportBundle, from: string, to: string): ExportBundle =>
  JSON.parse(JSON.stringify(bundle).replaceAll(from, JSON.stringify(to).slice(1, -1))) as ExportBundle

test('DOOR-4: a hostile text changes no element of the page, wherever it is', async () => {
  const { bundle } = await hostileExport('PLACEHOLDER')
  const page = exportHtml(bundle)
  expect(page.split('PLACEHOLDER').length).toBeGreaterThan(50)
  for (const text of payloads) {
    const hostile = exportHtml(withText(bundle, 'PLACEHOLDER', text))
    expect(skeleton(hostile), text).toEqual(skeleton(page))
    expect(hidden.exec(hostile)?.[0], text).toBeUndefined()
  }
})

test('DOOR-4: the page of a session with hostile texts has only the elements of other pages', async () => {
  const harmless = new Set(skeleton(exportHtml((await hostileExport('plain words')).bundle)))
  const hostile = exportHtml((await hostileExport(payloads.slice(0, 8).join(' '))).bundle)
  expect(skeleton(hostile).filter((tag) => !harmless.has(tag))).toEqual([])
  expect(hidden.exec(hostile)?.[0]).toBeUndefined()
})

test('DOOR-4: a line has no character that controls a terminal, and reads back as it was', async () => {
  const all = payloads.slice(-6).join(' ')
  const { lines, bundle } = await hostileExport(all)
  for (const line of lines) {
    // oxlint-disable-next-line no-control-regex
    expect(line.trimEnd()).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/)
    expect(line.indexOf('\n')).toBe(line.length - 1)
  }
  const calls = lines
    .map((line) => JSON.parse(line) as { kind: string; data: unknown })
    .filter((each) => each.kind === 'call')
  expect(calls.map(({ data }) => data)).toEqual(JSON.parse(JSON.stringify(bundle.calls)))
})

test('DOOR-4: hidden characters are shown as escapes, and joiners of words and emoji stay', () => {
  expect(showHidden('a\u202eb\u0000\u001b[1m')).toBe(String.raw`a\u202eb\u0000\u001b[1m`)
  expect(showHidden('\u{e0041}\ud800')).toBe(String.raw`\u{e0041}\ud800`)
  expect(showHidden('line\n\ttab')).toBe('line\n\ttab')
  expect(showHidden('👩‍💻 نمی‌خواهم')).toBe('👩‍💻 نمی‌خواهم')
  expect(showHidden('a \u200d \u200cb')).toBe(String.raw`a \u200d \u200cb`)
})

test('DOOR-4: a template escapes everything but its own text', () => {
  expect(markup`<p title="${'"<\'`&'}">${['<', markup`<b>${'>'}</b>`, null, false, 0]}</p>`.text).toBe(
    '<p title="&quot;&lt;&#39;&#96;&amp;">&lt;<b>&gt;</b>0</p>',
  )
})

test('DOOR-4: a long value is shortened on the page and whole in the lines', async () => {
  const { clock, store } = freshMemory()
  const runtime = await createRuntime({ store, clock, tools: [simpleTool('echo', (input) => input)], logger: quiet })
  runtimes.push(runtime)
  const text = `${'x'.repeat(50_000)}end`
  await runtime.session('s').run([{ id: 'a', name: 'echo', input: { text } }])
  const of = { tenant: 'default', session: 's', now: clock.now() }
  const page = exportHtml((await collectExport(runtime, of)) as ExportBundle)
  expect(page.length).toBeLessThan(70_000)
  expect(page).toMatch(/\d+ more characters are not shown/)
  let lines = ''
  for await (const line of (await exportJsonl(runtime, of)) ?? []) lines += line
  expect(lines).toContain(text)
})

test('DOOR-4: a duration has at most two units', () => {
  const shown = [0, 340, 999.6, 1_000, 2_550, 59_999, 60_000, 200_000, 3_600_000, 187_200_000, -5].map(durationText)
  expect(shown).toEqual([
    '0 ms',
    '340 ms',
    '999 ms',
    '1 s',
    '2.5 s',
    '59.9 s',
    '1 min',
    '3 min 20 s',
    '1 h',
    '2 d 4 h',
    '0 ms',
  ])
})
