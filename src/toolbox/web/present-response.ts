// WEB: a response as the tool's result: readable text, an attachment, a file of the session, or words about why not.

import { fail } from '../../core/outcome.ts'
import type { Attachment } from '../../core/value.ts'
import type { ToolContext } from '../../tools/context/context.ts'
import { mostImageBytes } from '../files/file-kind.ts'
import { type Content, contentOf, isHopeless, type SaidType, saidType, textOf } from './content-type.ts'
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

/** As the reference has it: models know it. */
const timedOut = '[..more content timed out...]'
/** Results have 8 MiB by default. */
const mostRecorded = 7_000_000
const couldNotConvert = 'The page could not be converted; this is its text without tags'

interface With {
  readonly input: WebFetchInput
  readonly ctx: ToolContext
  readonly rules: WebRules
}

/** An error page does not take the place of the file that was meant. */
export async function present(response: Response, { input, ctx, rules }: With): Promise<WebFetchResult> {
  const { save_to_file: path, ...shown } = input
  if (path === undefined || hasContent(response.status)) return presented(response, { input, ctx, rules })
  const result = await presented(response, { input: shown, ctx, rules })
  const note = `Nothing was saved: the status is ${response.status}`
  return { ...result, note: result.note === undefined ? note : `${note}. ${result.note}` }
}

async function presented(response: Response, { input, ctx, rules }: With): Promise<WebFetchResult> {
  const { status, headers, url } = response
  const said = saidType(headers['content-type'])
  const size = sizeOf(headers['content-length'])
  const known = {
    url: input.url,
    ...(response.redirected > 0 ? { final_url: url.href } : {}),
    status,
    content_type: said.type || null,
  }
  if (input.method === 'HEAD') {
    const { 'last-modified': modified, etag } = headers
    return {
      ...known,
      size_bytes: size,
      format: 'none',
      ...(modified === undefined ? {} : { last_modified: plain(modified) }),
      ...(etag === undefined ? {} : { etag: plain(etag) }),
      truncated: false,
    }
  }
  // Of an error the status says most: what comes with it may be anything.
  const unreadable = (mediaType: string, bytes: number | null): WebFetchResult => {
    if (hasContent(status)) throw unsupported(mediaType, bytes, known)
    return {
      ...known,
      size_bytes: bytes,
      format: 'none',
      truncated: false,
      note: `Its content, ${mediaType}, cannot be shown`,
    }
  }
  if (input.save_to_file === undefined && isHopeless(said)) return unreadable(said.type, size)
  const { bytes, late } = await response.read()
  const all = { ...known, size_bytes: bytes.length }
  if (input.save_to_file !== undefined) {
    if (late)
      throw fail('Request timed out before the file was complete; nothing was saved', {
        code: 'fetch_timeout',
        class: 'timeout',
      })
    const { path, hash } = await ctx.files.write(
      input.save_to_file,
      bytes,
      said.type === '' ? {} : { mediaType: said.type },
    )
    return { ...all, format: 'file', path, ...(hash === null ? {} : { content_hash: hash }), truncated: false }
  }
  const content = contentOf(bytes, said)
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
      if (content.kind === 'image' && bytes.length > mostImageBytes)
        return {
          ...all,
          format: 'image',
          truncated: true,
          note: `An image of more than ${mostImageBytes} bytes is not shown`,
        }
      const attachment = ctx.attachments.create(bytes, { mediaType: content.mediaType, name: nameOf(url, content) })
      return { ...all, content_type: content.mediaType, format: content.kind, attachment, truncated: false }
    }
    default:
      return {
        ...all,
        content_type: content.mediaType,
        ...(await read(bytes, { content, said, late, url, input, ctx, rules })),
      }
  }
}

/** Whether the answer is what was asked for. */
const hasContent = (status: number): boolean => status >= 200 && status < 300 && status !== 204 && status !== 205

type Read = Pick<WebFetchResult, 'format' | 'title' | 'content' | 'truncated' | 'note'>

async function read(
  bytes: Buffer,
  { content, said, late, url, input, ctx, rules }: With & { content: Content; said: SaidType; late: boolean; url: URL },
): Promise<Read> {
  const shown = (given: string, cut: boolean): Pick<Read, 'content' | 'truncated'> => {
    const text = recordable(given)
    return {
      content: late ? `${text}${text === '' ? '' : '\n\n'}${timedOut}` : text,
      truncated: late || cut || text !== given,
    }
  }
  const { as_text: asText = false, as_markdown: asMarkdown = !asText } = input
  const isPage = content.kind === 'html'
  if (!isPage || !(asText || asMarkdown)) {
    const format = isPage ? 'html' : content.kind === 'json' ? 'json' : 'text'
    return { format, ...shown(textOf(bytes, said, content.kind, late), false) }
  }
  const html = textOf(bytes.subarray(0, rules.htmlBytes), said, content.kind, late || bytes.length > rules.htmlBytes)
  const format = asMarkdown ? 'markdown' : 'text'
  const page = await convertHtml({ html, base: url.href, format, mostOutput: rules.htmlBytes }, rules.clock, ctx.signal)
  return {
    format: page.plain ? 'text' : format,
    ...(page.title === '' ? {} : { title: page.title }),
    ...shown(page.text, page.cut || bytes.length > rules.htmlBytes),
    ...(page.plain ? { note: couldNotConvert } : {}),
  }
}

/** What a result may hold is counted as JSON, where quotes and controls cost more: so much of the text as fits for sure. */
function recordable(text: string): string {
  const cost = Buffer.byteLength(JSON.stringify(text))
  return cost <= mostRecorded ? text : text.slice(0, Math.floor(mostRecorded / 6)).toWellFormed()
}

const sizeOf = (header: string | undefined): number | null =>
  header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : null
/** One line of a header. */
const plain = (header: string): string => Buffer.from(header, 'latin1').toString('utf8').toWellFormed().slice(0, 200)

function unsupported(mediaType: string, size: number | null, known: Pick<WebFetchResult, 'url' | 'status'>): Error {
  return fail(
    `The content is ${mediaType || 'binary'}${size === null ? '' : ` of ${size} bytes`}, which cannot be shown as text, image or PDF. Its type and size are all there is to say`,
    {
      code: 'content_unsupported',
      class: 'execution',
      raw: { url: known.url, status: known.status, content_type: mediaType, size_bytes: size },
    },
  )
}

/** For people: the last part of the path, in plain characters. */
function nameOf(url: URL, { mediaType }: Content): string {
  const last = url.pathname.split('/').at(-1) ?? ''
  const safe = last
    .replaceAll(/[^\w.-]+/g, '_')
    .replace(/^[._]+/, '')
    .slice(-80)
  return safe === '' ? `${hostOf(url).replaceAll(/[^\w.-]+/g, '_')}.${mediaType.split('/')[1]}` : safe
}
