// What the model reads of an outcome that may be too long: project's parts, or a shorter view of them and how to read on (VAL-7).
//
// The whole outcome is on record before this is asked, so nothing here is lost. In order: clean terminal output, count once, and if
// it is over the budget choose what to show: fit-text for texts, fit-json for values. Pure.
//
// "The whole text" everywhere below is what project gives of the cleaned outcome, with attachments inside JSON read as null. Counts,
// offsets and readOutput all speak of that one text.

import { createRequire } from 'node:module'
import { PawlError } from '../../core/errors.ts'
import type { Outcome } from '../../core/outcome.ts'
import { type Json, maxDepth } from '../../core/value.ts'
import type { OutputPage } from '../../tools/context/context.ts'
import { bytesOf, grouped, plural, type Room, sizeOf } from './text-size.ts'
import { leastRoom, shortenJson, type Texts } from './truncate-json.ts'
import { LongText } from './long-text.ts'
import { shortenText } from './truncate-text.ts'
import { type ModelPart, project } from '../../models/model-parts.ts'
import { cleanValue } from './terminal-text.ts'

export interface OutputBudget {
  /** UTF-8 bytes of the text. */
  readonly bytes?: number
  /** Estimated tokens of the text; counts instead of bytes when given. */
  readonly tokens?: number
  readonly lines: number
}

export const defaultBudget = { bytes: 16 * 1024, lines: 400 } as const satisfies OutputBudget

/** What was cut; null when nothing was. */
export interface Cut {
  readonly totalBytes: number
  readonly totalLines: number
  /** How much of the whole text stands in the view; markers and the notice are no part of it. */
  readonly shownBytes: number
  readonly handle: string | null
}

export interface Fitted {
  readonly parts: readonly ModelPart[]
  readonly cut: Cut | null
}

/** Estimators give long runs of spaces for nothing; no model does. Past this many bytes a token the text is over, and not estimated. */
const bytesPerToken = 16

/** A budget from options, with the defaults filled in. Throws config_invalid. */
export function checkBudget(given: Partial<OutputBudget> = {}): OutputBudget {
  const atLeast = (name: string, value: number, least: number): number => {
    if (Number.isSafeInteger(value) && value >= least) return value
    throw new PawlError(
      'config_invalid',
      `The output budget's ${name} must be a whole number, at least ${least}; it is ${value}.`,
    )
  }
  const lines = atLeast('lines', given.lines ?? defaultBudget.lines, 10)
  if (given.tokens !== undefined) return { tokens: atLeast('tokens', given.tokens, 256), lines }
  return { bytes: atLeast('bytes', given.bytes ?? defaultBudget.bytes, 1024), lines }
}

/** Where the whole is: `handle` is what read_output takes to give the rest. */
interface Reading {
  readonly handle: string
  /** Whether the model has read_output. */
  readonly byModel: boolean
}

/**
 * What the model reads within the budget. `text` is the outcome's recorded form. How to read on is only said to a model that can, and not
 * at all with a handle of null: then nothing is stored, or what is stored is not for the model.
 */
export function fit(outcome: Outcome, budget: OutputBudget, handle: string | null, text = '', byModel = true): Fitted {
  const short = shortText(outcome, budget, text)
  if (short !== undefined) return { parts: short === '' ? [] : [{ type: 'text', text: short }], cut: null }
  const reading = handle === null ? null : { handle, byModel }
  const whole = describe(outcome)
  const most = budget.tokens === undefined ? (budget.bytes ?? defaultBudget.bytes) : budget.tokens * bytesPerToken
  const within = whole.bytes <= most && whole.lines <= budget.lines
  if (within && tokensOf(whole.outcome, project(whole.outcome), budget) <= (budget.tokens ?? 0)) {
    return { parts: project(whole.outcome), cut: null }
  }

  const shape = structured(whole)
  // A view never outgrows the text it is of.
  let bytes = Math.min(most, whole.bytes)
  for (;;) {
    const room = { bytes, lines: budget.lines }
    const view = shape.kind === 'json' ? jsonView(shape, room, reading) : textView(shape, room, reading)
    const tokens = tokensOf(whole.outcome, view.parts, budget)
    if (tokens <= (budget.tokens ?? 0)) {
      const cut = { totalBytes: whole.bytes, totalLines: whole.lines, shownBytes: view.shown, handle }
      return { parts: view.parts, cut }
    }
    // Bytes for tokens: a few rounds of a proportional guess. No character has more tokens than bytes, so this ends.
    bytes = Math.floor(bytes * Math.min(0.9, (budget.tokens ?? 0) / tokens))
  }
}

const successText = '{"status":"success","value":'

/**
 * Most results are short and plain: what the model reads of them stands in the recorded form already. Without a backslash there is no
 * line break, no terminal code and nothing escaped in it, and without a tag no attachment.
 */
