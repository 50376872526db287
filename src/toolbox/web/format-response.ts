// Converts a response to the result of web_fetch: readable text, an attachment, a session file, or a reason why not.

import { fail } from '../../core/outcome.ts'
import type { Attachment } from '../../core/tool-value.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { maxImageBytes } from '../files/detect-file-kind.ts'
import {
  type Content,
  detectContent,
  isUnsupported,
  type DeclaredType,
  parseContentType,
  decodeText,
} from './content-type.ts'
import { convertHtml } from './convert-html.ts'
import type { Response } from './fetch-url.ts'
import { hostOf } from './host-lists.ts'
import type { WebRules } from './fetch-rules.ts'

export interface WebFetchInput {
  readonly url: string
  readonly method?: 'GET' | 'HEAD'
  readonly as_markdown?: boolean
  readonly as_text?: boolean
  readonly save_to_file?: string
}

export interface WebFetchResult {
  readonly url: string
  readonly final_url?: string
  readonly status: number
  readonly content_type: string | null
  readonly size_bytes: number | null
  readonly format: 'markdown' | 'text' | 'html' | 'json' | 'image' | 'pdf' | 'file' | 'none'
  readonly title?: string
  readonly content?: string
  readonly attachment?: Attachment
  readonly path?: string
  readonly content_hash?: string
  readonly last_modified?: string
  readonly etag?: string
  readonly truncated: boolean
  readonly note?: string
}

/** Same marker as in the reference implementation; models know it. */
const timedOutMarker = '[..more content timed out...]'
/** Below the default result limit of 8 MiB. */
const maxRecordedBytes = 7_000_000
const couldNotConvert = 'The page could not be converted; this is its text without tags'

interface PresentInput {
  readonly input: WebFetchInput
  readonly ctx: ToolContext
  readonly rules: WebRules
}

/** An error page is never saved as the requested file. */
export async function present(response: Response, { input, ctx, rules }: PresentInput): Promise<WebFetchResult> {
  const { save_to_file: path, ...shown } = input
  if (path === undefined || hasContent(response.status)) return toResult(response, { input, ctx, rules })
  const result = await toResult(response, { input: shown, ctx, rules })
  const note = `Nothing was saved: the status is ${response.status}`
  return { ...result, note: result.note === undefined ? note : `${note}. ${result.note}` }
}

async function toResult(response: Response, { input, ctx, rules }: PresentInput): Promise<WebFetchResult> {
  const { status, headers, url } = response
  const declared = parseContentType(headers['content-type'])
  const size = sizeOf(headers['content-length'])
  const base = {
    url: input.url,
    ...(response.redirected > 0 ? { final_url: url.href } : {}),
    status,
    content_type: declared.type || null,
  }
  if (input.method === 'HEAD') {
    const { 'last-modified': modified, etag } = headers
    return {
      ...base,
      size_bytes: size,
      format: 'none',
      ...(modified === undefined ? {} : { last_modified: headerText(modified) }),
      ...(etag === undefined ? {} : { etag: headerText(etag) }),
      truncated: false,
    }
  }
  // For an error status, unreadable content is not a failure: the status is the information.
  const unreadable = (mediaType: string, bytes: number | null): WebFetchResult => {
    if (hasContent(status)) throw unsupportedError(mediaType, bytes, base)
    return {
      ...base,
      size_bytes: bytes,
      format: 'none',
      truncated: false,
      note: `Its content, ${mediaType}, cannot be shown`,
    }
  }
  if (input.save_to_file === undefined && isUnsupported(declared)) return unreadable(declared.type, size)
  const { bytes, late } = await response.read()
  const all = { ...base, size_bytes: bytes.length }
  if (input.save_to_file !== undefined) {
    if (late)
      throw fail('Request timed out before the file was complete; nothing was saved', {
        code: 'fetch_timeout',
        class: 'timeout',
      })
    const { path, hash } = await ctx.files.write(
      input.save_to_file,
      bytes,
      declared.type === '' ? {} : { mediaType: declared.type },
    )
    return { ...all, format: 'file', path, ...(hash === null ? {} : { content_hash: hash }), truncated: false }
  }
  const content = detectContent(bytes, declared)
  switch (content.kind) {
    case 'binary':
      return unreadable(content.mediaType, bytes.length)
    case 'image':
    case 'pdf': {
      if (late)
        throw fail('Request timed out before the file was complete; nothing of it was kept', {
          code: 'fetch_timeout',
          class: 'timeout',
        })
      if (content.kind === 'image' && bytes.length > maxImageBytes)
        return {
          ...all,
          format: 'image',
          truncated: true,
          note: `An image of more than ${maxImageBytes} bytes is not shown`,
        }
      const attachment = ctx.attachments.create(bytes, {
        mediaType: content.mediaType,
        name: attachmentName(url, content),
      })
      return { ...all, content_type: content.mediaType, format: content.kind, attachment, truncated: false }
    }
    default:
      return {
        ...all,
        content_type: content.mediaType,
        ...(await readText(bytes, { content, declared, late, url, input, ctx, rules })),
      }
  }
}

