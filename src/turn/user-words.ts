// What a user says: a text, or a text with files. The files travel with what was asked, or sent, and become attachments of the turn that reads them: so they are
// sealed, kept and erased with it.

import { attachmentsOf } from '../call/attachments-of.ts'
import type { ModelPart } from '../call/project.ts'
import type { Invocation } from '../engine/engine.ts'
import type { WordsRow } from '../journal/message.ts'
import { PawlError } from '../kernel/errors.ts'
import { isName } from '../kernel/id.ts'
import { bytesIn, type Sizes } from '../kernel/sizes.ts'
import type { UserFile, UserWords } from '../model/turn.ts'

/** Of all files of a message together. */
const mostFileBytes = 20 * 1024 * 1024

const wrong = (why: string): PawlError => new PawlError('turn_invalid', `${why}.`)

/** As it goes on record. */
export function wordsOf(given: UserWords, mostBytes: number): WordsRow {
  const { text = '', attachments = [], ...more } = typeof given === 'string' ? { text: given } : (given ?? {})
  const [odd] = Object.keys(more)
  if (odd !== undefined) throw wrong(`The message has '${odd}', which no message has`)
  if (typeof text !== 'string' || !text.isWellFormed()) throw wrong('The message is not a text')
  if (!Array.isArray(attachments)) throw wrong('attachments of the message is not a list')
  if (text.trim() === '' && attachments.length === 0) throw wrong('The message is empty')
  if (bytesIn(text) > mostBytes) throw wrong(`The message has ${bytesIn(text)} bytes; at most ${mostBytes} are taken`)
  const files = (attachments as readonly UserFile[]).map(fileOf)
  const size = files.reduce((sum, { base64 }) => sum + base64.length * 0.75, 0)
  if (size > mostFileBytes) throw wrong(`The files of the message have ${Math.floor(size)} bytes; at most ${mostFileBytes} are taken`)
  return files.length === 0 ? text : { text, files }
}

function fileOf(given: UserFile): Exclude<WordsRow, string>['files'][number] {
  const { data, mediaType, name } = given ?? {}
  if (typeof data !== 'string' && !(data instanceof Uint8Array)) throw wrong('data of an attachment is not bytes or a text')
  if (!isName(mediaType)) throw wrong('mediaType of an attachment is not a text')
  if (name !== undefined && !isName(name)) throw wrong('name of an attachment is not a text')
  return { mediaType, ...(name === undefined ? {} : { name }), base64: Buffer.from(data).toString('base64') }
}

/** As it is said in a turn: with files that are on record with it from now on. */
export function partsOf(
  said: WordsRow,
  invocation: Invocation,
  { sizes, clean }: { sizes: Sizes; clean(text: string): string },
): ModelPart[] {
  const { text, files } = typeof said === 'string' ? { text: said, files: [] } : said
  const { create } = attachmentsOf(invocation, sizes)
  return [
    ...(text === '' ? [] : [{ type: 'text' as const, text: clean(text) }]),
    ...files.map(({ base64, ...about }) => ({ type: 'attachment' as const, attachment: create(Buffer.from(base64, 'base64'), about) })),
  ]
}
