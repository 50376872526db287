// The whole result is recorded before the model reads a part of it, and can be read through its handle by programs,
// tools and the model. The same for the bytes of attachments.

import { type Attachment, type CallOutcome, readOutputTool, type Runtime, type Session, tool, type Tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { fitToBudget, readablePage } from '../../../src/calls/output/truncate.ts'
import type { Json } from '../../../src/core/tool-value.ts'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { argumentTool, simpleTool } from '../../kit/simple-tools.ts'

const text = (outcome: CallOutcome | undefined): string =>
  outcome?.parts.map((part) => (part.type === 'text' ? part.text : 'null')).join('') ?? ''

const long = (value: Json): Tool =>
  tool({
    name: 'long',
    description: 'Returns much',
    input: z.object({}),
    hints: { readOnly: true },
    execute: () => value,
  })

const values: Readonly<Record<string, Json>> = {
  'a long line': 'äöü €uro 🎉 '.repeat(5000),
  'many lines': Array.from({ length: 3000 }, (_, n) => `line ${n}\n`).join(''),
  'nothing but newlines': '\n'.repeat(2000),
  'a value': { rows: Array.from({ length: 2000 }, (_, id) => ({ id, name: `row ${id}` })) },
}
const wholeOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Reads the notice as a model would, and returns the arguments it names. */
const hinted = (shown: string): { handle: string; offset: number } | null => {
  const said = [...shown.matchAll(/read_output"?:? ?(\{"handle":"[^"]*","offset":\d+\})/g)].at(-1)?.[1]
  return said === undefined ? null : (JSON.parse(said) as { handle: string; offset: number })
}

describe('a page for the model', () => {
  test.for([
    { bytes: 1024, lines: 10 },
    { bytes: 16_384, lines: 400 },
    { tokens: 256, lines: 400 },
  ])('VAL-7: it fits the budget %o and makes progress', (budget) => {
    for (const value of Object.values(values)) {
      const read: string[] = []
      let offset: number | null = 0
      while (offset !== null) {
        const page = readablePage({ status: 'success', value }, offset, budget)
        expect(page.text).not.toBe('')
        if (budget.bytes !== undefined) expect(Buffer.byteLength(page.text)).toBeLessThanOrEqual(budget.bytes - 256)
        expect(page.text.split('\n').length - 1).toBeLessThanOrEqual(budget.lines - 2)
        read.push(page.text)
        offset = page.nextOffset
      }
      expect(read.join('')).toBe(wholeOf(value))
    }
  })
})

