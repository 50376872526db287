// list_directory: the direct entries of a directory, by name, in pages.

import type { FileStat } from '../../core/session-files-interface.ts'
import { fail } from '../../core/outcome.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { tool } from '../../tools/tool.ts'
import { flag, list, object, text, integer } from '../tool-schema-fields.ts'
import { baseName, pathField, displayPath, withFileErrors } from './file-tool-errors.ts'
import { complete, cut, fitItems, truncationField } from './truncation.ts'

interface Input {
  readonly path?: string
  readonly offset?: number
  readonly limit?: number
}

const maxShown = 1000
/** Maximum number of entries counted in one directory. */
const maxCounted = 10_000

export const listDirectory = tool({
  name: 'list_directory',
  title: 'List a directory',
  description: 'List the files and directories in a directory of the workspace, by name.',
  input: object<Input>(
    {
      path: { ...pathField, description: 'The directory; the root of the workspace if left out' },
      offset: integer('How many entries to leave out; 0 if left out', { minimum: 0 }),
      limit: integer(`How many entries to show: 1 to ${maxShown}; 200 if left out`, { minimum: 1, maximum: maxShown }),
    },
    ['path', 'offset', 'limit'],
  ),
  output: object(
    {
      path: text('The directory'),
      entries: list(
        object({
          name: text('Its name'),
          path: text('Its path'),
          is_directory: flag('Whether it is a directory'),
          size_bytes: integer('0 for a directory'),
          is_readonly: flag('Whether only the runtime writes there'),
        }),
        'By name',
      ),
      count: integer('How many are here'),
      total_count: integer('How many there are'),
      offset: integer('As asked'),
      limit: integer('As asked'),
      note: text('What else is to be known'),
      truncation: truncationField,
    },
    ['note'],
  ),
  hints: { readOnly: true },
  narrate: narrate(
    {
      en: { started: 'Listing {}', completed: 'Listed {}', failed: 'Could not list {}' },
      de: { started: 'Listet {} auf', completed: '{} aufgelistet', failed: 'Konnte {} nicht auflisten' },
    },
    (input: Input) => baseName({ path: input.path ?? '/workspace' }),
  ),
  examples: [{}, { path: 'src', limit: 50 }],
  async execute({ path = '/workspace', offset = 0, limit = 200 }, ctx) {
    const { all, more } = await listAll(path, ctx)
    const { items, bytes } = fitItems(all.slice(offset, offset + limit).map(entryOf))
    const next = offset + items.length
    const isCut = next < all.length
    const hint = `Call list_directory with offset ${next} to see the next entries.`
    return {
      path: (await withFileErrors(path, () => ctx.files.stat(path)))?.path ?? path,
      entries: items as ReturnType<typeof entryOf>[],
      count: items.length,
      total_count: all.length,
      offset,
      limit,
      ...(more ? { note: `There are more than ${maxCounted} entries; those after them are not listed.` } : {}),
      truncation:
        isCut || more
          ? cut({
              returned: bytes,
              reason: isCut && items.length < limit ? 'size_cap' : 'item_cap',
              ...(isCut ? { next: { offset: next, hint } } : {}),
            })
          : complete(bytes),
    }
  },
})

async function listAll(path: string, ctx: ToolContext): Promise<{ all: readonly FileStat[]; more: boolean }> {
  const all: FileStat[] = []
  for (;;) {
    ctx.signal.throwIfAborted()
    const after = all.at(-1)?.path
    const page = await withFileErrors(path, () =>
      ctx.files.list(path, { limit: 1000, ...(after === undefined ? {} : { after }) }),
    ).catch((error: unknown) => {
      throw asDirectoryError(error, path)
    })
    all.push(...page.entries)
    if (!page.more || all.length >= maxCounted) return { all, more: page.more }
  }
}

/** Rewords file errors, because the caller asked for a directory. */
function asDirectoryError(error: unknown, path: string): unknown {
  const { code } = (error as { failure?: { code?: string } }).failure ?? {}
  if (code === 'file_not_found') return fail(`Directory not found: ${displayPath(path)}`, { code })
  if (code === 'file_not_directory')
    return fail(`Path '${displayPath(path)}' is a file, not a directory. Use read_file instead.`, { code })
  return error
}

const entryOf = ({ name, path, kind, bytes, readonly }: FileStat) => ({
  name,
  path,
  is_directory: kind === 'directory',
  size_bytes: bytes,
  is_readonly: readonly,
})
