// How truncation chooses the parts to keep, and its cost. Validity and bounds for any input are tested in
// test/calls/output/output-budget.test.ts.

import { describe, expect, test } from 'vitest'
import type { Outcome } from '../../../src/core/outcome.ts'
import { type Json, mintAttachment } from '../../../src/core/tool-value.ts'
import {
  outputBudget,
  outputOption,
  defaultBudget,
  fitToBudget,
  type OutputBudget,
  readOutput,
} from '../../../src/calls/output/truncate.ts'
import { LongText } from '../../../src/calls/output/measure-long-text.ts'
import { projectOutcome } from '../../../src/models/outcome-to-model-parts.ts'

const success = (value: unknown): Outcome => ({ status: 'success', value: value as Json })
const small: OutputBudget = { bytes: 1024, lines: 400 }
const view = (value: unknown, budget: OutputBudget = small): string =>
  fitToBudget(success(value), budget, 'out_1')
    .parts.map((part) => (part.type === 'text' ? part.text : 'null'))
    .join('')
const shown = (value: unknown, budget: OutputBudget = small): unknown =>
  (JSON.parse(view(value, budget)) as { value: unknown }).value
const image = mintAttachment({ id: 'att_1', mediaType: 'image/png', bytes: 3 })

describe('budget options', () => {
  test('VAL-7: the default is 16 KiB and 400 lines; tokens replace bytes', () => {
    expect(outputBudget()).toEqual({ bytes: 16_384, lines: 400 })
    expect(outputBudget({ tokens: 256 })).toEqual({ tokens: 256, lines: 400 })
    expect(outputBudget({ bytes: 1024, lines: 10 })).toEqual({ bytes: 1024, lines: 10 })
    expect(outputBudget({ bytes: 2048, tokens: 300 })).toEqual({ tokens: 300, lines: 400 })
  })

  test.for([
    { bytes: 1023 },
    { tokens: 255 },
    { lines: 9 },
    { bytes: Number.NaN },
    { bytes: Infinity },
    { tokens: 300.5 },
    { lines: -1 },
  ])('VAL-7: %j is rejected', (given) => {
    expect(outputOption.valid(given)).toBe(false)
  })

  test('VAL-7: a result exactly at the budget is not cut; one byte or line more is', () => {
    expect(fitToBudget(success('x'.repeat(1024)), small, 'h').cut).toBeNull()
    expect(fitToBudget(success('x'.repeat(1025)), small, 'h').cut).not.toBeNull()
    expect(fitToBudget(success('x\n'.repeat(400)), defaultBudget, 'h').cut).toBeNull()
    expect(fitToBudget(success('x\n'.repeat(401)), defaultBudget, 'h').cut).not.toBeNull()
    expect(fitToBudget(success(['x'.repeat(1020)]), small, 'h')).toEqual({
      parts: projectOutcome(success(['x'.repeat(1020)])),
      cut: null,
    })
    expect(fitToBudget(success(['x'.repeat(1021)]), small, 'h').cut).not.toBeNull()
  })

  test('VAL-7: short lines that are smaller than any notice are cut without one and reported', () => {
    const { parts, cut } = fitToBudget(success('a\n'.repeat(12)), { bytes: 1024, lines: 10 }, 'out_1')
    expect(parts.length).toBeLessThanOrEqual(1)
    expect(cut).toMatchObject({ totalBytes: 24, totalLines: 12, shownBytes: expect.any(Number) })
  })

  test('VAL-7: a handle longer than the budget leaves the rest of the view intact', () => {
    const handle = 'h'.repeat(5000)
    expect(fitToBudget(success(['x'.repeat(5000)]), small, handle).parts).toEqual([{ type: 'text', text: '["…"]' }])
    expect(fitToBudget(success('x'.repeat(5000)), small, handle).cut?.shownBytes).toBeGreaterThan(900)
  })
})

