// read_file: a page of a text, with numbered lines; an image as an image; of anything else what is known about it.

import type { FileContent } from '../../core/session-files.ts'
import { fail } from '../../core/outcome.ts'
import { bytesIn, startOf } from '../../core/size-limits.ts'
import type { ToolContext } from '../../tools/context/context.ts'
import { narrate } from '../../tools/narration/tool-narration.ts'
import { tool } from '../../tools/tool.ts'
import { flag, object, oneOf, text, whole } from '../schema-fields.ts'
import { imageTypeOf, isBinaryName, type Manner, mannerOf, mostImageBytes } from './file-kind.ts'
import { countLines, linesIn } from './lines.ts'
import { baseName, isText, pathField, shown, told } from './file-tool-errors.ts'
import { complete, cut, mostBytes, type Truncation, truncationField } from './truncation.ts'

interface Input {
  readonly path: string
  readonly offset?: number
  readonly limit?: number
}

/** Of the names of a table's columns, which come with every page. */
const mostNames = mostBytes / 4

export const readFile = tool({
  name: 'read_file',
  title: 'Read a file',
  description:
    'Read a file of the workspace. Lines come numbered as N|line. Up to 2000 lines at once, the last 500 of a .log or .out, 100 rows of a .csv or .tsv, and 50 KB in all; read on with offset. Images (png, jpeg, gif, webp) are shown; of other binary files you get what is known about them.',
  input: object<Input>(
    {
      path: pathField,
      offset: whole('How many lines to leave out; 0 if left out', { minimum: 0 }),
      limit: whole('How many lines to read', { minimum: 1, maximum: 10_000 }),
    },
    ['offset', 'limit'],
  ),
  output: object(
    {
      path: text('The path'),
      content: text('Lines as N|line'),
      total_lines: whole('How many lines the file has'),
      lines_shown: object({ start: whole('The first, from 1 on; 0 if there are none'), end: whole('The last') }),
      truncated: flag('Whether something was left out'),
      size_bytes: whole('How large the file is'),
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
    const file = await told(input.path, () => ctx.files.read(input.path))
    const { stat, bytes } = file
    const about = {
      path: stat.path,
      size_bytes: bytes.length,
      content_hash: stat.hash ?? '',
      ...(stat.mediaType === null ? {} : { content_type: stat.mediaType }),
    }
    // A text may begin as a GIF does; no GIF is a text.
    const image = isText(file.text) ? undefined : imageTypeOf(bytes)
    if (image !== undefined) return { ...about, ...imageOf(file, image, ctx) }
    if (!isText(file.text) || isBinaryName(stat.name))
      return { ...about, read_mode: 'binary', note: 'A binary file: its content is not shown.' }
    return { ...about, ...pageOf(file.text.startsWith('\ufeff') ? file.text.slice(1) : file.text, file, input) }
  },
})

function imageOf({ stat, bytes }: FileContent, mediaType: string, ctx: ToolContext) {
  const about = { media_type: mediaType, read_mode: 'image' }
  if (bytes.length > mostImageBytes)
    return { ...about, note: `An image of more than ${mostImageBytes} bytes is not shown.` }
  return { ...about, image: ctx.attachments.create(bytes, { mediaType, name: stat.name }) }
}

interface Page {
  readonly content: string
  readonly total_lines: number
  readonly lines_shown: { readonly start: number; readonly end: number }
  readonly truncated: boolean
  readonly read_mode: Manner['mode']
  readonly note?: string
  readonly truncation: Truncation
}

function pageOf(content: string, { stat, bytes }: FileContent, { path, offset, limit }: Input): Page {
  const total = countLines(content)
  const manner = mannerOf(stat.name, content, total)
  if (offset !== undefined && offset > 0 && offset >= total)
    throw fail(`offset ${offset} is past the end: '${shown(path)}' has ${total} lines.`, {
      code: 'offset_past_end',
      class: 'invalid_request',
    })
  const isTail = manner.mode === 'tail' && offset === undefined
  // Of a table the line with the names of its columns is one more.
  const isTable = manner.mode === 'rows'
  const wanted = limit ?? manner.lines + (isTable && !offset ? 1 : 0)
  const from = isTail ? Math.max(0, total - wanted) : (offset ?? 0)
  const names = isTable && from > 0 ? linesIn(content, { from: 0, count: 1 }).map((line) => numbered(line, 0)) : []
  const head = names.map((line) => startOf(line, mostNames))
  const isHeadCut = head[0] !== names[0]
  const lines = linesIn(content, { from, count: wanted })
  const room = mostBytes - head.reduce((sum, line) => sum + bytesIn(line) + 1, 0)
  const fitted = isTail ? lastWithin(lines, from, room) : firstWithin(lines, from, room)
  const start = isTail ? from + lines.length - fitted.lines.length : from
  const end = start + fitted.lines.length
  // What was asked for, and only that: lines before the offset were left out by who asked.
  const isCut = (isTail && start > 0) || end < total || fitted.partial
  const note = [
    ...(isHeadCut ? ['Line 1, with the names of the columns, is long: only its beginning is here.'] : []),
    ...(fitted.partial ? [`Line ${end} is longer than what is shown at once: only its beginning is here.`] : []),
  ].join(' ')
  const shortened = fitted.lines.length < lines.length || fitted.partial
  return {
    content: [...head, ...fitted.lines].join('\n'),
    total_lines: total,
    lines_shown: { start: total === 0 ? 0 : start + 1, end },
    truncated: isCut,
    read_mode: offset === undefined || manner.mode !== 'tail' ? manner.mode : 'text',
    ...(note === '' ? {} : { note }),
    truncation: isCut
      ? cut({
          returned: fitted.bytes,
          total: bytes.length,
          reason: shortened ? 'size_cap' : manner.reason,
          ...nextOf({ isTail, start, end, total }),
        })
      : complete(start === 0 ? bytes.length : fitted.bytes, bytes.length),
  }
}

/** Where to read on: after the page, or at the beginning for what was read from its end. */
function nextOf({ isTail, start, end, total }: { isTail: boolean; start: number; end: number; total: number }) {
  if (isTail && start > 0)
    return {
      next: { offset: 0, hint: `These are the last lines. Call read_file with offset 0 to read the first ${start}.` },
    }
  if (end < total)
    return { next: { offset: end, hint: `Call read_file with offset ${end} to read on at line ${end + 1}.` } }
  return {}
}

const numbered = (line: string, at: number): string => `${at + 1}|${line}`

interface Fitted {
  readonly lines: readonly string[]
  /** Of the file, without the numbers. */
  readonly bytes: number
  /** The only line did not fit. */
  readonly partial: boolean
}

/** Whole lines as far as there is room. One that is alone too long is cut at the end of a character. */
function firstWithin(lines: readonly string[], from: number, room: number): Fitted {
  const shownLines: string[] = []
  let [used, bytes] = [0, 0]
  for (const [at, line] of lines.entries()) {
    const full = numbered(line, from + at)
    const size = bytesIn(full) + 1
    if (used + size > room && at > 0) break
    if (size > room) {
      const start = startOf(full, room)
      return { lines: [start], bytes: bytesIn(start) - bytesIn(numbered('', from + at)), partial: true }
    }
    used += size
    bytes += bytesIn(line) + 1
    shownLines.push(full)
  }
  return { lines: shownLines, bytes: Math.max(0, bytes - 1), partial: false }
}

function lastWithin(lines: readonly string[], from: number, room: number): Fitted {
  let used = 0
  let first = lines.length
  while (first > 0) {
    const size = bytesIn(numbered(lines[first - 1] as string, from + first - 1)) + 1
    if (used + size > room) break
    used += size
    first--
  }
  const kept = Math.min(first, Math.max(0, lines.length - 1))
  return firstWithin(lines.slice(kept), from + kept, room)
}
