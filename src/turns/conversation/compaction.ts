// Compacts a conversation that no longer fits: the function of the host, or the model, replaces the older messages by a
// text. A call is never separated from its result. The text is recorded once as a summary message, and the messages it
// replaces stay recorded.

import type { ModelPart } from '../../models/outcome-to-model-parts.ts'
import type { Execution } from '../../engine/engine.ts'
import { utf8Bytes } from '../../core/size-limits.ts'
import { callsIn, type Message, type SummaryMessage, textIn, textOf } from '../../models/message.ts'
import { costOf, type Model, ModelFailure, type ModelRequest, type Usage } from '../../models/model.ts'
import type { CompactionBudget, CompactionMessage, CompactionPlan, TurnUsage } from '../../models/turn-interface.ts'
import { attachmentText } from '../../tools/convert-tool-formats.ts'
import { askModel } from '../ask-model.ts'
import { type History, type MessageRecord, tokensOf } from './history.ts'
import type { TurnHost } from '../ports.ts'
import { CompactionFailure, startLimited } from './run-compaction.ts'
import { stepKeys } from '../../store/journal-keys.ts'

const contextShare = 0.8
/** Share of the context always left to the conversation, however long the instructions are. */
const minContextShare = 0.1
const maxResultLength = 2_000
/** Stop halving the input below this size (bytes). */
const minBytes = 100

const instructions =
  'You sum up a conversation between a user and an assistant that uses tools, so that the assistant can go on without it. Keep what was asked, what was decided, what was found out (names, numbers, ids, paths as they are), what was done and what is still to do. Write nothing else.'

interface CompactOptions {
  readonly model: Model
  /** In tokens; a longer conversation is compacted. */
  readonly limit: number
  /** Tokens of the newest messages to keep; default: half of the limit. */
  readonly keep?: number
  /** Send all older messages to the model: `limit` does not reflect its context size. */
  readonly whole?: boolean
  readonly signal: AbortSignal
  /** `usage`: null if no model request was made. */
  next(message: SummaryMessage, upTo: number, usage: TurnUsage | null): ReturnType<History['next']>
  add(record: MessageRecord): void
  /** Adds usage to the turn. */
  charge(usage: TurnUsage): void
}

/** Token limit of the conversation, given the tokens of the other input; Infinity if the context size is unknown. */
export const historyLimit = ({ contextTokens }: Model, otherTokens: number): number =>
  contextTokens === undefined
    ? Infinity
    : Math.floor(Math.max(contextTokens * minContextShare, contextTokens * contextShare - otherTokens))

/** Returns true if messages were replaced by a text. */
export async function compact(
  host: TurnHost,
  execution: Execution,
  history: History,
  { model, limit, keep = limit / 2, whole = false, signal, next, add, charge }: CompactOptions,
): Promise<boolean> {
  // The existing summary does not count: however long it is, it is not summarized again by itself.
  if (history.tokens <= limit) return false
  let usage: Usage | null = null
  let added: ReturnType<History['next']> | null = null
  const withCost = (used: Usage): TurnUsage => ({ ...used, cost: costOf(used, model.price) })
  const messages = history.messages.map((record) => {
    const { number, at, turn, message } = record
    return { number, at, turn, message: history.shownOf(record), tokens: tokensOf(message) }
  })
  const budgetFor = (own: AbortSignal): CompactionBudget => ({
    usedTokens: history.tokens,
    keepTokens: keep,
    requestTokens: whole ? Infinity : limit,
    summary: history.summary,
    signal: own,
    async complete({ instructions: system, prompt }) {
      const request = requestFor(system, host.redact.text(prompt))
      const answer = await askModel(host, execution, model, { request, step: 0, signal: own, quiet: true })
      usage = usage ? addUsage(usage, answer.usage) : answer.usage
      return textOf({ role: 'assistant', parts: answer.parts })
    },
  })
  const { compaction } = host
  const limited = compaction ? startLimited(host.clock, signal) : null
  try {
    const budget = budgetFor(limited?.signal ?? signal)
    // The function gets copies: its plan is checked against the conversation, whatever it did to its list.
    const copies = (): CompactionMessage[] => messages.map((each) => ({ ...each, message: { ...each.message } }))
    const plan = limited ? await limited.run(() => compaction?.(copies(), budget)) : summarizeOlder(messages, budget)
    if (plan === null) return false
    const { upTo, text } = checkPlan(plan, messages)
    await execution.runStep({ key: stepKeys.summary(upTo), input: null, once: false }, async () => {
      const written = typeof text === 'string' ? text : await (limited ? limited.run(text) : text())
      if (typeof written !== 'string') throw new CompactionFailure('it returned a text that is not a string')
      const count = messages.filter(({ number }) => number <= upTo).length
      // An empty text would hide that messages are missing.
      const summary = host.redact.text(written.toWellFormed()).trim() || `${count} earlier messages are left out here.`
      added = next({ role: 'summary', text: summary }, upTo, usage && withCost(usage))
      const { number } = added.record
      const body = { message: number, role: 'summary', turn: execution.request.position.id }
      const events = [{ type: 'message.added' as const, body }]
      return { done: String(number), attached: { documents: [added.row], events } }
    })
    const { record } = (added ?? {}) as Partial<ReturnType<History['next']>>
    if (record) add(record)
    return true
  } finally {
    limited?.close()
    // Without a summary message to carry it, the usage is charged to the turn itself.
    if (usage && !added) charge(withCost(usage))
  }
}

