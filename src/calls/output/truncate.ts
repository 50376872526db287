// Fits an outcome into the output budget of the model: its projection, or a shorter view with a hint on how to read the
// rest.
//
// The whole outcome is already recorded, so nothing is lost here. The steps: clean terminal output, measure once, and
// if the text exceeds the budget, shorten it (truncate-text.ts for text, truncate-json.ts for values). Pure.
//
// "The whole text" below is the projection of the cleaned outcome, with attachments inside JSON as null. All counts,
// offsets and readOutput refer to that text.

import { createRequire } from 'node:module'
import { option, type OptionTable } from '../../core/check-options.ts'
import type { Outcome } from '../../core/outcome.ts'
import { type Json, maxDepth, parseJson } from '../../core/tool-value.ts'
import type { OutputPage } from '../../tools/context/tool-context.ts'
import { bytesOf, formatCount, plural, type Room, sizeOf } from './text-size.ts'
import { minRoom, shortenJson, type Texts } from './truncate-json.ts'
import { LongText } from './measure-long-text.ts'
import { shortenText } from './truncate-text.ts'
import { type ModelPart, projectOutcome } from '../../models/outcome-to-model-parts.ts'
import { cleanValue } from './clean-terminal-text.ts'

/** How much of a result a model sees; the rest is stored and can be read with read_output. */
export interface OutputBudget {
  /** Limit in UTF-8 bytes. Default 16 KiB. */
  readonly bytes?: number
  /** Limit in estimated tokens; replaces the limit in bytes. */
  readonly tokens?: number
  /** Limit in lines. Default 400. */
  readonly lines: number
}

export const defaultBudget = { bytes: 16 * 1024, lines: 400 } as const satisfies OutputBudget

/** Describes a shortened view. */
export interface Cut {
  readonly totalBytes: number
  readonly totalLines: number
  /** Bytes of the whole text in the view, without markers and notice. */
  readonly shownBytes: number
  readonly handle: string | null
}

export interface Fitted {
  readonly parts: readonly ModelPart[]
  readonly cut: Cut | null
}

/**
 * Upper bound of bytes per token. Estimators count almost nothing for long runs of spaces; a text above the bound is
 * not estimated.
 */
const bytesPerToken = 16

export const outputOption = option.nested({
  bytes: option.wholeNumber(1024),
  tokens: option.wholeNumber(256),
  lines: option.wholeNumber(10),
} satisfies OptionTable<OutputBudget>)

/** The budget from options, with defaults. */
export function outputBudget({ lines = defaultBudget.lines, tokens, bytes }: Partial<OutputBudget> = {}): OutputBudget {
  return tokens === undefined ? { bytes: bytes ?? defaultBudget.bytes, lines } : { tokens, lines }
}

/** How the rest can be read: `handle` is the argument of read_output. */
interface ReadHandle {
  readonly handle: string
  /** True if the model has the tool read_output. */
  readonly hasReadOutput: boolean
}

/**
 * The model's view within the budget. The hint about read_output is only
 * shown to a model that has this tool, and never if `handle` is null (nothing stored, or not meant for the model).
 */
export function fitToBudget(
  outcome: Outcome,
  budget: OutputBudget,
  handle: string | null,
  hasReadOutput = true,
): Fitted {
  // Attachments beside the value have no text, so they are not part of what is measured and shortened.
  if (outcome.status === 'success' && outcome.attachments) {
    const { attachments, ...rest } = outcome
    const fitted = fitToBudget(rest, budget, handle, hasReadOutput)
    const files = attachments.map((attachment) => ({ type: 'attachment', attachment }) as const)
    return { ...fitted, parts: [...fitted.parts, ...files] }
  }
  const reading = handle === null ? null : { handle, hasReadOutput }
  const whole = measure(outcome)
  const most = budget.tokens === undefined ? (budget.bytes ?? defaultBudget.bytes) : budget.tokens * bytesPerToken
  const within = whole.bytes <= most && whole.lines <= budget.lines
  if (within && tokensOf(whole.outcome, projectOutcome(whole.outcome), budget) <= (budget.tokens ?? 0)) {
    return { parts: projectOutcome(whole.outcome), cut: null }
  }

  const shape = parseJsonText(whole)
  // A view is never larger than the text.
  let bytes = Math.min(most, whole.bytes)
  for (;;) {
    const room = { bytes, lines: budget.lines }
    const view = shape.kind === 'json' ? jsonView(shape, room, reading) : textView(shape, room, reading)
    const tokens = tokensOf(whole.outcome, view.parts, budget)
    if (tokens <= (budget.tokens ?? 0)) {
      const cut = { totalBytes: whole.bytes, totalLines: whole.lines, shownBytes: view.shown, handle }
      return { parts: view.parts, cut }
    }
    // Guess the bytes in proportion to the tokens and repeat. No character has more tokens than bytes, so this
    // terminates.
    bytes = Math.floor(bytes * Math.min(0.9, (budget.tokens ?? 0) / tokens))
  }
}