function shortText(outcome: Outcome, budget: OutputBudget, text: string): string | undefined {
  if (budget.tokens !== undefined || text.length * 3 > (budget.bytes ?? defaultBudget.bytes) || text.includes('\\'))
    return undefined
  if (outcome.status !== 'success' || !text.startsWith(successText)) return undefined
  for (const field in outcome) if (field !== 'status' && field !== 'value') return undefined
  if (typeof outcome.value === 'string') return outcome.value
  return text.includes('"$pawl"') ? undefined : text.slice(successText.length, -1)
}

type Estimate = (text: string) => number
let estimate: Estimate | undefined

/** Loaded when a budget first counts in tokens; require() because fitting is synchronous. */
function estimator(): Estimate {
  estimate ??= (createRequire(import.meta.url)('tokenx') as { estimateTokenCount: Estimate }).estimateTokenCount
  return estimate
}

/** None where they are not what counts. */
const tokensOf = (outcome: Outcome, parts: readonly ModelPart[], budget: OutputBudget): number =>
  budget.tokens === undefined ? 0 : estimator()(textOf(outcome, parts))

/** A page of the whole text by UTF-8 bytes. Both ends round down to a character; a page has at least one, so reading always gets on. */
export function readOutput(
  outcome: Outcome,
  where: { readonly offset?: number; readonly limit?: number } = {},
): OutputPage {
  return pageOf(Buffer.from(wholeText(clean(outcome))), where)
}

/** What a tool may say around a page. */
const around = { bytes: 256, tokens: 128, lines: 2 }

/** The longest page that a model can read at once: within the budget, with room for a few words around it. */
export function readablePage(outcome: Outcome, offset: number | undefined, budget: OutputBudget): OutputPage {
  const whole = Buffer.from(wholeText(clean(outcome)))
  const lines = budget.lines - around.lines
  const { bytes = defaultBudget.bytes, tokens } = budget
  const room = tokens === undefined ? { bytes: bytes - around.bytes, lines } : { tokens: tokens - around.tokens, lines }
  let limit = room.bytes ?? room.tokens * bytesPerToken
  for (;;) {
    const page = pageOf(whole, { ...(offset === undefined ? {} : { offset }), limit })
    if (limit < 1 || fit({ status: 'success', value: page.text }, room, null).cut === null) return page
    limit = Math.floor(limit * 0.8)
  }
}

function pageOf(whole: Buffer, where: { readonly offset?: number; readonly limit?: number }): OutputPage {
  const characterStart = (at: number): number => {
    let start = Math.min(at, whole.length)
    while (start > 0 && isInside(whole[start])) start--
    return start
  }
  const offset = characterStart(wholeNumber(where.offset, 0))
  let end = characterStart(offset + Math.max(1, wholeNumber(where.limit, defaultBudget.bytes)))
  if (end <= offset && offset < whole.length) {
    end = offset + 1
    while (isInside(whole[end])) end++
  }
  const text = whole.toString('utf8', offset, end)
  return { text, offset, nextOffset: end < whole.length ? end : null, totalBytes: whole.length }
}

const isInside = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** What a model asks for may be anything. */
const wholeNumber = (given: number | undefined, otherwise: number): number =>
  given === undefined || Number.isNaN(given) ? otherwise : Math.max(0, Math.floor(given))

/** Attachments inside JSON read as null, so that offsets mean the same whoever renders the parts; those after a failure are no text. */
function textOf(outcome: Outcome, parts: readonly ModelPart[]): string {
  const attachment = outcome.status === 'success' ? 'null' : ''
  return parts.map((part) => (part.type === 'text' ? part.text : attachment)).join('')
}

const wholeText = (outcome: Outcome): string => textOf(outcome, project(outcome))

/** Without terminal codes and redraws. */
export function clean(outcome: Outcome): Outcome {
  switch (outcome.status) {
    case 'success':
      return { ...outcome, value: cleanValue(outcome.value) }
    case 'failure':
      return { ...outcome, failure: { ...outcome.failure, message: cleanText(outcome.failure.message) } }
    case 'cancelled':
      return { ...outcome, cancellation: { ...outcome.cancellation, message: cleanText(outcome.cancellation.message) } }
    case 'unknown':
      return { ...outcome, unknown: { ...outcome.unknown, message: cleanText(outcome.unknown.message) } }
  }
}

const cleanText = (text: string): string => cleanValue(text) as string

/** An outcome and the size of its whole text. A text has a fixed first line (of a failure) and a body that may be shortened. */
type Whole = WholeText | WholeJson

interface WholeText extends Counted {
  readonly kind: 'text'
  readonly head: string
  readonly body: LongText
}

interface WholeJson extends Counted {
  readonly kind: 'json'
  readonly value: Json
  readonly attachments: number
  readonly texts: Texts
}

interface Counted {
  readonly outcome: Outcome
  readonly bytes: number
  readonly lines: number
}

function describe(given: Outcome): Whole {
  if (given.status === 'success' && typeof given.value !== 'string') {
    const size = sizeOf(given.value)
    if (size.terminal) return describe({ ...given, value: cleanValue(given.value) })
    const { bytes, attachments } = size
    return { kind: 'json', outcome: given, value: given.value, bytes, attachments, lines: 1, texts: new Map() }
  }
  const outcome = clean(given)
  const text = wholeText(outcome)
  const head = outcome.status === 'success' ? '' : text.slice(0, text.indexOf('\n') + 1)
  const body = new LongText(text.slice(head.length))
  return {
    kind: 'text',
    outcome,
    head,
    body,
    bytes: bytesOf(head) + body.bytes,
    lines: (head === '' ? 0 : 1) + body.lines,
  }
}