describe('values', () => {
  test('VAL-7: small fields stay whole and the large string is shortened', () => {
    const value = shown({ ok: true, log: 'x'.repeat(100_000), code: 137, image, note: 'out of memory' }) as Record<
      string,
      unknown
    >
    expect(value).toMatchObject({ ok: true, code: 137, image: null, note: 'out of memory' })
    expect(value.log).toMatch(/^x{150,}\[… [\d,]+ of 100,000 bytes left out …\]x{150,}$/)
  })

  test('VAL-7: large strings get equal shares', () => {
    const lengths = Object.values(
      shown({ a: 'x'.repeat(9000), b: 'y'.repeat(90_000), c: 'z'.repeat(9000) }) as object,
    ).map((text) => text.length)
    expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThan(20)
  })

  test('VAL-7: arrays show their first items and the count of the rest', () => {
    const rows = Array.from({ length: 1000 }, (_, id) => ({ id }))
    const value = shown(rows) as unknown[]
    expect(value.slice(0, -1)).toEqual(rows.slice(0, value.length - 1))
    expect(value.at(-1)).toBe(`… ${1001 - value.length} more items`)
    expect(value.length).toBeGreaterThan(60)
  })

  test('VAL-7: objects keep their key order, and the count of the rest uses a free key', () => {
    const wide = Object.fromEntries([
      ['…', 1],
      ['……', 2],
      ...Array.from({ length: 500 }, (_, index) => [`k${index}`, index]),
    ])
    const value = shown(wide) as Record<string, unknown>
    const keys = Object.keys(value)
    expect(keys.slice(0, -1)).toEqual(Object.keys(wide).slice(0, keys.length - 1))
    expect([keys.at(-1), value['………']]).toEqual(['………', `${503 - keys.length} more keys`])
  })

  test('VAL-7: keys are never shortened; a key that is too long is omitted and counted', () => {
    expect(shown({ ['k'.repeat(5000)]: 1, small: 2 })).toEqual({ small: 2, '…': '1 more key' })
    expect(shown({ ['k'.repeat(5000)]: 1 })).toBe('… object of 1 key')
  })

  test('VAL-7: values that fit are shown at any depth; shortened ones stop at 32 levels', () => {
    const nest = (inner: Json, levels: number): Json => (levels === 0 ? inner : [nest(inner, levels - 1)])
    expect(JSON.stringify(shown({ deep: nest('leaf', 100), big: 'x'.repeat(5000) }))).toContain('"leaf"')
    expect(JSON.stringify(shown(nest('x'.repeat(5000), 40)))).toBe(
      `${'['.repeat(32)}"… array of 1 item"${']'.repeat(32)}`,
    )
  })

  test('VAL-7: numbers are never cut', () => {
    const value = shown(Array.from({ length: 1000 }, () => 1234567890.12345)) as unknown[]
    expect(new Set(value.slice(0, -1))).toEqual(new Set([1234567890.12345]))
  })

  test('VAL-3: a text of compact JSON stays valid JSON; other texts stay text', () => {
    expect(shown(JSON.stringify({ list: Array.from({ length: 900 }, () => 1), last: 2 }))).toMatchObject({ last: 2 })
    // Unsafe integers, duplicate keys and spaces would change by parsing and writing.
    for (const text of [
      `[12345678901234567890${',1'.repeat(900)}]`,
      `{"a":1,"a":2,"b":"${'x'.repeat(2000)}"}`,
      `[ ${'1,'.repeat(900)}1]`,
    ]) {
      expect(view(text)).toMatch(/\n\[Shortened: /)
      expect(view(text).slice(0, 5)).toBe(text.slice(0, 5))
    }
    expect(view(`${'['.repeat(1000)}${']'.repeat(1000)}`)).toMatch(/^\[{100,}\[… /)
  })
})

describe('texts', () => {
  test('VAL-7: grapheme clusters are not split', () => {
    for (const character of ['👨‍👩‍👧‍👦', '🇩🇪', '👍🏽', 'e\u0301', 'नि', '𝒳', '日']) {
      for (const pad of ['', 'x', 'xy', 'xyz']) {
        const [head, tail] = view(`${pad}${character.repeat(2000)}`).split(/\[… .*? …\]|\n\[Shortened/) as [
          string,
          string,
        ]
        expect(head.replaceAll(character, '')).toBe(pad)
        expect(tail.replaceAll(character, '')).toBe('')
      }
    }
  })

  test('VAL-7: the budget is used up for every kind of text', () => {
    const rows = Array.from({ length: 5000 }, (_, id) => ({ id, name: `row ${id}` }))
    for (const value of [
      'x'.repeat(50_000),
      '日本'.repeat(50_000),
      '👍'.repeat(50_000),
      'a line\n'.repeat(5000),
      rows,
      { rows, log: '"\n'.repeat(9000) },
    ]) {
      const bytes = Buffer.byteLength(view(value, { bytes: 8192, lines: 4000 }))
      expect(bytes).toBeLessThanOrEqual(8192)
      expect(bytes).toBeGreaterThan(8192 * 0.95)
    }
  })

  test('VAL-7: counts are exact across the checkpoints of a long text, even at surrogate pairs', () => {
    for (const pad of ['', 'x', '日']) {
      const text = `${pad}${'👍\n👍'.repeat(60_000)}`
      const { cut, parts } = fitToBudget(success(text), small, 'h')
      expect(cut).toMatchObject({ totalBytes: Buffer.byteLength(text), totalLines: 60_001 })
      const [, leftOut] = /([\d,]+) of [\d,]+ bytes left out/.exec(parts[0]?.type === 'text' ? parts[0].text : '') ?? []
      expect(Number(leftOut?.replaceAll(',', '')) + (cut?.shownBytes ?? 0)).toBe(Buffer.byteLength(text))
    }
  })

  test('VAL-7: a checkpoint moved for a surrogate pair does not move the others', () => {
    const text = `${'x'.repeat(65_535)}👍${'x'.repeat(65_535)}👍\n`
    const long = new LongText(text)
    expect([long.bytes, long.lines]).toEqual([Buffer.byteLength(text), 1])
    for (const at of [65_535, 65_537, 131_072, 131_074, text.length]) {
      expect(long.bytesOf(0, at)).toBe(Buffer.byteLength(text.slice(0, at)))
      expect(long.breaksOf(0, at)).toBe(at === text.length ? 1 : 0)
    }
  })

  test('VAL-7: a character with endless combining marks is cut like any text', () => {
    const text = `e${'\u0301'.repeat(5000)}`
    expect(Buffer.byteLength(view(text))).toBeLessThanOrEqual(1024)
    expect(Buffer.byteLength(view(text))).toBeGreaterThan(900)
  })

  test('VAL-7: an error in a very long line is shown with its surrounding text', () => {
    const log = `${'quiet\n'.repeat(2000)}${'a'.repeat(50_000)} fatal: here ${'b'.repeat(50_000)}\n${'quiet\n'.repeat(2000)}`
    expect(view(log, { bytes: 4096, lines: 100 })).toContain('a fatal: here b')
  })

  test('VAL-7: the notice contains the offset of the first omitted byte', () => {
    const text = Array.from({ length: 2000 }, (_, index) => `line ${index}\n`).join('')
    const [, offset] = /"offset":(\d+)\}\]$/.exec(view(text)) ?? []
    const head = view(text).split('[… ')[0] as string
    expect(readOutput(success(text), { offset: Number(offset), limit: 20 }).text).toBe(
      text.slice(head.length, head.length + 20),
    )
  })
})

describe('reading pages', () => {
  test('VAL-7: an offset inside a character moves to its start; every page has a character', () => {
    const text = success('a👍b')
    expect(readOutput(text, { offset: 3, limit: 1 })).toEqual({ text: '👍', offset: 1, nextOffset: 5, totalBytes: 6 })
    expect(readOutput(text, { offset: 0, limit: 4 })).toEqual({ text: 'a', offset: 0, nextOffset: 1, totalBytes: 6 })
    expect(readOutput(text, { offset: 5 })).toEqual({ text: 'b', offset: 5, nextOffset: null, totalBytes: 6 })
  })

  test.for([
    [{ offset: 99 }, '', 6],
    [{ offset: -5, limit: 1 }, 'a', 0],
    [{ offset: Number.NaN, limit: Number.NaN }, 'a👍b', 0],
    [{ offset: 1.9, limit: Infinity }, '👍b', 1],
    [{ limit: 0 }, 'a', 0],
  ] as const)('VAL-7: %j is accepted and does not throw', ([where, text, offset]) => {
    expect(readOutput(success('a👍b'), where)).toMatchObject({ text, offset })
  })

  test('VAL-7: attachments read as null inside JSON and are not in the text of a failure', () => {
    expect(readOutput(success({ image, n: 1 })).text).toBe('{"image":null,"n":1}')
    const raw = image as unknown as Json
    const failed: Outcome = {
      status: 'failure',
      failure: { class: 'execution', code: 'x', message: 'm', source: 'tool', retry: { when: 'never' }, raw },
    }
    expect(readOutput(failed).text).toBe('[Tool execution failed]\nm')
  })
})

describe('cost', () => {
  // CPU time, because tests share the machine; the limit is about four times the measured value.
  const line = '2026-01-01T00:00:00Z INFO request served path=/api/v1/items status=200\n'
  test.for([
    ['a 50 MB line', () => 'x'.repeat(50_000_000)],
    ['a 50 MB log', () => line.repeat(50_000_000 / line.length)],
    ['50 MB of newlines', () => '\n'.repeat(50_000_000)],
    ['a 50 MB log that denies errors', () => '0 errors\n'.repeat(50_000_000 / 9)],
    ['1,000,000 numbers', () => Array.from({ length: 1_000_000 }, (_, index) => index)],
    ['1,000,000 strings', () => Array.from({ length: 1_000_000 }, (_, index) => `row ${index}`)],
    [
      '512 levels around a long string',
      () => Array.from({ length: 511 }).reduce<Json>((value) => [value], 'x'.repeat(1_000_000)),
    ],
  ] as const)('VAL-7: %s is shortened in bounded time', ([, make]) => {
    const outcome = success(make())
    const before = process.cpuUsage()
    expect(fitToBudget(outcome, defaultBudget, 'h').cut).not.toBeNull()
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000).toBeLessThan(1500)
  })
})
