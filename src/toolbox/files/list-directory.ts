// list_directory: what is in a directory itself, by name, page by page.

import type { FileStat } from '../../core/session-files.ts'
import { fail } from '../../core/outcome.ts'
import type { ToolContext } from '../../tools/context/context.ts'
import { narrate } from '../../tools/narration/tool-narration.ts'
import { tool } from '../../tools/tool.ts'
import { flag, list, object, text, whole } from '../schema-fields.ts'
import { baseName, pathField, shown, told } from './file-tool-errors.ts'
import { complete, cut, fitting, truncationField } from './truncation.ts'

interface Input {
  readonly path?: string
  readonly offset?: number
  readonly limit?: number
}

const mostShown = 1000
/** Of one directory that are counted. */
const mostCounted = 10_000

export const listDirectory = tool({
  name: 'list_directory',
  title: 'List a directory',
  description: 'List the files and directories in a directory of the workspace, by name.',
  input: object<Input>(
    {
      path: { ...pathField, description: 'The directory; the root of the workspace if left out' },
      offset: whole('How many entries to leave out; 0 if left out', { minimum: 0 }),
      limit: whole(`How many entries to show: 1 to ${mostShown}; 200 if left out`, { minimum: 1, maximum: mostShown }),
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
          size_bytes: whole('0 for a directory'),
          is_readonly: flag('Whether only the runtime writes there'),
        }),
        'By name',
      ),
      count: whole('How many are here'),
      total_count: whole('How many there are'),
      offset: whole('As asked'),
      limit: whole('As asked'),
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
    const { all, more } = await everything(path, ctx)
    const { items, bytes } = fitting(all.slice(offset, offset + limit).map(entryOf))
    const next = offset + items.length
    const isCut = next < all.length
    const hint = `Call list_directory with offset ${next} to see the next entries.`
    return {
      path: (await told(path, () => ctx.files.stat(path)))?.path ?? path,
      entries: items as ReturnType<typeof entryOf>[],
      count: items.length,
      total_count: all.length,
      offset,
      limit,
      ...(more ? { note: `There are more than ${mostCounted} entries; those after them are not listed.` } : {}),
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

async function everything(path: string, ctx: ToolContext): Promise<{ all: readonly FileStat[]; more: boolean }> {
  const all: FileStat[] = []
  for (;;) {
    ctx.signal.throwIfAborted()
    const after = all.at(-1)?.path
    const page = await told(path, () =>
      ctx.files.list(path, { limit: 1000, ...(after === undefined ? {} : { after }) }),
    ).catch((error: unknown) => {
      throw renamed(error, path)
    })
    all.push(...page.entries)
    if (!page.more || all.length >= mostCounted) return { all, more: page.more }
  }
}

/** It is a directory that was asked for. */
function renamed(error: unknown, path: string): unknown {
  const { code } = (error as { failure?: { code?: string } }).failure ?? {}
  if (code === 'file_not_found') return fail(`Directory not found: ${shown(path)}`, { code })
  if (code === 'file_not_directory')
    return fail(`Path '${shown(path)}' is a file, not a directory. Use read_file instead.`, { code })
  return error
}

const entryOf = ({ name, path, kind, bytes, readonly }: FileStat) => ({
  name,
  path,
  is_directory: kind === 'directory',
  size_bytes: bytes,
  is_readonly: readonly,
})
