// WEB: what bytes are, by what the server says and by what they look like, and their text. Pure.

import { isUtf8 } from 'node:buffer'

export type Kind = 'html' | 'json' | 'text' | 'image' | 'pdf' | 'binary'

export interface Content {
  readonly kind: Kind
  /** What it is without parameters; for images and PDF by their first bytes. */
  readonly mediaType: string
}

export interface SaidType {
  /** Lower case, without parameters; empty if nothing was said. */
  readonly type: string
  readonly charset: string | undefined
}

export function saidType(header: string | undefined): SaidType {
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
/** What says nothing, or says it of everything. */
const vague = new Set([
  '',
  'application/octet-stream',
  'binary/octet-stream',
  'application/x-download',
  'application/force-download',
  'text/plain',
  'unknown/unknown',
])

/** Whether the type alone tells that nothing can be done with it, so that it need not be read. */
export const isHopeless = ({ type }: SaidType): boolean =>
  !vague.has(type) &&
  !textTypes.test(type) &&
  !jsonTypes.test(type) &&
  !isHtml(type) &&
  !type.startsWith('image/') &&
  type !== 'application/pdf'

const isHtml = (type: string): boolean => type === 'text/html' || type === 'application/xhtml+xml'

/** Images that models take, and PDF, are what their first bytes say, whatever the server says. */
const signatures: readonly [RegExp, Kind, string][] = [
  [/^89504e470d0a1a0a/, 'image', 'image/png'],
  [/^ffd8ff/, 'image', 'image/jpeg'],
  [/^47494638(?:37|39)61/, 'image', 'image/gif'],
  [/^52494646.{8}57454250/, 'image', 'image/webp'],
  [/^255044462d/, 'pdf', 'application/pdf'],
]

export function contentOf(bytes: Buffer, said: SaidType): Content {
  const start = bytes.subarray(0, 16).toString('hex')
  for (const [shape, kind, mediaType] of signatures)
    // A text may begin as a GIF does; no image is a text.
    if (shape.test(start) && !(kind === 'image' && isUtf8(bytes) && !bytes.includes(0))) return { kind, mediaType }
  const { type } = said
  const mediaType = type || 'application/octet-stream'
  if (!isTextual(bytes, said)) return { kind: 'binary', mediaType }
  if (isHtml(type)) return { kind: 'html', mediaType }
  if (jsonTypes.test(type)) return { kind: 'json', mediaType }
  if (type.startsWith('image/') && type !== 'image/svg+xml') return { kind: 'binary', mediaType }
  if (!vague.has(type)) return textTypes.test(type) ? { kind: 'text', mediaType } : { kind: 'binary', mediaType }
  if (type !== 'text/plain' && /^\s*(?:<!doctype\s+html|<html[\s>])/i.test(bytes.subarray(0, 512).toString('latin1')))
    return { kind: 'html', mediaType: 'text/html' }
  return { kind: 'text', mediaType: type === 'text/plain' ? type : 'text/plain' }
}

/** Text has no NUL, unless it is UTF-16; without a charset that says what it is, it must be UTF-8 if nobody said that it is text. */
function isTextual(bytes: Buffer, { type, charset }: SaidType): boolean {
  if (bomOf(bytes) !== undefined || /^utf-?(?:16|32)/i.test(charset ?? '')) return true
  if (bytes.subarray(0, 65_536).includes(0)) return false
  return (
    charset !== undefined || (!vague.has(type) && type !== '') || type === 'text/plain' || isUtf8(cutAtCharacter(bytes))
  )
}

/** Without what may be the beginning of a last character. */
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
 * By its mark, by what was said, by what a page or XML says of itself, else UTF-8. What is not of the charset is U+FFFD. Of what was `cut` the end may be half a
 * character, which is left out.
 */
export function textOf(bytes: Buffer, { charset }: SaidType, kind: Kind, cut = false): string {
  for (const label of [bomOf(bytes), charset, ...declaredIn(bytes, kind)]) {
    if (label === undefined) continue
    try {
      return new TextDecoder(label).decode(bytes, { stream: cut })
    } catch {} // a charset that nobody knows: the next guess
  }
  return new TextDecoder().decode(bytes, { stream: cut })
}

function declaredIn(bytes: Buffer, kind: Kind): (string | undefined)[] {
  if (kind !== 'html' && kind !== 'text') return []
  const start = bytes.subarray(0, 1_024).toString('latin1')
  const inXml = /^\s*<\?xml\s[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})/i.exec(start)?.[1]
  const inPage =
    kind === 'html' ? /<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})/i.exec(start)?.[1] : undefined
  return [inXml, inPage].map(ofAscii)
}

/** What could be read letter by letter is not what has two bytes for each; browsers take it so too. */
function ofAscii(label: string | undefined): string | undefined {
  if (label === undefined) return undefined
  if (/^(?:utf-?(?:16|32)|ucs-?[24]|unicode)/i.test(label)) return 'utf-8'
  return /^x-user-defined$/i.test(label) ? 'windows-1252' : label
}
