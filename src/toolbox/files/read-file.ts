// read_file: a page of a text file with numbered lines, an image as an attachment, or the metadata of any other file.

import type { FileContent } from '../../core/session-files-interface.ts'
import { fail } from '../../core/outcome.ts'
import { utf8Bytes, truncateToBytes } from '../../core/size-limits.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { tool } from '../../tools/tool.ts'
import { flag, object, oneOf, text, integer } from '../tool-schema-fields.ts'
import { imageTypeOf, isBinaryName, type ReadMode, readModeOf, maxImageBytes } from './detect-file-kind.ts'
import { countLines, linesIn } from './split-lines.ts'
import { baseName, isText, pathField, displayPath, withFileErrors } from './file-tool-errors.ts'
import { complete, cut, maxBytes, type Truncation, truncationField } from './truncation.ts'

interface Input {
  readonly path: string
  readonly offset?: number
  readonly limit?: number
}

/** Limit for the header line of a table, which is repeated on every page. */
const maxHeaderBytes = maxBytes / 4

export const readFile = tool({
  name: 'read_file',
  title: 'Read a file',
  description:
    'Read a file of the workspace. Lines come numbered as N|line. Up to 2000 lines at once, the last 500 of a .log or .out, 100 rows of a .csv or .tsv, and 50 KB in all; read on with offset. Images (png, jpeg, gif, webp) are shown; of other binary files you get what is known about them.',
  input: object<Input>(
    {
      path: pathField,
      offset: integer('How many lines to leave out; 0 if left out', { minimum: 0 }),
      limit: integer('How many lines to read', { minimum: 1, maximum: 10_000 }),
    },
    ['offset', 'limit'],
  ),
  output: object(
    {
      path: text('The path'),
      content: text('Lines as N|line'),
      total_lines: integer('How many lines the file has'),
      lines_shown: object({ start: integer('The first, from 1 on; 0 if there are none'), end: integer('The last') }),
      truncated: flag('Whether something was left out'),
      size_bytes: integer('How large the file is'),
      content_hash: text('sha256:… of the bytes; edit_file takes it'),
      content_type: text('By the ending of the name'),
      media_type: text('Of an image'),
      image: { description: 'The image itself' },
      read_mode: oneOf(['text', 'tail', 'rows', 'minified', 'binary', 'image'], 'How it was read'),
      note: text('What else is to be known'),
      truncation: truncationField,
    },
    ['content', 'total_lines', 'lines_shown', 'truncated', 'content_type', 'media_type', 'image', 'note', 'truncation'],
  ),
  hints: { readOnly: true },
  narrate: narrate(
    {
      en: { started: 'Reading {}', completed: 'Read {}', failed: 'Could not read {}' },
      de: { started: 'Liest {}', completed: '{} gelesen', failed: 'Konnte {} nicht lesen' },
    },
    baseName,
  ),
  examples: [{ path: 'notes/today.md' }, { path: 'src/main.ts', offset: 200, limit: 100 }],
  async execute(input, ctx) {
    const file = await withFileErrors(input.path, () => ctx.files.read(input.path))
    const { stat, bytes } = file
    const about = {
      path: stat.path,
      size_bytes: bytes.length,
      content_hash: stat.hash ?? '',
      ...(stat.mediaType === null ? {} : { content_type: stat.mediaType }),
    }
    // A text may start with the bytes of a GIF signature, but no GIF is valid text.
    const image = isText(file.text) ? undefined : imageTypeOf(bytes)
    if (image !== undefined) return { ...about, ...imageResult(file, image, ctx) }
    if (!isText(file.text) || isBinaryName(stat.name))
      return { ...about, read_mode: 'binary', note: 'A binary file: its content is not shown.' }
    return { ...about, ...readPage(file.text.startsWith('\ufeff') ? file.text.slice(1) : file.text, file, input) }
  },
})

function imageResult({ stat, bytes }: FileContent, mediaType: string, ctx: ToolContext) {
  const about = { media_type: mediaType, read_mode: 'image' }
  if (bytes.length > maxImageBytes)
    return { ...about, note: `An image of more than ${maxImageBytes} bytes is not shown.` }
  return { ...about, image: ctx.attachments.create(bytes, { mediaType, name: stat.name }) }
}

interface Page {
  readonly content: string
  readonly total_lines: number
  readonly lines_shown: { readonly start: number; readonly end: number }
  readonly truncated: boolean
  readonly read_mode: ReadMode['mode']
  readonly note?: string
  readonly truncation: Truncation
}

