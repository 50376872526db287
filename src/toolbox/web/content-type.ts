// Detects the content kind of a response from its header and its bytes, and decodes its text. Pure functions.

import { isUtf8 } from 'node:buffer'

export type ContentKind = 'html' | 'json' | 'text' | 'image' | 'pdf' | 'binary'

export interface Content {
  readonly kind: ContentKind
  /** Without parameters; for images and PDF, detected from the first bytes. */
  readonly mediaType: string
}

export interface DeclaredType {
  /** Lower case, without parameters; empty if the header is missing or invalid. */
  readonly type: string
  readonly charset: string | undefined
}

export function parseContentType(header: string | undefined): DeclaredType {
  const [type = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim())
  const charset = parameters.find((parameter) => /^charset\s*=/i.test(parameter))
  return {
    type: /^[\w.+-]+\/[\w.+-]+$/.test(type) ? type.toLowerCase().slice(0, 127) : '',
    charset: charset
      ?.replace(/^charset\s*=\s*/i, '')
      .replaceAll(/["']/g, '')
      .slice(0, 40),
  }
}

const textTypes =
  /^(?:text\/|application\/(?:javascript|ecmascript|x-javascript|xml|yaml|x-yaml|toml|sql|graphql|x-sh|x-ndjson|jsonl|x-www-form-urlencoded)$|image\/svg\+xml$)|\+(?:xml|yaml|text)$/
const jsonTypes = /[/+]json$|^application\/(?:manifest|ld|geo)\+json$/
/** Types that servers send for any content, so the type is detected from the bytes. */
const vagueTypes = new Set([
  '',
  'application/octet-stream',
  'binary/octet-stream',
  'application/x-download',
  'application/force-download',
  'text/plain',
  'unknown/unknown',
])

/** True if the type alone shows that the content cannot be presented, so the body need not be read. */
export const isUnsupported = ({ type }: DeclaredType): boolean =>
  !vagueTypes.has(type) &&
  !textTypes.test(type) &&
  !jsonTypes.test(type) &&
  !isHtml(type) &&
  !type.startsWith('image/') &&
  type !== 'application/pdf'

const isHtml = (type: string): boolean => type === 'text/html' || type === 'application/xhtml+xml'

/** Images that models accept, and PDF, are detected by their first bytes, whatever the header says. */
const signatures: readonly [RegExp, ContentKind, string][] = [
  [/^89504e470d0a1a0a/, 'image', 'image/png'],
  [/^ffd8ff/, 'image', 'image/jpeg'],
  [/^47494638(?:37|39)61/, 'image', 'image/gif'],
  [/^52494646.{8}57454250/, 'image', 'image/webp'],
  [/^255044462d/, 'pdf', 'application/pdf'],
]

export function detectContent(bytes: Buffer, declared: DeclaredType): Content {
  const start = bytes.subarray(0, 16).toString('hex')
  for (const [shape, kind, mediaType] of signatures)
    // A text may start with the bytes of an image signature, but no image is valid text.
    if (shape.test(start) && !(kind === 'image' && isUtf8(bytes) && !bytes.includes(0))) return { kind, mediaType }
  const { type } = declared
  const mediaType = type || 'application/octet-stream'
  if (!isTextual(bytes, declared)) return { kind: 'binary', mediaType }
  if (isHtml(type)) return { kind: 'html', mediaType }
  if (jsonTypes.test(type)) return { kind: 'json', mediaType }
  if (type.startsWith('image/') && type !== 'image/svg+xml') return { kind: 'binary', mediaType }
  if (!vagueTypes.has(type)) return textTypes.test(type) ? { kind: 'text', mediaType } : { kind: 'binary', mediaType }
  if (type !== 'text/plain' && /^\s*(?:<!doctype\s+html|<html[\s>])/i.test(bytes.subarray(0, 512).toString('latin1')))
    return { kind: 'html', mediaType: 'text/html' }
  return { kind: 'text', mediaType: type === 'text/plain' ? type : 'text/plain' }
}

/** Text has no NUL unless it is UTF-16. Without a charset and a text type it must be valid UTF-8. */
function isTextual(bytes: Buffer, { type, charset }: DeclaredType): boolean {
  if (bomOf(bytes) !== undefined || /^utf-?(?:16|32)/i.test(charset ?? '')) return true
  if (bytes.subarray(0, 65_536).includes(0)) return false
  return (
    charset !== undefined ||
    (!vagueTypes.has(type) && type !== '') ||
    type === 'text/plain' ||
    isUtf8(cutAtCharacter(bytes))
  )
}

/** Drops trailing bytes that may be the start of an incomplete character. */
function cutAtCharacter(bytes: Buffer): Buffer {
  let end = bytes.length
  for (let back = 0; back < 4 && end > 0 && ((bytes[end - 1] as number) & 0x80) !== 0; back++) end--
  return bytes.subarray(0, end)
}

function bomOf(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : undefined
}

/**
 * Decodes by byte order mark, declared charset, charset in the document, else UTF-8. Invalid bytes become U+FFFD. If
 * the body was `cut`, an incomplete last character is dropped.
 */
export function decodeText(bytes: Buffer, { charset }: DeclaredType, kind: ContentKind, cut = false): string {
  for (const label of [bomOf(bytes), charset, ...declaredCharsets(bytes, kind)]) {
    if (label === undefined) continue
    try {
      return new TextDecoder(label).decode(bytes, { stream: cut })
    } catch {} // unknown charset: try the next one
  }
  return new TextDecoder().decode(bytes, { stream: cut })
}

function declaredCharsets(bytes: Buffer, kind: ContentKind): (string | undefined)[] {
  if (kind !== 'html' && kind !== 'text') return []
  const start = bytes.subarray(0, 1_024).toString('latin1')
  const inXml = /^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})/i.exec(start)?.[1]
  const inPage =
    kind === 'html' ? /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(start)?.[1] : undefined
  return [inXml, inPage].map(asciiCompatible)
}

/** A declaration that was readable as ASCII cannot be UTF-16 or UTF-32; browsers use UTF-8 then, too. */
function asciiCompatible(label: string | undefined): string | undefined {
  if (label === undefined) return undefined
  if (/^(?:utf-?(?:16|32)|ucs-?[24]|unicode)/i.test(label)) return 'utf-8'
  return /^x-user-defined$/i.test(label) ? 'windows-1252' : label
}