/** True for a success status that has content. */
const hasContent = (status: number): boolean => status >= 200 && status < 300 && status !== 204 && status !== 205

type ReadContent = Pick<WebFetchResult, 'format' | 'title' | 'content' | 'truncated' | 'note'>

async function readText(
  bytes: Buffer,
  {
    content,
    declared,
    late,
    url,
    input,
    ctx,
    rules,
  }: PresentInput & { content: Content; declared: DeclaredType; late: boolean; url: URL },
): Promise<ReadContent> {
  const shown = (given: string, cut: boolean): Pick<ReadContent, 'content' | 'truncated'> => {
    const text = fitRecord(given)
    return {
      content: late ? `${text}${text === '' ? '' : '\n\n'}${timedOutMarker}` : text,
      truncated: late || cut || text !== given,
    }
  }
  const { as_text: asText = false, as_markdown: asMarkdown = !asText } = input
  const isPage = content.kind === 'html'
  if (!isPage || !(asText || asMarkdown)) {
    const format = isPage ? 'html' : content.kind === 'json' ? 'json' : 'text'
    return { format, ...shown(decodeText(bytes, declared, content.kind, late), false) }
  }
  const html = decodeText(
    bytes.subarray(0, rules.htmlBytes),
    declared,
    content.kind,
    late || bytes.length > rules.htmlBytes,
  )
  const format = asMarkdown ? 'markdown' : 'text'
  const page = await convertHtml({ html, base: url.href, format, mostOutput: rules.htmlBytes }, rules.clock, ctx.signal)
  return {
    format: page.plain ? 'text' : format,
    ...(page.title === '' ? {} : { title: page.title }),
    ...shown(page.text, page.cut || bytes.length > rules.htmlBytes),
    ...(page.plain ? { note: couldNotConvert } : {}),
  }
}

/** Limits the text so that its JSON fits into a result. A character takes at most 6 bytes when escaped. */
function fitRecord(text: string): string {
  const cost = Buffer.byteLength(JSON.stringify(text))
  return cost <= maxRecordedBytes ? text : text.slice(0, Math.floor(maxRecordedBytes / 6)).toWellFormed()
}

const sizeOf = (header: string | undefined): number | null =>
  header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : null
/** A header value as short, well-formed text. */
const headerText = (header: string): string =>
  Buffer.from(header, 'latin1').toString('utf8').toWellFormed().slice(0, 200)

function unsupportedError(
  mediaType: string,
  size: number | null,
  known: Pick<WebFetchResult, 'url' | 'status'>,
): Error {
  return fail(
    `The content is ${mediaType || 'binary'}${size === null ? '' : ` of ${size} bytes`}, which cannot be shown as text, image or PDF. Its type and size are all there is to say`,
    {
      code: 'content_unsupported',
      class: 'execution',
      raw: { url: known.url, status: known.status, content_type: mediaType, size_bytes: size },
    },
  )
}

/** A file name for people: the last part of the path in plain characters, or the host. */
function attachmentName(url: URL, { mediaType }: Content): string {
  const last = url.pathname.split('/').at(-1) ?? ''
  const safe = last
    .replaceAll(/[^\w.-]+/g, '_')
    .replace(/^[._]+/, '')
    .slice(-80)
  return safe === '' ? `${hostOf(url).replaceAll(/[^\w.-]+/g, '_')}.${mediaType.split('/')[1]}` : safe
}
