// Reads a paged list of a server within limits: pages, entries, bytes, time, and cursors that never end.

import type { Client, RequestOptions } from '@modelcontextprotocol/client'
import { anyObject } from './any-object.ts'

const maxPages = 100
export const maxEntries = 2_000
/** In characters of JSON. */
const maxEntrySize = 256 * 1024
const maxListSize = 16 * 1024 * 1024

export interface Listed {
  readonly entries: readonly Readonly<Record<string, unknown>>[]
  /** Entries that were left out, for the log. */
  readonly problems: readonly string[]
}

/** The entries of all pages that are objects of a reasonable size. */
export async function listPages(
  client: Client,
  method: 'tools/list' | 'resources/list' | 'resources/templates/list' | 'prompts/list',
  field: 'tools' | 'resources' | 'resourceTemplates' | 'prompts',
  options: RequestOptions,
): Promise<Listed> {
  const entries: Record<string, unknown>[] = []
  const problems = new Set<string>()
  const seen = new Set<string>()
  let size = 0
  let cursor: string | undefined
  for (let page = 0; ; page++) {
    const params = cursor === undefined ? {} : { params: { cursor } }
    const result = await client.request({ method, ...params }, anyObject, options)
    const found: unknown = result[field]
    if (!Array.isArray(found)) problems.add(`a page has no list \`${field}\``)
    for (const entry of Array.isArray(found) ? (found as unknown[]) : []) {
      if (entries.length >= maxEntries || size >= maxListSize) {
        problems.add(`only the first ${entries.length} entries are used`)
        break
      }
      const length = entrySize(entry)
      if (length === null) problems.add(`an entry is not an object of at most ${maxEntrySize / 1024} KiB`)
      else {
        size += length
        entries.push(entry as Record<string, unknown>)
      }
    }
    const next = result.nextCursor
    if (typeof next !== 'string' || entries.length >= maxEntries || size >= maxListSize) break
    if (seen.has(next) || page + 1 >= maxPages) {
      problems.add('its pages do not end')
      break
    }
    seen.add(next)
    cursor = next
  }
  return { entries, problems: [...problems] }
}

function entrySize(entry: unknown): number | null {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) return null
  const { length } = JSON.stringify(entry)
  return length <= maxEntrySize ? length : null
}