type Estimate = (text: string) => number
let estimate: Estimate | undefined

/** Loaded when a budget first uses tokens. Uses require() because truncation is synchronous. */
function estimator(): Estimate {
  estimate ??= loadTokenx().estimateTokenCount
  return estimate
}

/** Only a bundle has `require`. Bundlers follow it and not createRequire(), so there the package is in the bundle. */
const loadTokenx = (): { estimateTokenCount: Estimate } =>
  (typeof require === 'undefined' ? createRequire(import.meta.url)('tokenx') : require('tokenx')) as never

/** 0 if the budget has no token limit. */
const tokensOf = (outcome: Outcome, parts: readonly ModelPart[], budget: OutputBudget): number =>
  budget.tokens === undefined ? 0 : estimator()(textOf(outcome, parts))

/**
 * A page of the whole text by UTF-8 bytes. Both ends are rounded down to a character boundary; a page is never empty.
 */
export function readOutput(
  outcome: Outcome,
  where: { readonly offset?: number; readonly limit?: number } = {},
): OutputPage {
  return pageOf(Buffer.from(wholeText(cleanOutcome(outcome))), where)
}

/** Room for the text that a tool puts around a page. */
const reservedForTool = { bytes: 256, tokens: 128, lines: 2 }

/** The longest page that fits the budget together with the text around it. */
export function readablePage(outcome: Outcome, offset: number | undefined, budget: OutputBudget): OutputPage {
  const whole = Buffer.from(wholeText(cleanOutcome(outcome)))
  const lines = budget.lines - reservedForTool.lines
  const { bytes = defaultBudget.bytes, tokens } = budget
  const room =
    tokens === undefined
      ? { bytes: bytes - reservedForTool.bytes, lines }
      : { tokens: tokens - reservedForTool.tokens, lines }
  let limit = room.bytes ?? room.tokens * bytesPerToken
  for (;;) {
    const page = pageOf(whole, { ...(offset === undefined ? {} : { offset }), limit })
    if (limit < 1 || fitToBudget({ status: 'success', value: page.text }, room, null).cut === null) return page
    limit = Math.floor(limit * 0.8)
  }
}

function pageOf(whole: Buffer, where: { readonly offset?: number; readonly limit?: number }): OutputPage {
  const characterStart = (at: number): number => {
    let start = Math.min(at, whole.length)
    while (start > 0 && isInside(whole[start])) start--
    return start
  }
  const offset = characterStart(integerOr(where.offset, 0))
  let end = characterStart(offset + Math.max(1, integerOr(where.limit, defaultBudget.bytes)))
  if (end <= offset && offset < whole.length) {
    end = offset + 1
    while (isInside(whole[end])) end++
  }
  const text = whole.toString('utf8', offset, end)
  return { text, offset, nextOffset: end < whole.length ? end : null, totalBytes: whole.length }
}

const isInside = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** The number comes from a model and may be any number. */
const integerOr = (given: number | undefined, otherwise: number): number =>
  given === undefined || Number.isNaN(given) ? otherwise : Math.max(0, Math.floor(given))

/**
 * Attachments inside JSON count as null, so that offsets do not depend on the renderer; attachments of a failure add no
 * text.
 */
function textOf(outcome: Outcome, parts: readonly ModelPart[]): string {
  const attachment = outcome.status === 'success' ? 'null' : ''
  return parts.map((part) => (part.type === 'text' ? part.text : attachment)).join('')
}

const wholeText = (outcome: Outcome): string => textOf(outcome, projectOutcome(outcome))

