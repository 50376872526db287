// A result over its budget becomes a shorter valid view. Every count in a view is recomputed here from the original.
// The last part tests defects known from other libraries.

import { estimateTokenCount } from 'tokenx'
import { fc } from '../../kit/seeded-fast-check.ts'
import { describe, expect, test } from 'vitest'
import { fitToBudget, type OutputBudget, readOutput } from '../../../src/calls/output/truncate.ts'
import { type ModelPart, projectOutcome } from '../../../src/models/outcome-to-model-parts.ts'
import { failure, type Outcome } from '../../../src/core/outcome.ts'
import { isAttachment, type Json, mintAttachment } from '../../../src/core/tool-value.ts'

const success = (value: unknown): Outcome => ({ status: 'success', value: value as Json })
const textOf = (parts: readonly ModelPart[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : 'null')).join('')
const bytes = (text: string): number => Buffer.byteLength(text)
const lines = (text: string): number => text.split('\n').length - (text === '' || text.endsWith('\n') ? 1 : 0)
const number = (shown: string | undefined): number => Number((shown ?? '').replaceAll(',', ''))
const asText = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
const isObject = (value: Json): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const nulled = (value: Json): Json => JSON.parse(textOf(projectOutcome(success(value)))) as Json

const small: OutputBudget = { bytes: 1024, lines: 400 }
const image = mintAttachment({ id: 'att_1', mediaType: 'image/png', bytes: 3 })

/** Compares the view of a text with the text: every piece and every gap has the reported position and size. */
function shownOfText(view: string, original: string): number {
  const whole = Buffer.from(original)
  const pattern = /\[… (?:([\d,]+) lines?, )?([\d,]+) of ([\d,]+) bytes left out …\](\n?)/g
  let [at, last, shown] = [0, 0, 0]
  const piece = (text: string): void => {
    expect(whole.subarray(at, at + bytes(text)).toString()).toBe(text)
    at += bytes(text)
    shown += bytes(text)
  }
  for (const match of view.matchAll(pattern)) {
    piece(view.slice(last, match.index))
    const gap = whole.subarray(at, at + number(match[2])).toString()
    expect(bytes(gap)).toBe(number(match[2]))
    expect(number(match[3])).toBe(whole.length)
    if (match[1] !== undefined) expect(number(match[1])).toBe(lines(gap))
    at += bytes(gap)
    const ownLine = gap.endsWith('\n') && at < whole.length
    expect(match[4] === '\n').toBe(ownLine || (match[4] === '\n' && whole[at] === 0x0a))
    last = match.index + match[0].length - (match[4] === '\n' && !ownLine ? 1 : 0)
  }
  piece(view.slice(last))
  expect(at).toBe(whole.length)
  return shown
}

/** The same for values: returns the shown bytes of the compact JSON and checks every marker. */
function shownOfJson(view: Json, original: Json): number {
  const size = (value: Json): number => bytes(JSON.stringify(value))
  if (JSON.stringify(view) === JSON.stringify(original)) return size(view)
  if (typeof original === 'string') {
    const summary = /^… string of ([\d,]+) bytes?$/.exec(view as string)
    if (!summary) return textInJson(view as string, original)
    expect(number(summary[1])).toBe(bytes(original))
    return 0
  }
  if (typeof view === 'string') {
    const [, kind, count] = /^… (array|object) of ([\d,]+) (?:item|key)s?$/.exec(view) ?? []
    expect(kind).toBe(Array.isArray(original) ? 'array' : 'object')
    expect(number(count)).toBe(Object.keys(original as object).length)
    return 0
  }
  if (Array.isArray(original) && Array.isArray(view)) {
    const [, more] = /^… ([\d,]+) more items?$/.exec(asText(view.at(-1))) ?? []
    const kept = more === undefined ? view : view.slice(0, -1)
    expect(kept.length + number(more)).toBe(original.length)
    return kept.reduce<number>(
      (sum, item, index) => sum + shownOfJson(item, original[index] as Json),
      2 + kept.length - 1,
    )
  }
  if (!isObject(original) || !isObject(view))
    throw new Error(`${JSON.stringify(view)} is not of ${JSON.stringify(original)}`)
  const restKey = Object.keys(view).find((key) => !Object.hasOwn(original, key))
  const kept = Object.keys(view).filter((key) => key !== restKey)
  const [, more] = restKey === undefined ? [] : (/^([\d,]+) more keys?$/.exec(asText(view[restKey])) ?? [])
  expect(kept.length + number(more)).toBe(Object.keys(original).length)
  return kept.reduce(
    (sum, key) => sum + size(key) + 1 + shownOfJson(view[key] as Json, original[key] as Json),
    2 + kept.length - 1,
  )
}

