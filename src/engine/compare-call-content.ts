// Compares the content of two calls at the same position. Equal hashes mean equal content. Hashes made with different
// secrets cannot be compared (sealing was switched, or the host's secret was rotated), so then the content itself is
// compared.

import { type CallOptions, parseCallOptions } from '../store/records/call-record.ts'
import { canonicalText, contentText } from '../core/canonical-json.ts'

export interface CallContent {
  readonly tool: string
  readonly input: string
  readonly hash: string
  readonly options: CallOptions | string | null
}

export function sameContent(a: CallContent, b: CallContent): boolean {
  if (a.hash === b.hash) return true
  return secretIdOf(a.hash) !== secretIdOf(b.hash) && contentOf(a) === contentOf(b)
}

function contentOf({ tool, input, options }: CallContent): string {
  const parsed = typeof options === 'string' ? parseCallOptions(options) : (options ?? {})
  const isReadable = parsed.unreadable === undefined
  return contentText(parsed.name ?? tool, isReadable ? canonicalText(input) : JSON.stringify(parsed.raw ?? null))
}

/** Id of the secret a keyed hash was made with; empty for a plain hash, which contains no dot. */
const secretIdOf = (hash: string): string => hash.slice(0, hash.indexOf('.') + 1)
