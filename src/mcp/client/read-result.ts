// The result of a tools/call as the value of a Pawl call: text or structured content, files as attachments. All of it is
// data of the server: bounded, and read field by field.

import { fail, result as resultOf, type ToolContext, type ToolFailure, type ToolResult } from '../../index.ts'
import type { Json } from '../../core/tool-value.ts'
import { isRecord } from './any-object.ts'
import { plainText, quotedText } from './plain-text.ts'

/** Further parts are left out: no model could use them. */
const maxParts = 1_000
const maxFiles = 20
const maxFileBytes = 6 * 1024 * 1024
/** In characters. */
const maxTextLength = 1024 * 1024
const maxErrorLength = 32_768

export interface ReadOptions {
  /** The tool has an output schema, so that structured content is its value. */
  readonly structured: boolean
  /** Whose result it is, for errors. */
  readonly server: string
}

type Part = Readonly<Record<string, unknown>>

export function readResult(
  answer: Readonly<Record<string, unknown>>,
  ctx: Pick<ToolContext, 'attachments'>,
  options: ReadOptions,
): ToolResult<Json> | ToolFailure {
  const reader = new PartReader(ctx)
  const parts: readonly unknown[] = Array.isArray(answer.content) ? answer.content : []
  for (const part of parts.slice(0, maxParts)) if (isRecord(part)) reader.read(part)
  const { structuredContent } = answer
  const hasStructured = structuredContent !== undefined
  if (answer.isError === true) {
    const text = reader.text === '' && hasStructured ? JSON.stringify(structuredContent) : reader.text
    return fail(text === '' ? `The MCP server '${options.server}' reported an error without a text.` : cut(text), {
      code: 'tool_error',
    })
  }
  const leftOut = [
    parts.length > maxParts ? `${parts.length - maxParts} more parts of the result` : '',
    reader.skippedFiles > 0 ? `${reader.skippedFiles} files that are too many, too large or not valid base64` : '',
  ].filter((each) => each !== '')
  const note = leftOut.length === 0 ? '' : `\n[Left out: ${leftOut.join(', ')}.]`
  const isText = !options.structured || !hasStructured
  const value = isText && (reader.text !== '' || !hasStructured) ? reader.text + note : (structuredContent as Json)
  return resultOf(value, reader.files.length === 0 ? {} : { attachments: reader.files })
}

const cut = (text: string): string =>
  text.length <= maxErrorLength ? text : `${text.slice(0, maxErrorLength)}\n[The rest of the error is left out.]`

class PartReader {
  readonly files: ReturnType<ToolContext['attachments']['create']>[] = []
  skippedFiles = 0
  text = ''
  readonly #ctx: Pick<ToolContext, 'attachments'>

  constructor(ctx: Pick<ToolContext, 'attachments'>) {
    this.#ctx = ctx
  }

  read(part: Part): void {
    if (part.type === 'text') this.#append(part.text)
    else if (part.type === 'image' || part.type === 'audio') this.#file(part.data, part.mimeType, part.type)
    else if (part.type === 'resource' && isRecord(part.resource)) this.#resource(part.resource)
    else if (part.type === 'resource_link') this.#append(linkText(part))
  }

  #resource(resource: Part): void {
    const { uri, text, blob, mimeType } = resource
    const name = typeof uri === 'string' ? uri : 'resource'
    if (typeof text === 'string') this.#append(`Resource ${quotedText(name)}:\n${text}`)
    else if (blob !== undefined) this.#file(blob, mimeType, name)
  }

  #append(text: unknown): void {
    if (typeof text !== 'string' || this.text.length >= maxTextLength) return
    const more = this.text === '' ? text : `\n${text}`
    const left = maxTextLength - this.text.length
    this.text += more.length <= left ? more : `${more.slice(0, left)}\n[The rest of the text is left out.]`
  }

  #file(data: unknown, mimeType: unknown, name: string): void {
    const isUsable =
      typeof data === 'string' && data.length <= (maxFileBytes * 4) / 3 + 4 && this.files.length < maxFiles
    // Buffer.from ignores what is not base64, so damaged data would become a damaged file.
    if (!isUsable || !isBase64(data)) return void this.skippedFiles++
    const mediaType =
      typeof mimeType === 'string' && mediaTypePattern.test(mimeType) ? mimeType : 'application/octet-stream'
    const about = name.includes(':') ? { mediaType, name: fileName(name) } : { mediaType }
    this.files.push(this.#ctx.attachments.create(Buffer.from(data, 'base64'), about))
  }
}

/** In linear time: a pattern with white space in two places took hours for a few megabytes of it. */
const isBase64 = (data: string): boolean => /^[A-Za-z0-9+/\-_\s]*$/.test(data.trimEnd().replace(/={1,2}$/, ''))

const mediaTypePattern = /^[\w.+-]{1,64}\/[\w.+-]{1,64}$/

/** The last part of a URI, for a file. */
const fileName = (uri: string): string =>
  plainText(
    uri
      .split(/[?#]/, 1)[0]
      ?.split('/')
      .findLast((each) => each !== '') ?? 'resource',
    100,
  ) || 'resource'

function linkText({ uri, name, mimeType }: Part): string {
  const details = [name, mimeType].filter((each) => typeof each === 'string').map((each) => quotedText(each))
  return `Resource link ${quotedText(typeof uri === 'string' ? uri : '', 1_000)}${details.length > 0 ? ` (${details.join(', ')})` : ''}`
}