function textInJson(view: string, original: string): number {
  const verbatim = view.replaceAll(/\[… (?:[\d,]+ lines?, )?[\d,]+ of [\d,]+ bytes left out …\]/g, '')
  expect(verbatim).not.toBe(view)
  // A marker on its own line adds a newline for the last one of the gap; in JSON it takes two bytes.
  const broughtLines = bytes(verbatim) - shownOfText(view, original)
  return bytes(JSON.stringify(verbatim)) - 2 * broughtLines
}

/** Checks all invariants of a view for any outcome and budget. */
function holds(outcome: Outcome, budget: OutputBudget): void {
  const whole = textOf(
    outcome.status === 'success'
      ? projectOutcome(outcome)
      : projectOutcome(outcome).filter((part) => part.type === 'text'),
  )
  const { parts, cut } = fitToBudget(outcome, budget, 'out_7')
  const text = textOf(outcome.status === 'success' ? parts : parts.filter((part) => part.type === 'text'))
  expect(bytes(text)).toBeLessThanOrEqual(bytes(whole))
  expect(lines(text)).toBeLessThanOrEqual(budget.lines)
  if (budget.tokens === undefined) expect(bytes(text)).toBeLessThanOrEqual(budget.bytes ?? 16_384)
  else expect(estimateTokenCount(text)).toBeLessThanOrEqual(budget.tokens)
  expect(text.isWellFormed()).toBe(true)
  expect(allPages(outcome)).toBe(whole)
  if (cut === null) {
    expect(parts).toEqual(projectOutcome(outcome))
    return
  }

  expect(cut).toMatchObject({ totalBytes: bytes(whole), totalLines: lines(whole), handle: 'out_7' })
  if (outcome.status === 'success' && typeof outcome.value !== 'string') {
    const view = JSON.parse(text) as { shortened: string; value: Json; read_output: Json }
    expect(view.read_output).toEqual({ handle: 'out_7', offset: 0 })
    expect(cut.shownBytes).toBe(shownOfJson(view.value, nulled(outcome.value)))
    const shownAttachments = parts.filter((part) => part.type === 'attachment').length
    const missing = projectOutcome(outcome).filter((part) => part.type === 'attachment').length - shownAttachments
    const [, said] = /, ([\d,]+) attachments? left out/.exec(view.shortened) ?? []
    expect(number(said)).toBe(missing)
    expect(view.shortened).toContain(
      `${cut.shownBytes} of ${cut.totalBytes} bytes`.replaceAll(/\B(?=(\d{3})+\b)/g, ','),
    )
    return
  }
  const [notice, shown, total, offset] =
    /\[Shortened: ([\d,]+) of ([\d,]+) bytes shown.*read_output \{"handle":"out_7","offset":(\d+)\}\]$/.exec(text) ?? []
  if (notice === undefined) {
    expect(bytes(whole)).toBeLessThan(400) // too small for a useful notice
    return
  }
  expect([number(shown), number(total)]).toEqual([cut.shownBytes, bytes(whole)])
  const body = text.slice(0, -notice.length)
  const added = body.endsWith('\n') && (!whole.endsWith('\n') || body.endsWith('…]\n'))
  const firstGap = body.indexOf('[… ')
  // Without room for a marker the view is a prefix and the notice.
  if (firstGap === -1)
    expect([whole.startsWith(body), bytes(whole) < 400, cut.shownBytes]).toEqual([true, true, bytes(body)])
  else expect(shownOfText(added ? body.slice(0, -1) : body, whole)).toBe(cut.shownBytes)
  // The offset in the notice is the end of the first shown piece.
  expect(Number(offset)).toBe(bytes(firstGap === -1 ? body : body.slice(0, firstGap)))
}

