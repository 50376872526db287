// grep_files: finds lines by a regular expression. The files are read here, up to a byte limit. The pattern is compiled
// and run in a thread that is killed at a deadline (search-in-thread.ts), never on the event loop.

import { PawlError } from '../../core/errors.ts'
import type { FileStat } from '../../core/session-files-interface.ts'
import { fail } from '../../core/outcome.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { tool } from '../../tools/tool.ts'
import { list, object, text, integer } from '../tool-schema-fields.ts'
import { type SearchOutcome, runSearch } from './search-in-thread.ts'
import type { Match } from './search-lines.ts'
import { isText, withFileErrors } from './file-tool-errors.ts'
import { complete, cut, maxBytes, type Truncation, truncationField } from './truncation.ts'

interface Input {
  readonly pattern: string
  readonly path_pattern?: string
  readonly before_context?: number
  readonly after_context?: number
  readonly offset?: number
  readonly limit?: number
}

const maxFileBytes = 512 * 1024
const maxScannedBytes = 5 * 1024 * 1024
const maxFiles = 10_000
const maxShown = 1000
/** How long a pattern may run over all the files. */
const deadlineMs = 800
const readAtOnce = 8

const contextField = (where: string) =>
  integer(`How many lines ${where} each match to show: 0 to 20; 0 if left out`, { minimum: 0, maximum: 20 })

export const grepFiles = tool({
  name: 'grep_files',
  title: 'Search in files',
  description:
    'Find lines in the files of the workspace by a regular expression (JavaScript; begin it with (?i) to ignore case). Binary files, files over 512 KB and, unless the path pattern has the dot, names that begin with a dot are left out; at most 5 MB are searched at once.',
  input: object<Input>(
    {
      pattern: text('A regular expression, matched line by line', { minLength: 1, maxLength: 1000 }),
      path_pattern: text(
        'Where to look: a glob such as src/**/*.ts, *.md or {a,b}/**, or a directory; everywhere if left out',
        {
          minLength: 1,
          maxLength: 500,
        },
      ),
      before_context: contextField('before'),
      after_context: contextField('after'),
      offset: integer('How many matches to leave out; 0 if left out', { minimum: 0 }),
      limit: integer(`How many matches to show: 1 to ${maxShown}; 200 if left out`, { minimum: 1, maximum: maxShown }),
    },
    ['path_pattern', 'before_context', 'after_context', 'offset', 'limit'],
  ),
  output: object(
    {
      pattern: text('As asked'),
      matches: list(
        object(
          {
            path: text('The file'),
            line_number: integer('From 1 on'),
            line: text('The line; of a long one the part that was met'),
            before: list({ type: 'string' }, 'The lines before it'),
            after: list({ type: 'string' }, 'The lines after it'),
          },
          ['before', 'after'],
        ),
        'By path and line',
      ),
      match_count: integer('How many are here'),
      total_matches: integer('How many there are in what was searched'),
      offset: integer('As asked'),
      limit: integer('As asked'),
      files_searched: integer('How many files were searched'),
      files_skipped: object({
        binary: integer('No text'),
        too_large: integer('Over 512 KB'),
        unreadable: integer('Gone or changed meanwhile'),
        not_reached: integer('Left out because enough was searched'),
      }),
      note: text('What else is to be known'),
      truncation: truncationField,
    },
    ['note'],
  ),
  hints: { readOnly: true },
  narrate: narrate(
    {
      en: { started: 'Searching for {}', completed: 'Searched for {}', failed: 'Could not search for {}' },
      de: { started: 'Sucht nach {}', completed: 'Nach {} gesucht', failed: 'Konnte nicht nach {} suchen' },
    },
    ({ pattern }: Input) => pattern,
  ),
  examples: [{ pattern: 'TODO' }, { pattern: '(?i)refund', path_pattern: 'src/**/*.ts', after_context: 2 }],
  async execute(input, ctx) {
    const { pattern, offset = 0, limit = 200, before_context: before = 0, after_context: after = 0 } = input
    const { found, more } = await findFiles(input.path_pattern, ctx)
    const { files, skipped } = await scan(found, ctx)
    const question = { pattern, files, before, after, offset, limit, maxBytes }
    const { matches, total, bytes } = unwrapAnswer(await runSearch(question, deadlineMs, ctx.signal), pattern)
    const isShort = matches.length < limit && offset + matches.length < total
    const missed = more || skipped.not_reached > 0
    return {
      pattern,
      matches: matches as Match[],
      match_count: matches.length,
      total_matches: total,
      offset,
      limit,
      files_searched: files.length,
      files_skipped: skipped,
      ...(missed
        ? {
            note: `Not all files were searched: at most ${maxScannedBytes} bytes in ${maxFiles} files are at once. Narrow path_pattern to search the rest.`,
          }
        : {}),
      truncation: truncationOf({ returned: bytes, next: offset + matches.length, total, missed, isShort }),
    }
  },
})

