// A conversation that no longer fits is summed up (SESS-10): what is older becomes a text by the model itself, what is newer stays as it was said. A call
// is never parted from its result. The summary is on record like any message, and what it stands for stays on record too.

import type { ModelPart } from '../../models/model-parts.ts'
import type { Execution } from '../../engine/engine.ts'
import { bytesIn } from '../../core/size-limits.ts'
import { callsIn, type Message, type SummaryMessage, textIn, textOf } from '../../models/message.ts'
import { costOf, type Model, type ModelAnswer, ModelFailure, type ModelRequest } from '../../models/model.ts'
import type { TurnUsage } from '../../models/turn-interface.ts'
import { attachmentText } from '../../tools/convert.ts'
import { askModel } from '../ask-model.ts'
import { type History, type KeptMessage, tokensOf } from './history.ts'
import type { TurnHost } from '../ports.ts'

const share = 0.8
/** However long the instructions are: some of the conversation is always there. */
const least = 0.1
const longestResult = 2_000
/** Of what is to be summed up: a model that cannot read so much cannot sum up anything. */
const leastBytes = 100

const instructions =
  'You sum up a conversation between a user and an assistant that uses tools, so that the assistant can go on without it. Keep what was asked, what was decided, what was found out (names, numbers, ids, paths as they are), what was done and what is still to do. Write nothing else.'

interface Summing {
  readonly model: Model
  /** In tokens: what is longer is summed up. */
  readonly limit: number
  /** How much of the newest stays as it was said; half of the limit if left out. */
  readonly keep?: number
  /** The limit says nothing of what the model can read: it is given all of what is older. */
  readonly whole?: boolean
  readonly signal: AbortSignal
  next(message: SummaryMessage, upTo: number, usage: TurnUsage): ReturnType<History['next']>
  add(kept: KeptMessage): void
}

/** How long a conversation may be that the model reads besides what else it is given, in tokens; Infinity if nobody knows. */
export const limitFor = ({ contextTokens }: Model, beside: number): number =>
  contextTokens === undefined ? Infinity : Math.floor(Math.max(contextTokens * least, contextTokens * share - beside))

/** True if something was summed up. */
export async function sumUp(
  host: TurnHost,
  execution: Execution,
  history: History,
  { model, limit, keep = limit / 2, whole = false, signal, next, add }: Summing,
): Promise<boolean> {
  // What is summed up already does not count: however long, it is not summed up again by itself.
  if (history.tokens <= limit) return false
  const upTo = cutAt(history.messages, history.tokens - keep)
  if (upTo === null) return false
  const older = history.messages.filter(({ number }) => number <= upTo.number)
  const before = history.summary === null ? [] : [`What was said before, in short: ${history.summary}`]
  const text = [...before, ...older.map((each) => spoken(history.shownOf(each)))].join('\n\n')
  const key = `summary:${upTo.number}`
  let added: ReturnType<History['next']> | null = null
  await execution.run({ key, input: null, once: false }, async () => {
    const { parts, usage } = await asked(text, whole ? Infinity : Math.max(leastBytes, limit * 2.5), (request) =>
      askModel(host, execution, model, { request, step: 0, signal, quiet: true }),
    )
    // A model that says nothing has lost it all: then its reader at least knows.
    const said = textOf({ role: 'assistant', parts }).trim() || `${older.length} earlier messages are left out here.`
    added = next({ role: 'summary', text: said }, upTo.number, { ...usage, cost: costOf(usage, model.price) })
    const { number } = added.kept
    const tells = [
      {
        type: 'message.added' as const,
        body: { message: number, role: 'summary', turn: execution.request.position.id },
      },
    ]
    return { done: String(number), beside: { documents: [added.row], tells } }
  })
  const { kept } = (added ?? {}) as Partial<ReturnType<History['next']>>
  if (kept) add(kept)
  return true
}

/** Of a text that is too long for it the model is given the beginning and the end: less and less, should it say so itself. */
async function asked(
  text: string,
  mostBytes: number,
  ask: (request: ModelRequest) => Promise<ModelAnswer>,
): Promise<ModelAnswer> {
  // In bytes, which tell more of tokens than characters do.
  const bytes = bytesIn(text)
  for (let most = Math.min(mostBytes, bytes); ; most /= 2) {
    const fits = most / bytes
    const half = Math.max(1, Math.floor((text.length * fits) / 2))
    const given = fits === 1 ? text : `${text.slice(0, half)}\n\n[…]\n\n${text.slice(-half)}`
    try {
      return await ask({
        instructions,
        messages: [{ role: 'user', parts: [{ type: 'text', text: given.toWellFormed() }] }],
        tools: [],
        parallel: true,
        settings: {},
      })
    } catch (error) {
      if (!(error instanceof ModelFailure) || !error.tooLong || most / 2 < leastBytes) throw error
    }
  }
}

/** The last of what is to be summed up: as many of the oldest as must go, whole calls with their results; null if nothing can. */
function cutAt(messages: readonly KeptMessage[], tokens: number): KeptMessage | null {
  let going = 0
  let cut: KeptMessage | null = null
  // The last message stays: it is what the model is to answer.
  for (const [index, each] of messages.slice(0, -1).entries()) {
    going += tokensOf(each.message)
    // That a frame began is nothing that could be summed up.
    if (each.message.role !== 'frame' && !opensCalls(each.message, messages[index + 1]?.message)) cut = each
    if (going >= tokens && cut) break
  }
  return cut
}

/** Its results follow. */
const opensCalls = (message: Message, next: Message | undefined): boolean =>
  message.role === 'assistant' && callsIn(message).length > 0 && next?.role === 'tool'

function spoken(message: Message): string {
  switch (message.role) {
    case 'assistant': {
      const calls = callsIn(message).map(({ name, input }) => `[calls ${name} ${input.slice(0, longestResult)}]`)
      return ['Assistant:', textOf(message), ...calls].filter((line) => line !== '').join('\n')
    }
    case 'tool':
      return message.results
        .map(({ name, parts }) => `Result of ${name}: ${withFiles(parts, longestResult)}`)
        .join('\n')
    case 'notice':
      return `Runtime: ${withFiles(message.parts)}`
    case 'user':
      return `User: ${withFiles(message.parts)}`
    default:
      return textOf(message)
  }
}

/** Files are named, so that the summary can tell of them. */
function withFiles(parts: readonly ModelPart[], longest = Infinity): string {
  const files = parts.map((part) => (part.type === 'attachment' ? attachmentText(part.attachment.ref) : ''))
  return [textIn(parts).slice(0, longest), ...files].filter((line) => line !== '').join('\n')
}