function allPages(outcome: Outcome, limit?: number): string {
  let [text, offset]: [string, number | null] = ['', 0]
  while (offset !== null) {
    const page = readOutput(outcome, { offset, ...(limit === undefined ? {} : { limit }) })
    expect(page.offset).toBe(offset)
    text += page.text
    offset = page.nextOffset
  }
  return text
}

const fragments = [
  '日本語の文',
  '👨‍👩‍👧‍👦',
  '🇩🇪🇫🇷',
  'e\u0301',
  '𝒳',
  'plain words ',
  '"quoted\\"',
  '\t',
  '\n',
  '\n\n',
  'x',
  '\u0001',
  'ß',
  '1234567890',
]
const logLine = fc.constantFrom(
  'INFO served in 12 ms\n',
  'TypeError: x is not a function\n',
  'warning: deprecated\n',
  '0 errors\n',
  '    at main (app.ts:1)\n',
  '\n',
)
const long = fc.array(
  fc.tuple(
    fc.oneof(fc.constantFrom(...fragments), fc.string({ unit: 'grapheme', maxLength: 12 }), logLine),
    fc.nat(120),
  ),
  {
    minLength: 1,
    maxLength: 12,
  },
)
const anyText = long.map((pieces) =>
  pieces
    .map(([piece, times]) => piece.repeat(times))
    .join('')
    .replaceAll('\r', '')
    .replaceAll('\u001b', '')
    .toWellFormed(),
)
const anyKey = fc.oneof(
  fc.constantFrom('…', '……', '__proto__', 'constructor', '1', 'a'),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
)
const leaf = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constantFrom(null, image, 'word'),
)
const anyJson = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    anyText,
    // Only arrays of leaves are long: nested long arrays would exceed the memory.
    fc.tuple(leaf, fc.nat(300)).map(([item, times]) => Array.from({ length: times }, () => item)),
    fc.array(tie('any'), { maxLength: 12 }),
    fc.dictionary(anyKey, tie('any'), { maxKeys: 12 }),
    fc
      .nat(400)
      .map((count) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`key ${index}`, index]))),
    fc.tuple(tie('any'), fc.nat(80)).map(([item, levels]) => {
      let value = item
      for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { a: value }
      return value
    }),
  ),
})).any
const anyBudget: fc.Arbitrary<OutputBudget> = fc.oneof(
  fc.record({ bytes: fc.integer({ min: 1024, max: 6000 }), lines: fc.integer({ min: 10, max: 400 }) }),
  fc.record({ tokens: fc.integer({ min: 256, max: 1500 }), lines: fc.integer({ min: 10, max: 400 }) }),
)
/** The recorded form of a value; removes -0 and the unusual property definitions of fast-check. */
const recordedForm = (value: unknown): Json => {
  if (isAttachment(value) || typeof value !== 'object' || value === null)
    return (Object.is(value, -0) ? 0 : value) as Json
  if (Array.isArray(value)) return value.map(recordedForm)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, recordedForm(item)]))
}

