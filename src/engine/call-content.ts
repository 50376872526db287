// Whether two calls ask for the same. Their hashes tell, unless one of them is keyed and the other is not, or with another key: sealing was
// turned on or off between them, or the host's secret was replaced. Then what they ask is compared itself.

import type { CallOptions } from '../store/records/call-record.ts'
import { canonical } from '../core/canonical-json.ts'
import type { Json } from '../core/value.ts'

export interface Content {
  readonly tool: string
  readonly input: string
  readonly hash: string
  readonly options: CallOptions | string | null
}

export function sameContent(a: Content, b: Content): boolean {
  if (a.hash === b.hash) return true
  return keyOf(a.hash) !== keyOf(b.hash) && contentOf(a) === contentOf(b)
}

/** What a call asks, as one text: the same for the same arguments in another order of keys. */
export const contentText = (name: string, content: string): string => `[${JSON.stringify(name)},${content}]`

function contentOf({ tool, input, options }: Content): string {
  const said = typeof options === 'string' ? (JSON.parse(options) as CallOptions) : (options ?? {})
  const read = said.unreadable === undefined
  return contentText(said.name ?? tool, read ? canonical(JSON.parse(input) as Json) : JSON.stringify(said.raw ?? null))
}

/** The id of the secret it was made with; empty for a plain one, which has no dot. */
const keyOf = (hash: string): string => hash.slice(0, hash.indexOf('.') + 1)
