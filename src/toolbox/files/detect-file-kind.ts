// Detects the kind of a file, which decides how much of it read_file shows at once.

import type { Reason } from './truncation.ts'

/** How much of a text is shown if the call sets no limit. */
export interface ReadMode {
  readonly mode: 'text' | 'tail' | 'rows' | 'minified'
  readonly lines: number
  readonly reason: Reason
}

const minifiedLineLength = 1000
const readModes = {
  text: { mode: 'text', lines: 2000, reason: 'line_cap' },
  tail: { mode: 'tail', lines: 500, reason: 'line_cap' },
  rows: { mode: 'rows', lines: 100, reason: 'row_cap' },
  minified: { mode: 'minified', lines: 20, reason: 'line_cap' },
} as const satisfies Record<string, ReadMode>

export function readModeOf(name: string, text: string, lines: number): ReadMode {
  if (/\.(?:log|out)$/i.test(name)) return readModes.tail
  if (/\.(?:csv|tsv)$/i.test(name)) return readModes.rows
  const isMinified = /[.-]min\.[a-z]+$/i.test(name) || (lines > 0 && text.length / lines > minifiedLineLength)
  return isMinified ? readModes.minified : readModes.text
}

/** File extensions that are always treated as binary, whatever the bytes. */
const binaryExtensions =
  /\.(?:7z|a|avi|bin|bmp|bz2|class|db|dll|dmg|doc|docx|dylib|ear|eot|exe|flac|gz|ico|iso|jar|lib|m4a|mkv|mov|mp3|mp4|o|obj|odt|ogg|otf|pdf|ppt|pptx|pyc|rar|so|sqlite|sqlite3|tar|tgz|tif|tiff|ttf|war|wasm|wav|webm|woff|woff2|xls|xlsx|xz|zip|zst)$/i

export const isBinaryName = (name: string): boolean => binaryExtensions.test(name)

const signatures: readonly (readonly [mediaType: string, bytes: string])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF87a'],
  ['image/gif', 'GIF89a'],
]

/** The size limit of model providers for one image. */
export const maxImageBytes = 5 * 1024 * 1024

/** Detects png, jpeg, gif and webp, which models can see, by the first bytes and not by the name. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  const start = Buffer.from(bytes.subarray(0, 16)).toString('latin1')
  if (start.startsWith('RIFF') && start.slice(8, 12) === 'WEBP') return 'image/webp'
  return signatures.find(([, signature]) => start.startsWith(signature))?.[0]
}