onEachStore('outputs', (bench) => {
  test.for(Object.entries(values))(
    'VAL-7: a model that follows the notices reads the whole of %s',
    async ([, value]) => {
      const runtime = await bench.open([long(value), readOutputTool()])
      const session = runtime.session('s')
      const [first] = await session.run([{ id: 'a', name: 'long' }])
      let next = hinted(text(first))
      expect(next).not.toBeNull()
      const read: string[] = []
      next = { handle: next?.handle as string, offset: 0 }
      for (let n = 0; next !== null; n++) {
        const [page] = await session.run([{ id: `r${n}`, name: 'read_output', input: next }])
        const shown = text(page)
        expect(shown).not.toContain('Shortened')
        const notice = /\n?\[Bytes (\d+) to (\d+) of (\d+)(?:: the end|\. Read on with .*)\]$/.exec(shown)
        read.push(shown.slice(0, notice?.index))
        const [from, to, total] = (notice ?? []).slice(1, 4).map(Number) as [number, number, number]
        expect([from, total]).toEqual([next.offset, Buffer.byteLength(wholeOf(value))])
        next = hinted(shown)
        if (next) expect(next.offset).toBe(to)
      }
      // The notice is on its own line, so a page that ends inside a line has an additional newline: ignore newlines.
      expect(read.join('').replaceAll('\n', '')).toBe(wholeOf(value).replaceAll('\n', ''))
    },
  )

  test('VAL-7: the notice names read_output only to a model that has it', async () => {
    const hidden = argumentTool('read_output', z.object({}), { internal: true }, () => '')
    for (const tools of [[long('x'.repeat(50_000))], [long('x'.repeat(50_000)), hidden]]) {
      const runtime = await bench.open(tools)
      const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'long' }])
      expect(text(outcome)).not.toContain('read_output')
      const [, handle] = /The whole result is stored as "(\w+)"\]$/.exec(text(outcome)) ?? []
      expect((await runtime.session('s').outputs.read(handle as string)).totalBytes).toBe(50_000)
      await runtime.close()
    }
    const runtime = await bench.open([long(['x'.repeat(50_000)])])
    const [outcome] = await runtime.session('t').run([{ id: 'a', name: 'long' }])
    const view = JSON.parse(text(outcome)) as { shortened: string; handle: string; value: Json }
    expect(Object.keys(view)).toEqual(['shortened', 'handle', 'value'])
    expect((await runtime.session('t').outputs.read(view.handle, { offset: 2, limit: 3 })).text).toBe('xxx')
  })

  test('VAL-7 TOOL-4: the notice names a read_output tool only in the session that has it', async () => {
    const runtime = await bench.open([long('x'.repeat(50_000))])
    const [has] = await runtime.session('s', { tools: [readOutputTool()] }).run([{ id: 'a', name: 'long' }])
    expect(hinted(text(has))).not.toBeNull()
    const [hasNot] = await runtime.session('t').run([{ id: 'a', name: 'long' }])
    expect(hinted(text(hasNot))).toBeNull()
  })

  test('VAL-7: an outcome that is not recorded is not described as stored', async () => {
    const runtime = await bench.open([long(1), readOutputTool()], { output: { bytes: 1024 } })
    const id = 'i'.repeat(500)
    const name = 'n'.repeat(500)
    const [, conflict] = [
      await runtime.session('s').run([{ id, name }]),
      ...(await runtime.session('s').run([{ id, name: 'long' }])),
    ]
    expect(conflict).toMatchObject({ failure: { code: 'call_conflict' } })
    expect(text(conflict)).toMatch(/bytes shown \(2 lines in all\)\.\]$/)
    const [view] = fitToBudget({ status: 'success', value: ['x'.repeat(5000)] }, { bytes: 1024, lines: 10 }, null).parts
    expect(Object.keys(JSON.parse((view as { text: string }).text) as object)).toEqual(['shortened', 'value'])
  })

  const stored = async (value: string): Promise<{ runtime: Runtime; handle: string }> => {
    const runtime = await bench.open([long(value)])
    const [outcome] = await runtime.session('s').run([{ id: 'a', name: 'long' }])
    return { runtime, handle: /stored as "(\w+)"/.exec(text(outcome))?.[1] ?? '' }
  }
  const letters = 'äöü\n'.repeat(20_000)
  const readsAnyPart = async (session: Session, handle: string): Promise<void> => {
    expect(await session.outputs.read(handle, { offset: 7, limit: 5 })).toEqual({
      text: 'äö',
      offset: 7,
      nextOffset: 11,
      totalBytes: 140_000,
    })
    expect((await session.outputs.read(handle, { limit: 1_000_000 })).text).toBe(letters)
    const page = await session.outputs.read(handle)
    expect(letters.startsWith(page.text)).toBe(true)
    expect(page.nextOffset).not.toBeNull()
  }

  test('VAL-7: a program reads any part of a stored output', async () => {
    const { runtime, handle } = await stored(letters)
    await readsAnyPart(runtime.session('s'), handle)
  })

  test.runIf(bench.survives)('VAL-7: a stored output reads the same after a restart', async () => {
    const { runtime, handle } = await stored(letters)
    await runtime.close()
    await readsAnyPart((await bench.open([])).session('s'), handle)
  })

  test('VAL-7: foreign, unknown and unsettled handles are rejected with the same error', async () => {
    const clock = manualClock()
    const seen: unknown[] = []
    const reads = argumentTool(
      'reads',
      z.object({ handle: z.string() }),
      { description: 'Reads what it is told to', onCrash: 'rerun' },
      ({ handle }, ctx) =>
        ctx.outputs.read(handle).then(
          ({ text: got }) => got,
          (error: unknown) => String(error),
        ),
    )
    const parks = tool({ name: 'parks', description: 'Parks', input: z.object({}), execute: (_, ctx) => ctx.later() })
    const runtime = await bench.open([long('x'.repeat(50_000)), reads, parks, readOutputTool()], { clock })
    const mine = runtime.session('s', { tenant: 'acme' })
    const run = mine.run([
      { id: 'a', name: 'long' },
      { id: 'p', name: 'parks' },
    ])
    run.catch(() => {}) // the parked call is still open when the runtime closes
    await clock.advance(100)
    const uids: string[] = []
    const stop = new AbortController()
    for await (const event of mine.events({ signal: stop.signal })) {
      if (event.type === 'call.received') uids.push(event.call)
      if (event.type === 'call.parked') stop.abort()
    }
    const [settled, parked] = uids as [string, string]
    expect((await mine.outputs.read(settled, { limit: 1 })).text).toBe('x')
    const others = [
      [runtime.session('s'), settled],
      [runtime.session('other', { tenant: 'acme' }), settled],
      [mine, parked],
      [mine, 'nobody'],
      [mine, ''],
    ] as const
    for (const [session, handle] of others) {
      const refused: unknown = await session.outputs.read(handle).catch((error: unknown) => error)
      expect(refused).toMatchObject({ code: 'output_unknown' })
      seen.push((refused as Error).message)
      const asked = session.run([
        { id: `b${handle}`, name: 'reads', input: { handle } },
        { id: `m${handle}`, name: 'read_output', input: { handle } },
      ])
      await clock.advance(100)
      const [inBody, byModel] = await asked
      expect(inBody).toMatchObject({ value: `PawlError: ${(refused as Error).message}` })
      expect(byModel).toMatchObject({ failure: { class: 'execution', code: 'output_unknown', source: 'tool' } })
    }
    expect(new Set(seen).size).toBe(1)
  })

  const makes = simpleTool('makes', (_, ctx) => ({
    file: ctx.attachments.create('hello', { mediaType: 'text/plain' }),
  }))
  const ask = [{ id: 'a', name: 'makes' }]
  const fileOf = ([outcome]: CallOutcome[]): Attachment =>
    (outcome as unknown as { value: { file: Attachment } }).value.file

  test('VAL-5: a session reads the attachments of its own tenant only', async () => {
    const first = await bench.open([makes])
    const file = fileOf(await first.session('s', { tenant: 'acme' }).run(ask))
    expect(Buffer.from(await first.session('other', { tenant: 'acme' }).attachments.read(file)).toString()).toBe(
      'hello',
    )
    await expect(first.session('s').attachments.read(file)).rejects.toMatchObject({ code: 'attachment_unknown' })
    const forged = { ref: file.ref } as Attachment
    await expect(first.session('s', { tenant: 'acme' }).attachments.read(forged)).rejects.toMatchObject({
      code: 'value_invalid',
    })
  })

  test.runIf(bench.survives)('VAL-5: an attachment reads the same after a restart', async () => {
    const first = await bench.open([makes])
    const file = fileOf(await first.session('s', { tenant: 'acme' }).run(ask))
    await first.close()
    await expect(first.session('s', { tenant: 'acme' }).attachments.read(file)).rejects.toMatchObject({
      code: 'store_unavailable',
    })
    const again = (await bench.open([makes])).session('s', { tenant: 'acme' })
    expect(Buffer.from(await again.attachments.read(fileOf(await again.run(ask)))).toString()).toBe('hello')
  })
})