/** The default: the model summarizes as many of the oldest messages as needed. */
const summarizeOlder = (
  history: readonly CompactionMessage[],
  { usedTokens, keepTokens, requestTokens, summary, complete }: CompactionBudget,
): CompactionPlan | null => {
  const upTo = findCut(history, usedTokens - keepTokens)
  if (upTo === null) return null
  const before = summary === null ? [] : [`What was said before, in short: ${summary}`]
  const older = history.filter(({ number }) => number <= upTo)
  const text = [...before, ...older.map(({ message }) => transcriptOf(message))].join('\n\n')
  return { upTo, text: () => askForSummary(text, Math.max(minBytes, requestTokens * 2.5), complete) }
}

/**
 * Asks for the summary. If the text is too long, sends its beginning and end, halving the size while the model reports
 * that it is still too long.
 */
async function askForSummary(text: string, maxBytes: number, complete: CompactionBudget['complete']): Promise<string> {
  // Bytes approximate tokens better than characters do.
  const bytes = utf8Bytes(text)
  for (let size = Math.min(maxBytes, bytes); ; size /= 2) {
    const fraction = size / bytes
    const half = Math.max(1, Math.floor((text.length * fraction) / 2))
    const prompt = fraction === 1 ? text : `${text.slice(0, half)}\n\n[…]\n\n${text.slice(-half)}`
    try {
      return await complete({ instructions, prompt })
    } catch (error) {
      if (!(error instanceof ModelFailure) || !error.tooLong || size / 2 < minBytes) throw error
    }
  }
}

const requestFor = (system: string, prompt: string): ModelRequest => ({
  instructions: system,
  messages: [{ role: 'user', parts: [{ type: 'text', text: prompt.toWellFormed() }] }],
  tools: [],
  toolChoice: 'auto',
  output: null,
  parallel: true,
  settings: {},
})

const addUsage = (a: Usage, b: Usage): Usage => ({
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
  reasoningTokens: a.reasoningTokens + b.reasoningTokens,
})

/** Refuses plans that would hide the message to answer or separate a call from its result. */
function checkPlan(plan: unknown, messages: readonly CompactionMessage[]): CompactionPlan {
  const { upTo, text } = (plan ?? {}) as Partial<CompactionPlan>
  if (typeof upTo !== 'number' || (typeof text !== 'string' && typeof text !== 'function'))
    throw new CompactionFailure('it returned neither null nor { upTo, text }')
  const index = messages.findIndex(({ number }) => number === upTo)
  if (index < 0 || index === messages.length - 1)
    throw new CompactionFailure(`upTo is ${upTo}; it must be the number of a message other than the last one`)
  const message = messages[index]?.message
  if (message && opensCalls(message, messages[index + 1]?.message))
    throw new CompactionFailure(`upTo is ${upTo}, which would separate its calls from their results in ${upTo + 1}`)
  return { upTo, text }
}

/**
 * Number of the last message to summarize: as many of the oldest as needed, never between calls and their results; null
 * if none can be removed.
 */
function findCut(messages: readonly CompactionMessage[], tokens: number): number | null {
  let removed = 0
  let cut: number | null = null
  // The last message stays: the model has to answer it.
  for (const [index, { number, message, tokens: size }] of messages.slice(0, -1).entries()) {
    removed += size
    // The start of a frame has no content to summarize.
    if (message.role !== 'frame' && !opensCalls(message, messages[index + 1]?.message)) cut = number
    if (removed >= tokens && cut !== null) break
  }
  return cut
}

/** True if the message has calls and the next one holds their results. */
const opensCalls = (message: Message, next: Message | undefined): boolean =>
  message.role === 'assistant' && callsIn(message).length > 0 && next?.role === 'tool'

function transcriptOf(message: Message): string {
  switch (message.role) {
    case 'assistant': {
      const calls = callsIn(message).map(({ name, input }) => `[calls ${name} ${input.slice(0, maxResultLength)}]`)
      return ['Assistant:', textOf(message), ...calls].filter((line) => line !== '').join('\n')
    }
    case 'tool':
      return message.results
        .map(({ name, parts }) => `Result of ${name}: ${withFiles(parts, maxResultLength)}`)
        .join('\n')
    case 'notice':
      return `Runtime: ${withFiles(message.parts)}`
    case 'user':
      return `User: ${withFiles(message.parts)}`
    default:
      return textOf(message)
  }
}

/** Files are listed by name, so that the summary can mention them. */
function withFiles(parts: readonly ModelPart[], maxLength = Infinity): string {
  const files = parts.map((part) => (part.type === 'attachment' ? attachmentText(part.attachment.ref) : ''))
  return [textIn(parts).slice(0, maxLength), ...files].filter((line) => line !== '').join('\n')
}
