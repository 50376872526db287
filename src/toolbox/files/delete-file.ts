// delete_file: deletes a file or a directory. It may rerun after a crash: the first attempt records what existed. So a
// second attempt that finds nothing knows that the first one succeeded, and it leaves a different file alone.

import { fail } from '../../core/outcome.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { tool } from '../../tools/tool.ts'
import { flag, object, text } from '../tool-schema-fields.ts'
import { baseName, rejectForeignChange, pathField, displayPath, withFileErrors } from './file-tool-errors.ts'

interface Input {
  readonly path: string
  readonly recursive?: boolean
}

export const deleteFile = tool({
  name: 'delete_file',
  title: 'Delete a file',
  description:
    'Delete a file, or a directory: an empty one, or with recursive: true one with all that is in it. It cannot be brought back.',
  input: object<Input>(
    { path: pathField, recursive: flag('Whether a directory is deleted with all that is in it; false if left out') },
    ['recursive'],
  ),
  output: object({ path: text('The path'), deleted: flag('True: it is gone') }),
  hints: { destructive: true, idempotent: true },
  concurrency: 'exclusive',
  preview: ({ path, recursive = false }) => `Deletes ${displayPath(path)}${recursive ? ' and all that is in it' : ''}.`,
  narrate: narrate(
    {
      en: { started: 'Deleting {}', completed: 'Deleted {}', failed: 'Could not delete {}' },
      de: { started: 'Löscht {}', completed: '{} gelöscht', failed: 'Konnte {} nicht löschen' },
    },
    baseName,
  ),
  examples: [{ path: 'notes/old.md' }, { path: 'build', recursive: true }],
  async execute({ path, recursive = false }, ctx) {
    const before = await withFileErrors(path, () => ctx.files.stat(path))
    const found = await ctx.step('look', () => (before ? { path: before.path, hash: before.hash } : null))
    if (found === null) throw fail(`File not found: ${displayPath(path)}`, { code: 'file_not_found' })
    if (found.path === '/')
      throw fail('The root of the workspace cannot be deleted', { code: 'root_refused', class: 'permission_denied' })
    if (before) rejectForeignChange(path, before, found.hash, ctx)
    await withFileErrors(path, () => ctx.files.remove(path, { recursive }))
    return { path: found.path, deleted: true }
  },
})
