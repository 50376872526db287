// Compacts a conversation that no longer fits: the model summarizes the older messages, the newer ones stay. A call is
// never separated from its result. The summary is a recorded message, and the messages it replaces stay recorded.

import type { ModelPart } from '../../models/outcome-to-model-parts.ts'
import type { Execution } from '../../engine/engine.ts'
import { utf8Bytes } from '../../core/size-limits.ts'
import { callsIn, type Message, type SummaryMessage, textIn, textOf } from '../../models/message.ts'
import { costOf, type Model, type ModelAnswer, ModelFailure, type ModelRequest } from '../../models/model.ts'
import type { TurnUsage } from '../../models/turn-interface.ts'
import { attachmentText } from '../../tools/convert-tool-formats.ts'
import { askModel } from '../ask-model.ts'
import { type History, type MessageRecord, tokensOf } from './history.ts'
import type { TurnHost } from '../ports.ts'

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
  next(message: SummaryMessage, upTo: number, usage: TurnUsage): ReturnType<History['next']>
  add(record: MessageRecord): void
}

/** Token limit of the conversation, given the tokens of the other input; Infinity if the context size is unknown. */
export const historyLimit = ({ contextTokens }: Model, otherTokens: number): number =>
  contextTokens === undefined
    ? Infinity
    : Math.floor(Math.max(contextTokens * minContextShare, contextTokens * contextShare - otherTokens))

/** Returns true if messages were summarized. */
export async function compact(
  host: TurnHost,
  execution: Execution,
  history: History,
  { model, limit, keep = limit / 2, whole = false, signal, next, add }: CompactOptions,
): Promise<boolean> {
  // The existing summary does not count: however long it is, it is not summarized again by itself.
  if (history.tokens <= limit) return false
  const upTo = findCut(history.messages, history.tokens - keep)
  if (upTo === null) return false
  const older = history.messages.filter(({ number }) => number <= upTo.number)
  const before = history.summary === null ? [] : [`What was said before, in short: ${history.summary}`]
  const text = [...before, ...older.map((each) => transcriptOf(history.shownOf(each)))].join('\n\n')
  const key = `summary:${upTo.number}`
  let added: ReturnType<History['next']> | null = null
  await execution.runStep({ key, input: null, once: false }, async () => {
    const { parts, usage } = await askForSummary(text, whole ? Infinity : Math.max(minBytes, limit * 2.5), (request) =>
      askModel(host, execution, model, { request, step: 0, signal, quiet: true }),
    )
    // An empty summary would hide that messages are missing.
    const summary = textOf({ role: 'assistant', parts }).trim() || `${older.length} earlier messages are left out here.`
    added = next({ role: 'summary', text: summary }, upTo.number, { ...usage, cost: costOf(usage, model.price) })
    const { number } = added.record
    const tells = [
      {
        type: 'message.added' as const,
        body: { message: number, role: 'summary', turn: execution.request.position.id },
      },
    ]
    return { done: String(number), attached: { documents: [added.row], events: tells } }
  })
  const { record } = (added ?? {}) as Partial<ReturnType<History['next']>>
  if (record) add(record)
  return true
}

/**
 * Asks for the summary. If the text is too long, sends its beginning and end, halving the size while the model reports
 * that it is still too long.
 */
async function askForSummary(
  text: string,
  maxBytes: number,
  ask: (request: ModelRequest) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  // Bytes approximate tokens better than characters do.
  const bytes = utf8Bytes(text)
  for (let size = Math.min(maxBytes, bytes); ; size /= 2) {
    const fraction = size / bytes
    const half = Math.max(1, Math.floor((text.length * fraction) / 2))
    const excerpt = fraction === 1 ? text : `${text.slice(0, half)}\n\n[…]\n\n${text.slice(-half)}`
    try {
      return await ask({
        instructions,
        messages: [{ role: 'user', parts: [{ type: 'text', text: excerpt.toWellFormed() }] }],
        tools: [],
        parallel: true,
        settings: {},
      })
    } catch (error) {
      if (!(error instanceof ModelFailure) || !error.tooLong || size / 2 < minBytes) throw error
    }
  }
}

/**
 * The last message to summarize: as many of the oldest as needed, never between calls and their results; null if none
 * can be removed.
 */
function findCut(messages: readonly MessageRecord[], tokens: number): MessageRecord | null {
  let removed = 0
  let cut: MessageRecord | null = null
  // The last message stays: the model has to answer it.
  for (const [index, each] of messages.slice(0, -1).entries()) {
    removed += tokensOf(each.message)
    // The start of a frame has no content to summarize.
    if (each.message.role !== 'frame' && !opensCalls(each.message, messages[index + 1]?.message)) cut = each
    if (removed >= tokens && cut) break
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
