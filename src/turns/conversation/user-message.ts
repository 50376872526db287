// User messages: a text, optionally with files. Files are stored with the request or the sent message and become
// attachments of the turn that reads them, so they are sealed and erased with it.

import { attachmentsOf } from '../../calls/context/attachments.ts'
import type { ModelPart } from '../../models/outcome-to-model-parts.ts'
import type { Execution } from '../../engine/engine.ts'
import type { WordsRow } from '../../store/records/conversation.ts'
import { isStoreOrLeaseLost, PawlError } from '../../core/errors.ts'
import { formatValue } from '../../core/format-value.ts'
import { isName } from '../../core/ids.ts'
import { utf8Bytes } from '../../core/size-limits.ts'
import type { Foundation } from '../../engine/foundation.ts'
import type { Json } from '../../core/tool-value.ts'
import { summaryText } from '../../models/conversation.ts'
import type { UserFile, UserMessageInput } from '../../models/turn-interface.ts'
import type { History, MessageRecord } from './history.ts'

type FileRow = Exclude<WordsRow, string>['files'][number]

/** Limit for all files of one message together. */
const maxTotalFileBytes = 20 * 1024 * 1024

const invalid = (why: string): PawlError => new PawlError('turn_invalid', `${why}.`)

/** Validates the input and returns its stored form. */
export function parseUserMessage(input: UserMessageInput, maxBytes: number, maxFileBytes: number): WordsRow {
  if (typeof input !== 'string' && (typeof input !== 'object' || input === null || Array.isArray(input)))
    throw invalid(`The message is ${formatValue(input)}; it must be a string or { text, attachments }`)
  const { text = '', attachments = [], ...unknown } = typeof input === 'string' ? { text: input } : input
  const [unknownField] = Object.keys(unknown)
  if (unknownField !== undefined) throw invalid(`The message has the unknown field '${unknownField}'`)
  if (typeof text !== 'string' || !text.isWellFormed())
    throw invalid('The text of the message must be a well-formed string')
  if (!Array.isArray(attachments)) throw invalid('attachments of the message must be a list')
  if (text.trim() === '' && attachments.length === 0)
    throw invalid('The message is empty; it needs a text or an attachment')
  if (utf8Bytes(text) > maxBytes) throw invalid(`The message has ${utf8Bytes(text)} bytes; the limit is ${maxBytes}`)
  const files = (attachments as readonly UserFile[]).map(parseFile)
  const sizes = files.map(({ base64 }) => Buffer.byteLength(base64, 'base64'))
  const large = sizes.find((size) => size > maxFileBytes)
  if (large !== undefined)
    throw invalid(`A file of the message has ${large} bytes; the limit per file is ${maxFileBytes}`)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  if (total > maxTotalFileBytes)
    throw invalid(`The files of the message have ${total} bytes; the limit is ${maxTotalFileBytes}`)
  return files.length === 0 ? text : { text, files }
}

function parseFile(file: UserFile): FileRow {
  const { data, mediaType, name } = file ?? {}
  if (typeof data !== 'string' && !(data instanceof Uint8Array))
    throw invalid('data of an attachment must be a Uint8Array or a string')
  if (!isName(mediaType)) throw invalid('mediaType of an attachment must be a string of 1 to 512 characters')
  if (name !== undefined && !isName(name))
    throw invalid('name of an attachment must be a string of 1 to 512 characters')
  return { mediaType, ...(name === undefined ? {} : { name }), base64: Buffer.from(data).toString('base64') }
}

/** The message parts for a turn; files become attachments recorded with it. */
export function userMessageParts(
  message: WordsRow,
  execution: Execution,
  { sizes, redact }: Pick<Foundation, 'sizes' | 'redact'>,
): ModelPart[] {
  const { text, files } = typeof message === 'string' ? { text: message, files: [] } : message
  const { create } = attachmentsOf(execution, sizes)
  const partOf = ({ base64, mediaType, name: fileName }: FileRow): ModelPart => {
    const data = Buffer.from(base64, 'base64')
    const name = fileName === undefined ? {} : { name: redact.text(fileName) }
    try {
      return { type: 'attachment', attachment: create(data, { mediaType, ...name }) }
    } catch (error) {
      if (isStoreOrLeaseLost(error)) throw error
      // The file was accepted by a process with a higher limit. The turn continues without it.
      const label = name.name === undefined ? '' : ` ${JSON.stringify(name.name)}`
      return {
        type: 'text',
        text: `\n[file${label}: ${mediaType}, ${data.length} bytes, which could not be kept here]`,
      }
    }
  }
  return [...(text === '' ? [] : [{ type: 'text' as const, text: redact.text(text) }]), ...files.map(partOf)]
}

/** The first messages of a frame: the text of the tool that switched to it, else the user's last message. */
export function openingMessages(
  { task, initial }: FrameHandover,
  { messages, summaryRecord: summedUp }: Pick<History, 'messages' | 'summaryRecord'>,
): OpeningMessage[] {
  const text = [
    ...(initial === undefined ? [] : [typeof initial === 'string' ? initial : JSON.stringify(initial)]),
    ...(task === undefined ? [] : [task]),
  ].join('\n\n')
  if (text.trim() !== '') return [{ message: { role: 'user', parts: [{ type: 'text', text }] } }]
  const lastUserMessage = messages.findLast(({ message }) => message.role === 'user')
  // The user's message was summarized or there is none: use the summary and the latest notice.
  return lastUserMessage
    ? [lastUserMessage]
    : [...summaryAsNotice(summedUp), ...messages.filter(({ message }) => message.role === 'notice').slice(-1)]
}

interface FrameHandover {
  readonly task?: string
  readonly initial?: Json
}

type OpeningMessage = Pick<MessageRecord, 'message' | 'secret'>

/** The summary as a runtime notice: in the new frame it replaces no messages. */
function summaryAsNotice(record: MessageRecord | undefined): OpeningMessage[] {
  if (record?.message.role !== 'summary') return []
  const parts: ModelPart[] = [{ type: 'text', text: summaryText(record.message) }]
  return [{ message: { role: 'notice', parts }, ...(record.secret ? { secret: true } : {}) }]
}
