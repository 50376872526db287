// `pawl export`: a session or one call as JSON lines or as one HTML page.

import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Run } from '../cli.ts'
import { CliError, exitCodes } from '../exit-codes.ts'
import { bold, green } from '../output/output.ts'
import { safeJson } from '../output/terminal-safe.ts'
import { given } from '../read-arguments.ts'

interface ExportFlags {
  readonly call?: string
  readonly html?: boolean
  readonly output?: string
}

export const exportSession: Run<ExportFlags> = async (cli, [session = ''], { call, html = false, output: file }) => {
  const { output, signal } = cli
  if (html && file === undefined && process.stdout.isTTY)
    throw new CliError(exitCodes.usage, 'Write the page to a file: -o page.html')
  const client = await cli.client()
  await client.sessions.get({ session }) // an export of a missing session would be an empty file
  const response = await client.sessions.export({ session, format: html ? 'html' : 'jsonl', ...given({ call }) })
  if (!response.body) throw new CliError(exitCodes.failed, 'The export has no content.')
  const bytes = Readable.fromWeb(response.body)
  if (file !== undefined) {
    await pipeline(bytes, createWriteStream(file), { signal })
    output.note(green('✓'), ' Wrote ', bold(file))
    return
  }
  // Inside JSON lines the characters that a terminal obeys can be escaped. A page goes to a pipe as it is.
  bytes.setEncoding('utf8')
  for await (const text of bytes as AsyncIterable<string>) output.raw(html ? text : safeJson(text))
}