function readPage(content: string, { stat, bytes }: FileContent, { path, offset, limit }: Input): Page {
  const total = countLines(content)
  const readMode = readModeOf(stat.name, content, total)
  if (offset !== undefined && offset > 0 && offset >= total)
    throw fail(`offset ${offset} is past the end: '${displayPath(path)}' has ${total} lines.`, {
      code: 'offset_past_end',
      class: 'invalid_request',
    })
  const isTail = readMode.mode === 'tail' && offset === undefined
  // For a table, the header line does not count as a row.
  const isTable = readMode.mode === 'rows'
  const wanted = limit ?? readMode.lines + (isTable && !offset ? 1 : 0)
  const from = isTail ? Math.max(0, total - wanted) : (offset ?? 0)
  const headerLines =
    isTable && from > 0 ? linesIn(content, { from: 0, count: 1 }).map((line) => numberLine(line, 0)) : []
  const shownHeader = headerLines.map((line) => truncateToBytes(line, maxHeaderBytes))
  const isHeadCut = shownHeader[0] !== headerLines[0]
  const lines = linesIn(content, { from, count: wanted })
  const room = maxBytes - shownHeader.reduce((sum, line) => sum + utf8Bytes(line) + 1, 0)
  const fitted = isTail ? fitLastLines(lines, from, room) : fitFirstLines(lines, from, room)
  const start = isTail ? from + lines.length - fitted.lines.length : from
  const end = start + fitted.lines.length
  // Lines before the offset do not count as truncated: the caller skipped them.
  const isCut = (isTail && start > 0) || end < total || fitted.partial
  const note = [
    ...(isHeadCut ? ['Line 1, with the names of the columns, is long: only its beginning is here.'] : []),
    ...(fitted.partial ? [`Line ${end} is longer than what is shown at once: only its beginning is here.`] : []),
  ].join(' ')
  const shortened = fitted.lines.length < lines.length || fitted.partial
  return {
    content: [...shownHeader, ...fitted.lines].join('\n'),
    total_lines: total,
    lines_shown: { start: total === 0 ? 0 : start + 1, end },
    truncated: isCut,
    read_mode: offset === undefined || readMode.mode !== 'tail' ? readMode.mode : 'text',
    ...(note === '' ? {} : { note }),
    truncation: isCut
      ? cut({
          returned: fitted.bytes,
          total: bytes.length,
          reason: shortened ? 'size_cap' : readMode.reason,
          ...resumeAt({ isTail, start, end, total }),
        })
      : complete(start === 0 ? bytes.length : fitted.bytes, bytes.length),
  }
}

/** Where to continue: after the page, or at the beginning if the end of the file was read. */
function resumeAt({ isTail, start, end, total }: { isTail: boolean; start: number; end: number; total: number }) {
  if (isTail && start > 0)
    return {
      next: { offset: 0, hint: `These are the last lines. Call read_file with offset 0 to read the first ${start}.` },
    }
  if (end < total)
    return { next: { offset: end, hint: `Call read_file with offset ${end} to read on at line ${end + 1}.` } }
  return {}
}

const numberLine = (line: string, at: number): string => `${at + 1}|${line}`

interface FittedLines {
  readonly lines: readonly string[]
  /** Bytes of the file in these lines, without the line numbers. */
  readonly bytes: number
  /** True if a single line did not fit and was cut. */
  readonly partial: boolean
}

/** Whole lines up to `room` bytes. A first line that is too long is cut at a character boundary. */
function fitFirstLines(lines: readonly string[], from: number, room: number): FittedLines {
  const shownLines: string[] = []
  let [used, bytes] = [0, 0]
  for (const [at, line] of lines.entries()) {
    const full = numberLine(line, from + at)
    const size = utf8Bytes(full) + 1
    if (used + size > room && at > 0) break
    if (size > room) {
      const start = truncateToBytes(full, room)
      return { lines: [start], bytes: utf8Bytes(start) - utf8Bytes(numberLine('', from + at)), partial: true }
    }
    used += size
    bytes += utf8Bytes(line) + 1
    shownLines.push(full)
  }
  return { lines: shownLines, bytes: Math.max(0, bytes - 1), partial: false }
}

function fitLastLines(lines: readonly string[], from: number, room: number): FittedLines {
  let used = 0
  let first = lines.length
  while (first > 0) {
    const size = utf8Bytes(numberLine(lines[first - 1] as string, from + first - 1)) + 1
    if (used + size > room) break
    used += size
    first--
  }
  const firstKept = Math.min(first, Math.max(0, lines.length - 1))
  return fitFirstLines(lines.slice(firstKept), from + firstKept, room)
}
