// What a user says: a text, or a text with files. The files travel with what was asked, or sent, and become attachments of the turn that reads them: so they are
// sealed, kept and erased with it.

import { attachmentsOf } from '../../calls/context/attachments.ts'
import type { ModelPart } from '../../models/model-parts.ts'
import type { Execution } from '../../engine/engine.ts'
import type { WordsRow } from '../../store/records/conversation.ts'
import { isLoss, PawlError } from '../../core/errors.ts'
import { isName } from '../../core/ids.ts'
import { bytesIn, type Sizes } from '../../core/size-limits.ts'
import type { Json } from '../../core/value.ts'
import { summaryText } from '../../models/conversation.ts'
import type { UserFile, UserMessageInput } from '../../models/turn-interface.ts'
import type { History, KeptMessage } from './history.ts'

type FileRow = Exclude<WordsRow, string>['files'][number]

/** Of all files of a message together. */
const mostFileBytes = 20 * 1024 * 1024

const wrong = (why: string): PawlError => new PawlError('turn_invalid', `${why}.`)

/** As it goes on record. */
export function wordsOf(given: UserMessageInput, mostBytes: number, mostOfFile: number): WordsRow {
  const { text = '', attachments = [], ...more } = typeof given === 'string' ? { text: given } : (given ?? {})
  const [odd] = Object.keys(more)
  if (odd !== undefined) throw wrong(`The message has '${odd}', which no message has`)
  if (typeof text !== 'string' || !text.isWellFormed()) throw wrong('The message is not a text')
  if (!Array.isArray(attachments)) throw wrong('attachments of the message is not a list')
  if (text.trim() === '' && attachments.length === 0) throw wrong('The message is empty')
  if (bytesIn(text) > mostBytes) throw wrong(`The message has ${bytesIn(text)} bytes; at most ${mostBytes} are taken`)
  const files = (attachments as readonly UserFile[]).map(fileOf)
  const sizes = files.map(({ base64 }) => Buffer.byteLength(base64, 'base64'))
  const large = sizes.find((size) => size > mostOfFile)
  if (large !== undefined)
    throw wrong(`A file of the message has ${large} bytes; at most ${mostOfFile} are kept of one`)
  const all = sizes.reduce((sum, size) => sum + size, 0)
  if (all > mostFileBytes) throw wrong(`The files of the message have ${all} bytes; at most ${mostFileBytes} are taken`)
  return files.length === 0 ? text : { text, files }
}

function fileOf(given: UserFile): FileRow {
  const { data, mediaType, name } = given ?? {}
  if (typeof data !== 'string' && !(data instanceof Uint8Array))
    throw wrong('data of an attachment is not bytes or a text')
  if (!isName(mediaType)) throw wrong('mediaType of an attachment is not a text')
  if (name !== undefined && !isName(name)) throw wrong('name of an attachment is not a text')
  return { mediaType, ...(name === undefined ? {} : { name }), base64: Buffer.from(data).toString('base64') }
}

/** As it is said in a turn: with files that are on record with it from now on. */
export function partsOf(
  said: WordsRow,
  execution: Execution,
  { sizes, clean }: { sizes: Sizes; clean(text: string): string },
): ModelPart[] {
  const { text, files } = typeof said === 'string' ? { text: said, files: [] } : said
  const { create } = attachmentsOf(execution, sizes)
  const partOf = ({ base64, mediaType, name: given }: FileRow): ModelPart => {
    const data = Buffer.from(base64, 'base64')
    const name = given === undefined ? {} : { name: clean(given) }
    try {
      return { type: 'attachment', attachment: create(data, { mediaType, ...name }) }
    } catch (error) {
      if (isLoss(error)) throw error
      // Taken where more is allowed: the turn, and those after it, go on without it.
      const named = name.name === undefined ? '' : ` ${JSON.stringify(name.name)}`
      return {
        type: 'text',
        text: `\n[file${named}: ${mediaType}, ${data.length} bytes, which could not be kept here]`,
      }
    }
  }
  return [...(text === '' ? [] : [{ type: 'text' as const, text: clean(text) }]), ...files.map(partOf)]
}

/** What a frame begins with: the words of the tool that hands the turn to it, else the user's last. */
export function handedOver(
  { task, initial }: Handing,
  { messages, summedUp }: Pick<History, 'messages' | 'summedUp'>,
): Handed[] {
  const said = [
    ...(initial === undefined ? [] : [typeof initial === 'string' ? initial : JSON.stringify(initial)]),
    ...(task === undefined ? [] : [task]),
  ].join('\n\n')
  if (said.trim() !== '') return [{ message: { role: 'user', parts: [{ type: 'text', text: said }] } }]
  const words = messages.findLast(({ message }) => message.role === 'user')
  // Long ago, or of nobody: then what stands for them, and what the turn was begun for.
  return words
    ? [words]
    : [...inNotice(summedUp), ...messages.filter(({ message }) => message.role === 'notice').slice(-1)]
}

interface Handing {
  readonly task?: string
  readonly initial?: Json
}

type Handed = Pick<KeptMessage, 'message' | 'secret'>

/** A summary as words of the runtime: it stands for nothing in the frame that reads it. */
function inNotice(kept: KeptMessage | undefined): Handed[] {
  if (kept?.message.role !== 'summary') return []
  const parts: ModelPart[] = [{ type: 'text', text: summaryText(kept.message) }]
  return [{ message: { role: 'notice', parts }, ...(kept.secret ? { secret: true } : {}) }]
}