/** Nothing that is not so: a model without read_output is only told where the whole is. Beside JSON the handle stands on its own. */
function readOn(reading: Reading | null, offset?: number): string {
  if (reading === null) return ''
  const { handle, byModel } = reading
  const stored = ' The whole result is stored'
  if (offset === undefined) return `${stored}${byModel ? ': read it with read_output' : ' under this handle'}`
  return `${stored}${byModel ? `: read it with read_output ${JSON.stringify({ handle, offset })}` : ` as ${JSON.stringify(handle)}`}`
}

function onwardOf(reading: Reading | null): { [key: string]: Json } {
  if (reading === null) return {}
  const { handle, byModel } = reading
  return byModel ? { read_output: { handle, offset: 0 } } : { handle }
}

interface View {
  readonly parts: readonly ModelPart[]
  readonly shown: number
}

function textView(whole: WholeText, room: Room, reading: Reading | null): View {
  const notices = [
    (shown: number, offset: number): string =>
      `[Shortened: ${grouped(shown)} of ${grouped(whole.bytes)} bytes shown${whole.lines > 1 ? ` (${plural(whole.lines, 'line')} in all)` : ''}.` +
      `${readOn(reading, offset)}]`,
    (): string =>
      reading?.byModel ? `[Shortened: read_output ${JSON.stringify({ handle: reading.handle })}]` : '[Shortened]',
    (): string => '',
  ]
  const headBytes = bytesOf(whole.head)
  // A text of many short lines can be over the budget and yet smaller than the notice, which then gives way to the text.
  const reserve = (notice: (typeof notices)[number]): number => bytesOf(notice(whole.bytes, whole.bytes)) + 1
  const notice =
    notices.find((candidate) => room.lines > 2 && reserve(candidate) <= (room.bytes - headBytes) * 0.75) ??
    ((): string => '')
  const linesAround = (whole.head === '' ? 0 : 1) + (notice(0, 0) === '' ? 0 : 1)
  const inner = { bytes: room.bytes - reserve(notice) - headBytes, lines: room.lines - linesAround }
  const short = shortenText(whole.body, inner, 'text', whole.bytes)
  const shown = headBytes + short.shown
  const told = notice(shown, headBytes + whole.body.bytesOf(0, short.firstGap))
  const body = whole.head + short.text
  const text = told === '' || body === '' || body.endsWith('\n') ? body + told : `${body}\n${told}`
  const attachments = project(whole.outcome).filter((part) => part.type === 'attachment')
  return { parts: [...(text === '' ? [] : [{ type: 'text', text } as const]), ...attachments], shown }
}

/** One JSON document that holds the shorter value, and beside it what is missing and how to get it. */
function jsonView(whole: WholeJson, room: Room, reading: Reading | null): View {
  const onward = onwardOf(reading)
  const wrappers = [
    (inner: Json, shown: number, missing: number): Json => ({
      shortened:
        `${grouped(shown)} of ${grouped(whole.bytes)} bytes shown${missing > 0 ? `, ${plural(missing, 'attachment')} left out` : ''}.` +
        readOn(reading),
      ...onward,
      value: inner,
    }),
    (): Json => (reading === null ? ['…'] : onward),
    (): Json => ['…'],
  ]
  for (const wrap of wrappers) {
    const reserve = sizeOf(wrap('', whole.bytes, whole.attachments)).bytes - 2
    if (reserve + leastRoom > room.bytes && wrap !== wrappers.at(-1)) continue
    const short =
      wrap.length > 0
        ? shortenJson(whole.value, room.bytes - reserve, whole.texts)
        : { value: null, shown: 0, attachments: 0 }
    const view: Outcome = {
      status: 'success',
      value: wrap(short.value, short.shown, whole.attachments - short.attachments),
    }
    return { parts: project(view), shown: short.shown }
  }
  return { parts: [], shown: 0 }
}

/** Texts longer than this are not read as JSON: it would take longer than it is worth. */
const longestJsonText = 4 * 1024 * 1024

/** A text that is compact JSON to the letter, as tools that stringify for themselves return it, is a value: it stays valid JSON. */
function structured(whole: Whole): Whole {
  if (whole.kind === 'json' || whole.head !== '') return whole
  const { text } = whole.body
  if (text.length > longestJsonText || !/^[[{]/.test(text)) return whole
  try {
    const value = JSON.parse(text) as Json
    if (!isShallow(value, maxDepth) || JSON.stringify(value) !== text) return whole
    return {
      kind: 'json',
      outcome: whole.outcome,
      value,
      bytes: whole.bytes,
      lines: 1,
      attachments: 0,
      texts: new Map(),
    }
  } catch {
    return whole
  }
}

function isShallow(value: Json, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  return Object.values(value).every((item) => isShallow(item, levels - 1))
}
