// What sort of file it is, and so how much of it is read at once.

import type { Reason } from './truncation.ts'

/** How much of a text is shown unless more or less is asked for. */
export interface Manner {
  readonly mode: 'text' | 'tail' | 'rows' | 'minified'
  readonly lines: number
  readonly reason: Reason
}

const lengthyLine = 1000
const manners = {
  text: { mode: 'text', lines: 2000, reason: 'line_cap' },
  tail: { mode: 'tail', lines: 500, reason: 'line_cap' },
  rows: { mode: 'rows', lines: 100, reason: 'row_cap' },
  minified: { mode: 'minified', lines: 20, reason: 'line_cap' },
} as const satisfies Record<string, Manner>

export function mannerOf(name: string, text: string, lines: number): Manner {
  if (/\.(?:log|out)$/i.test(name)) return manners.tail
  if (/\.(?:csv|tsv)$/i.test(name)) return manners.rows
  const isMinified = /[.-]min\.[a-z]+$/i.test(name) || (lines > 0 && text.length / lines > lengthyLine)
  return isMinified ? manners.minified : manners.text
}

/** Endings of what is no text, whatever its bytes look like. */
const binary =
  /\.(?:7z|a|avi|bin|bmp|bz2|class|db|dll|dmg|doc|docx|dylib|ear|eot|exe|flac|gz|ico|iso|jar|lib|m4a|mkv|mov|mp3|mp4|o|obj|odt|ogg|otf|pdf|ppt|pptx|pyc|rar|so|sqlite|sqlite3|tar|tgz|tif|tiff|ttf|war|wasm|wav|webm|woff|woff2|xls|xlsx|xz|zip|zst)$/i

export const isBinaryName = (name: string): boolean => binary.test(name)

const signatures: readonly (readonly [mediaType: string, bytes: string])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
]

/** What providers take for one image. */
export const mostImageBytes = 5 * 1024 * 1024

/** By how it begins, not by how it is called: png, jpeg, gif and webp, which models can see. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  if (start.startsWith('RIFF') && start.slice(8, 12) === 'WEBP') return 'image/webp'
  return signatures.find(([, signature]) => start.startsWith(signature))?.[0]
}