function truncationOf({
  returned,
  next,
  total,
  missed,
  isShort,
}: {
  returned: number
  next: number
  total: number
  missed: boolean
  isShort: boolean
}): Truncation {
  if (next < total) {
    const hint = `Call grep_files with offset ${next} to see the next matches.`
    return cut({ returned, reason: isShort ? 'size_cap' : 'item_cap', next: { offset: next, hint } })
  }
  return missed ? cut({ returned, reason: 'exec_budget' }) : complete(returned)
}

/** The files that match, by path. A bare name matches at any depth; a directory stands for all files in it. */
async function findFiles(pattern: string | undefined, ctx: ToolContext): Promise<{ found: FileStat[]; more: boolean }> {
  const given = pattern ?? '**'
  const exact = await withFileErrors(given, () => statExact(given, ctx))
  if (exact?.kind === 'file') return { found: [exact], more: false }
  const top = exact && `${exact.path === '/' ? '' : exact.path}/`
  // Wildcard characters in a real name become `?`, which may match other names too; isWanted filters those.
  const glob =
    top === undefined ? (given.includes('/') ? given : `**/${given}`) : `${top.replaceAll(/[*?[\]{}]/g, '?')}**`
  const isWanted = ({ kind, path }: FileStat): boolean => kind === 'file' && (top === undefined || path.startsWith(top))
  const found: FileStat[] = []
  for (;;) {
    ctx.signal.throwIfAborted()
    const after = found.at(-1)?.path
    const page = await withFileErrors(given, () =>
      ctx.files.glob(glob, { limit: 1000, ...(after === undefined ? {} : { after }) }),
    )
    found.push(...page.entries)
    if (!page.more || found.length >= maxFiles) return { found: found.filter(isWanted), more: page.more }
  }
}

/** Looks the pattern up as a literal path first: a directory may be called [id]. */
async function statExact(given: string, ctx: ToolContext): Promise<FileStat | undefined> {
  try {
    return await ctx.files.stat(given)
  } catch (error) {
    if (/[*?[{]/.test(given) && error instanceof PawlError && error.code.startsWith('file_')) return undefined
    throw error
  }
}

interface ScanResult {
  readonly files: { path: string; text: string }[]
  readonly skipped: { binary: number; too_large: number; unreadable: number; not_reached: number }
}

/** Reads the texts of the files, up to the byte limit. */
async function scan(found: readonly FileStat[], ctx: ToolContext): Promise<ScanResult> {
  const skipped = { binary: 0, too_large: 0, unreadable: 0, not_reached: 0 }
  const wanted: FileStat[] = []
  let bytes = 0
  for (const stat of found) {
    if (stat.bytes > maxFileBytes) skipped.too_large++
    else if (bytes + stat.bytes > maxScannedBytes) skipped.not_reached++
    else {
      bytes += stat.bytes
      wanted.push(stat)
    }
  }
  const files: ScanResult['files'] = []
  for (let at = 0; at < wanted.length; at += readAtOnce) {
    ctx.signal.throwIfAborted()
    const read = await Promise.all(wanted.slice(at, at + readAtOnce).map(({ path }) => readText(path, ctx)))
    for (const each of read) {
      if (each === undefined) skipped.unreadable++
      else if (each.bytes > maxFileBytes) skipped.too_large++
      else if (isText(each.text)) files.push({ path: each.path, text: each.text })
      else skipped.binary++
    }
  }
  return { files, skipped }
}

/** Undefined if the file is gone or no longer a file. */
async function readText(
  path: string,
  ctx: ToolContext,
): Promise<{ path: string; text: string | null; bytes: number } | undefined> {
  try {
    const { text, bytes } = await ctx.files.read(path)
    return { path, text, bytes: bytes.length }
  } catch (error) {
    if (error instanceof PawlError && error.code.startsWith('file_')) return undefined
    throw error
  }
}

function unwrapAnswer(answer: SearchOutcome, pattern: string) {
  if ('matches' in answer) return answer
  if ('invalid' in answer)
    throw fail(`Invalid regex pattern: ${patternError(answer.invalid, pattern)}`, {
      code: 'invalid_pattern',
      class: 'invalid_request',
    })
  if ('late' in answer)
    throw fail(
      `The pattern was stopped after ${answer.late} ms: it takes too long on these files. Use a simpler one, without a repetition inside a repetition such as (a+)+, or a narrower path_pattern.`,
      { code: 'pattern_timeout', class: 'timeout' },
    )
  if ('absent' in answer)
    throw fail('Searching is not available here. Use read_file instead.', {
      code: 'search_unavailable',
      class: 'unavailable',
      cause: answer.absent,
    })
  throw fail('The pattern needs more memory than a search may have. Use a simpler one, or a narrower path_pattern.', {
    code: 'pattern_too_costly',
    class: 'resource_limit',
    cause: 'broken' in answer ? answer.broken : answer.excessive,
  })
}

/** The engine repeats the whole pattern in front of the reason; this keeps the reason and a short pattern. */
const patternError = (message: string, pattern: string): string => {
  const at = message.lastIndexOf(': ')
  return `${at === -1 ? message : message.slice(at + 2)} in '${pattern.length <= 100 ? pattern : `${pattern.slice(0, 99).toWellFormed()}…`}'`
}