describe('any result under any budget', () => {
  test('VAL-7: the view of a text fits the budget, keeps whole characters and counts truthfully', () => {
    fc.assert(
      fc.property(anyText, anyBudget, (text, budget) => holds(success(text), budget)),
      { numRuns: 250 },
    )
  })

  test('VAL-7, VAL-3: the view of a value is also valid JSON with its attachments in place', () => {
    fc.assert(
      fc.property(anyJson, anyBudget, (value, budget) => {
        const json = recordedForm(value)
        if (typeof json !== 'string') holds(success(json), budget)
      }),
      { numRuns: 250 },
    )
  })

  test('VAL-7: the budget applies to errors, which keep their first line', () => {
    const heads = {
      failure: '[Tool execution failed]\n',
      cancelled: '[Tool execution cancelled]\n',
      unknown: '[Tool outcome unknown]\n',
    }
    const outcomes = (message: string): Outcome[] => [
      failure({ class: 'execution', code: 'tool_error', message, raw: { deep: [image] } as unknown as Json }),
      { status: 'cancelled', cancellation: { message, source: 'cancellation' } },
      { status: 'unknown', unknown: { message, startedAt: 0, evidence: null } },
    ]
    fc.assert(
      fc.property(anyText, anyBudget, (message, budget) => {
        for (const outcome of outcomes(message)) {
          holds(outcome, budget)
          const { parts, cut } = fitToBudget(outcome, budget, 'out_7')
          if (cut) expect(textOf(parts).startsWith(heads[outcome.status as keyof typeof heads])).toBe(true)
          if (outcome.status === 'failure') expect(parts.at(-1)).toEqual({ type: 'attachment', attachment: image })
        }
      }),
      { numRuns: 60 },
    )
  })

  test('VAL-7: pages of any size and offset join to the whole text without split characters', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 500 }), fc.nat(20_000), (text, limit, offset) => {
        const outcome = success(text.slice(0, 2000).replaceAll(/\p{Surrogate}/gu, ''))
        const whole = Buffer.from(textOf(projectOutcome(outcome)))
        expect(allPages(outcome, limit)).toBe(whole.toString())
        const page = readOutput(outcome, { offset, limit })
        expect(page.text.isWellFormed()).toBe(true)
        expect(page.text).not.toContain('\ufffd')
        expect(page.offset).toBeLessThanOrEqual(offset)
        expect(page.offset).toBeGreaterThan(Math.min(offset, whole.length) - 4)
        expect(page.text).toBe(whole.subarray(page.offset, page.nextOffset ?? whole.length).toString())
      }),
      { numRuns: 150 },
    )
  })

  test('VAL-7: equal outcomes have equal views', () => {
    fc.assert(
      fc.property(anyJson, anyBudget, (value, budget) => {
        const json = recordedForm(value)
        expect(fitToBudget(success(json), budget, 'h')).toEqual(fitToBudget(success(recordedForm(json)), budget, 'h'))
      }),
      { numRuns: 40 },
    )
  })
})

