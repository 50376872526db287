// Exports a session or one call as JSON lines: a header, one line per object, and an end line.

import type { Runtime } from '../../index.ts'
import type { ExportPart, ExportRequest } from './export-bundle.ts'
import { readExport } from './read-export.ts'

/**
 * Lines of the form `{ kind, data }`, each with its line break. Without the last line, of kind `end`, the export is
 * incomplete. Null if the request names a call that the session does not have.
 *
 * @example
 * const lines = await exportJsonl(runtime, { tenant: 'acme', session: 'chat-42', now })
 * if (lines) for await (const line of lines) process.stdout.write(line)
 */
export async function exportJsonl(
  runtime: Runtime,
  request: ExportRequest,
): Promise<AsyncGenerator<string, void, void> | null> {
  const parts = await readExport(runtime, request)
  return parts && lines(parts)
}

/** U+2028 and U+2029 are escaped: some readers take them for line breaks. Terminal codes are escaped by JSON. */
async function* lines(parts: AsyncIterable<ExportPart>): AsyncGenerator<string, void, void> {
  for await (const part of parts) yield `${escapeHidden(JSON.stringify(part))}\n`
}

/** C1 controls, bidirectional overrides and line separators, which change how a terminal or editor shows the line. */
const hidden = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g
const escapeHidden = (json: string): string =>
  json.replace(hidden, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