/** The outcome without terminal codes and redraws. */
export function cleanOutcome(outcome: Outcome): Outcome {
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

/** A measured outcome. The text of a failure has a fixed first line (`head`) and a body that may be shortened. */
type Whole = WholeText | WholeJson

interface WholeText extends Measured {
  readonly kind: 'text'
  readonly head: string
  readonly body: LongText
}

interface WholeJson extends Measured {
  readonly kind: 'json'
  readonly value: Json
  readonly attachments: number
  readonly texts: Texts
}

interface Measured {
  readonly outcome: Outcome
  readonly bytes: number
  readonly lines: number
}

function measure(given: Outcome): Whole {
  if (given.status === 'success' && typeof given.value !== 'string') {
    const size = sizeOf(given.value)
    if (size.terminal) return measure({ ...given, value: cleanValue(given.value) })
    const { bytes, attachments } = size
    return { kind: 'json', outcome: given, value: given.value, bytes, attachments, lines: 1, texts: new Map() }
  }
  const outcome = cleanOutcome(given)
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

/** A model without read_output only gets the handle. In a JSON view the handle is a separate field. */
function readOnNotice(reading: ReadHandle | null, offset?: number): string {
  if (reading === null) return ''
  const { handle, hasReadOutput } = reading
  const stored = ' The whole result is stored'
  if (offset === undefined) return `${stored}${hasReadOutput ? ': read it with read_output' : ' under this handle'}`
  return `${stored}${hasReadOutput ? `: read it with read_output ${JSON.stringify({ handle, offset })}` : ` as ${JSON.stringify(handle)}`}`
}

function readOnFields(reading: ReadHandle | null): { [key: string]: Json } {
  if (reading === null) return {}
  const { handle, hasReadOutput } = reading
  return hasReadOutput ? { read_output: { handle, offset: 0 } } : { handle }
}

interface View {
  readonly parts: readonly ModelPart[]
  readonly shown: number
}

function textView(whole: WholeText, room: Room, reading: ReadHandle | null): View {
  const notices = [
    (shown: number, offset: number): string =>
      `[Shortened: ${formatCount(shown)} of ${formatCount(whole.bytes)} bytes shown${whole.lines > 1 ? ` (${plural(whole.lines, 'line')} in all)` : ''}.` +
      `${readOnNotice(reading, offset)}]`,
    (): string =>
      reading?.hasReadOutput ? `[Shortened: read_output ${JSON.stringify({ handle: reading.handle })}]` : '[Shortened]',
    (): string => '',
  ]
  const headBytes = bytesOf(whole.head)
  // A text of many short lines can exceed the budget and still be smaller than the notice; then the notice is omitted.
  const reserve = (notice: (typeof notices)[number]): number => bytesOf(notice(whole.bytes, whole.bytes)) + 1
  const notice =
    notices.find((candidate) => room.lines > 2 && reserve(candidate) <= (room.bytes - headBytes) * 0.75) ??
    ((): string => '')
  const linesAround = (whole.head === '' ? 0 : 1) + (notice(0, 0) === '' ? 0 : 1)
  const inner = { bytes: room.bytes - reserve(notice) - headBytes, lines: room.lines - linesAround }
  const short = shortenText(whole.body, inner, 'text', whole.bytes)
  const shown = headBytes + short.shown
  const noticeText = notice(shown, headBytes + whole.body.bytesOf(0, short.firstGap))
  const body = whole.head + short.text
  const text = noticeText === '' || body === '' || body.endsWith('\n') ? body + noticeText : `${body}\n${noticeText}`
  const attachments = projectOutcome(whole.outcome).filter((part) => part.type === 'attachment')
  return { parts: [...(text === '' ? [] : [{ type: 'text', text } as const]), ...attachments], shown }
}

/** One JSON document with the shortened value, the amount that is missing, and how to read it. */
function jsonView(whole: WholeJson, room: Room, reading: ReadHandle | null): View {
  const onward = readOnFields(reading)
  const wrappers = [
    (inner: Json, shown: number, missing: number): Json => ({
      shortened:
        `${formatCount(shown)} of ${formatCount(whole.bytes)} bytes shown${missing > 0 ? `, ${plural(missing, 'attachment')} left out` : ''}.` +
        readOnNotice(reading),
      ...onward,
      value: inner,
    }),
    (): Json => (reading === null ? ['…'] : onward),
    (): Json => ['…'],
  ]
  for (const wrap of wrappers) {
    const reserve = sizeOf(wrap('', whole.bytes, whole.attachments)).bytes - 2
    if (reserve + minRoom > room.bytes && wrap !== wrappers.at(-1)) continue
    const short =
      wrap.length > 0
        ? shortenJson(whole.value, room.bytes - reserve, whole.texts)
        : { value: null, shown: 0, attachments: 0 }
    const view: Outcome = {
      status: 'success',
      value: wrap(short.value, short.shown, whole.attachments - short.attachments),
    }
    return { parts: projectOutcome(view), shown: short.shown }
  }
  return { parts: [], shown: 0 }
}

/** Longer texts are not parsed as JSON, to bound the work. */
const longestJsonText = 4 * 1024 * 1024

/**
 * A string that is exactly compact JSON (from a tool that stringifies its result) is treated as a value and stays valid
 * JSON.
 */
function parseJsonText(whole: Whole): Whole {
  if (whole.kind === 'json' || whole.head !== '') return whole
  const { text } = whole.body
  if (text.length > longestJsonText || !/^[[{]/.test(text)) return whole
  try {
    const value = parseJson(text)
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