describe('defects known from other libraries, named in parentheses', () => {
  const oneLine = JSON.stringify({
    rows: Array.from({ length: 10_000 }, (_, id) => ({ id, name: `row ${id}` })),
    last: 'the end',
  })

  test('VAL-7: one-line JSON is cut once, keeps its end and stays valid JSON (behest)', () => {
    for (const value of [oneLine, JSON.parse(oneLine) as Json]) {
      const { parts, cut } = fitToBudget(success(value), { bytes: 16_384, lines: 400 }, 'out_7')
      const view = JSON.parse(textOf(parts)) as { value: { rows: Json[]; last: string } }
      expect(bytes(textOf(parts))).toBeLessThanOrEqual(16_384)
      expect(bytes(textOf(parts))).toBeGreaterThan(15_000) // the budget is used
      expect(view.value.last).toBe('the end')
      expect(view.value.rows[0]).toEqual({ id: 0, name: 'row 0' })
      expect(view.value.rows.at(-1)).toBe(`… ${(10_000 - view.value.rows.length + 1).toLocaleString('en')} more items`)
      expect(cut?.totalBytes).toBe(bytes(oneLine))
      expect(textOf(parts).match(/shortened/g)).toHaveLength(1)
    }
  })

  test('VAL-7: a long line keeps its head and its tail around one marker (behest)', () => {
    const text = `HEAD${'x'.repeat(200_002)}TAIL`
    const view = textOf(fitToBudget(success(text), { bytes: 16_384, lines: 400 }, 'out_7').parts)
    expect(view).toMatch(
      /^HEADx+\[… [\d,]+ of 200,010 bytes left out …\]x+TAIL\n\[Shortened: [\d,]+ of 200,010 bytes shown\. /,
    )
  })

  test('VAL-7: 60,002 bytes of CJK text do not grow, and nothing is shown twice (behest)', () => {
    const text = Array.from({ length: 20_000 }, (_, index) => String.fromCodePoint(0x4e00 + index)).join('')
    const outcome = success(`${text}xx`)
    holds(outcome, { bytes: 16_384, lines: 400 })
    const characters =
      textOf(fitToBudget(outcome, { bytes: 16_384, lines: 400 }, 'out_7').parts).match(/[\u4e00-\u9fff]/g) ?? []
    expect(characters.length).toBeGreaterThan(5000)
    expect(new Set(characters).size).toBe(characters.length)
  })

  test('VAL-7: the count of omitted lines uses the configured limit (behest)', () => {
    const text = Array.from({ length: 100 }, (_, index) => `line ${index} ${'.'.repeat(20)}\n`).join('')
    const view = textOf(fitToBudget(success(text), { bytes: 16_384, lines: 10 }, 'out_7').parts)
    expect(lines(view)).toBe(10)
    expect(view).toContain('[… 92 lines, ')
  })

  test('VAL-7: the budget applies to error texts (behest)', () => {
    const { parts, cut } = fitToBudget(
      failure({ class: 'external', code: 'x', message: 'boom '.repeat(250_000) }),
      small,
      'out_7',
    )
    expect(bytes(textOf(parts))).toBeLessThanOrEqual(1024)
    expect(cut?.totalBytes).toBe(1_250_024)
  })

  test('VAL-7: the cut is reported to the program, not only to the model (behest)', () => {
    expect(fitToBudget(success('x'.repeat(5000)), small, 'out_7').cut).toMatchObject({
      totalBytes: 5000,
      totalLines: 1,
      handle: 'out_7',
    })
    expect(fitToBudget(success('x'.repeat(1024)), small, 'out_7').cut).toBeNull()
  })

  test('VAL-7: each result names its own handle, and quotes in it are escaped (behest)', () => {
    const handle = 'call "1"}],\n\\'
    for (const value of ['x'.repeat(5000), ['x'.repeat(5000)]]) {
      const text = textOf(fitToBudget(success(value), small, handle).parts)
      const args = /read_output"?:? ?(\{"handle".*?"offset":\d+\})/.exec(text)?.[1]
      expect(JSON.parse(args as string)).toMatchObject({ handle })
      expect(text).not.toContain('out_7')
    }
  })

  test('VAL-7: the tail is shown for any tool, and failures are cut too (lash)', () => {
    const log = `${'step done\n'.repeat(5000)}exit status 1\n`
    expect(textOf(fitToBudget(success(log), small, 'h').parts)).toContain('exit status 1\n[Shortened')
    expect(textOf(fitToBudget(failure({ class: 'execution', code: 'x', message: log }), small, 'h').parts)).toContain(
      'exit status 1\n[Shortened',
    )
  })

  test('VAL-7: tokens are estimated from the text, not as four bytes each (lash)', () => {
    const budget = { tokens: 1000, lines: 400 }
    const view = (text: string): string => textOf(fitToBudget(success(text), budget, 'h').parts)
    const [words, digits] = [view('ordinary english words '.repeat(5000)), view('7 '.repeat(50_000))]
    for (const text of [words, digits]) {
      expect(estimateTokenCount(text)).toBeLessThanOrEqual(1000)
      expect(estimateTokenCount(text)).toBeGreaterThan(800)
    }
    expect(bytes(words)).toBeGreaterThan(bytes(digits) * 2)
  })

  test('VAL-7: an error in the middle is shown with its context; "0 errors" is not (everruns)', () => {
    const quiet = 'INFO 0 errors, failed: 0, no warnings\n'.repeat(3000)
    const log = `${quiet}before 2\nbefore 1\nTypeError: boom\n    at f (a.ts:1)\n    at g (a.ts:2)\nafter 3\n${quiet}`
    const around = 'before 2\nbefore 1\nTypeError: boom\n    at f (a.ts:1)\n    at g (a.ts:2)\n'
    expect(textOf(fitToBudget(success(log), { bytes: 2048, lines: 40 }, 'h').parts)).toContain(around)
    expect(textOf(fitToBudget(success({ stdout: log, code: 1 }), { bytes: 2048, lines: 40 }, 'h').parts)).toContain(
      JSON.stringify(around).slice(1, -1),
    )
    holds(success(log), { bytes: 2048, lines: 40 })
  })

  test('VAL-7: an attachment of a failure does not change its token count', () => {
    const message = '1234567890'.repeat(73)
    const raw = image as unknown as Json
    holds(failure({ class: 'execution', code: 'x', message, raw }), { tokens: 256, lines: 10 })
  })

  test('VAL-7: truncation does not make a message of only newlines longer', () => {
    for (let count = 9; count < 200; count++) {
      const message = '\n'.repeat(count)
      holds({ status: 'cancelled', cancellation: { message, source: 'cancellation' } }, { bytes: 1024, lines: 10 })
      holds(failure({ class: 'execution', code: 'x', message }), { bytes: 1024, lines: 10 })
    }
  })

  test('VAL-7: many warnings do not hide an error, and many errors do not hide the end', () => {
    const warnings = 'warning: unused variable\n'.repeat(2000)
    const view = textOf(fitToBudget(success(`${warnings}FATAL: disk is gone\n${warnings}`), small, 'h').parts)
    expect(view).toContain('FATAL: disk is gone\n')
    const errors = textOf(fitToBudget(success(`${'error: nope\n'.repeat(5000)}build stopped\n`), small, 'h').parts)
    expect(errors).toContain('build stopped\n')
  })

  test('VAL-7: a log without errors shows one fifth head and four fifths tail (everruns)', () => {
    const log = Array.from({ length: 5000 }, (_, index) => `${index}\n`).join('')
    const [head, tail] = textOf(fitToBudget(success(log), { bytes: 16_384, lines: 102 }, 'h').parts).split(
      /\[… .*…\]\n/,
    ) as [string, string]
    expect(head).toBe(Array.from({ length: 20 }, (_, index) => `${index}\n`).join(''))
    expect(lines(tail.split('[Shortened')[0] as string)).toBe(80)
    expect(tail).toContain('\n4999\n[Shortened')
  })

  test('VAL-7: a value over the limit stays a value and keeps or counts its images (everruns)', () => {
    const value = { log: 'x'.repeat(200_000), shots: [image, image], note: 'small' }
    const { parts } = fitToBudget(success(value), small, 'h')
    expect(parts.filter((part) => part.type === 'attachment')).toHaveLength(2)
    const many = fitToBudget(success(Array.from({ length: 1000 }, () => image)), small, 'h')
    const shown = many.parts.filter((part) => part.type === 'attachment').length
    expect(textOf(many.parts)).toContain(`, ${1000 - shown} attachments left out`)
    holds(success(value), small)
  })

  test('VAL-7: values over 1 MiB and over 100,000 nodes are shortened too (everruns)', () => {
    const rows = Array.from({ length: 200_000 }, (_, id) => ({ id, tags: ['a', 'b'] }))
    const { parts, cut } = fitToBudget(success({ rows, total: 200_000 }), small, 'h')
    const view = JSON.parse(textOf(parts)) as { value: { rows: Json[]; total: number } }
    expect(view.value.total).toBe(200_000)
    expect(view.value.rows.at(-1)).toMatch(/^… 199,9\d\d more items$/)
    expect(cut?.totalBytes).toBe(bytes(JSON.stringify({ rows, total: 200_000 })))
  })

  test('VAL-7: colours and redraws are removed before counting, even inside JSON (everruns)', () => {
    const bar = Array.from({ length: 1000 }, (_, index) => `\r\u001b[2K\u001b[32m${index / 10}%\u001b[0m`).join('')
    expect(fitToBudget(success(`start\n${bar}\ndone\n`), small, 'h')).toEqual({
      parts: [{ type: 'text', text: 'start\n99.9%\ndone\n' }],
      cut: null,
    })
    expect(textOf(fitToBudget(success({ out: bar, image }), small, 'h').parts)).toBe('{"out":"99.9%","image":null}')
    expect(textOf(fitToBudget(failure({ class: 'execution', code: 'x', message: bar }), small, 'h').parts)).toBe(
      '[Tool execution failed]\n99.9%',
    )
    expect(readOutput(success(`start\n${bar}\n`), {}).text).toBe('start\n99.9%\n')
  })

  test('VAL-3: base64 data is omitted first', () => {
    const view = textOf(
      fitToBudget(
        success({ picture: `data:image/png;base64,${'iVBORw0KGgo'.repeat(9000)}`, caption: 'a cat' }),
        small,
        'h',
      ).parts,
    )
    expect(view).not.toContain('iVBOR')
    expect(JSON.parse(view)).toMatchObject({
      value: { picture: 'data:image/png;base64,[… 99,000 of 99,022 bytes left out …]', caption: 'a cat' },
    })
  })
})
