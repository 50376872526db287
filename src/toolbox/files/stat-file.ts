// stat_file: metadata of a path. A missing file is a result, not a failure.

import { narrate } from '../../tools/narration/narration-templates.ts'
import { tool } from '../../tools/tool.ts'
import { flag, object, text, integer } from '../tool-schema-fields.ts'
import { baseName, pathField, withFileErrors } from './file-tool-errors.ts'

interface Input {
  readonly path: string
}

export const statFile = tool({
  name: 'stat_file',
  title: 'Look up a file',
  description:
    'Tell whether there is a file or directory at a path, how large it is, and when it was changed, without reading it.',
  input: object<Input>({ path: pathField }),
  output: object(
    {
      path: text('The path'),
      name: text('Its last name'),
      exists: flag('Whether there is something'),
      is_directory: flag('Whether it is a directory'),
      is_readonly: flag('Whether only the runtime writes there'),
      size_bytes: integer('0 for a directory'),
      content_hash: { type: ['string', 'null'], description: 'sha256:… of the bytes; null for a directory' },
      content_type: text('By the ending of the name'),
      created_at: text('RFC 3339'),
      updated_at: text('RFC 3339'),
    },
    ['name', 'is_directory', 'is_readonly', 'size_bytes', 'content_hash', 'content_type', 'created_at', 'updated_at'],
  ),
  hints: { readOnly: true },
  narrate: narrate(
    {
      en: { started: 'Looking up {}', completed: 'Looked up {}', failed: 'Could not look up {}' },
      de: { started: 'Sieht {} nach', completed: '{} nachgesehen', failed: 'Konnte {} nicht nachsehen' },
    },
    baseName,
  ),
  examples: [{ path: 'notes/today.md' }],
  async execute({ path }, ctx) {
    const stat = await withFileErrors(path, () => ctx.files.stat(path))
    if (!stat) return { path, exists: false }
    return {
      path: stat.path,
      name: stat.name,
      exists: true,
      is_directory: stat.kind === 'directory',
      is_readonly: stat.readonly,
      size_bytes: stat.bytes,
      content_hash: stat.hash,
      ...(stat.mediaType === null ? {} : { content_type: stat.mediaType }),
      created_at: new Date(stat.createdAt).toISOString(),
      updated_at: new Date(stat.updatedAt).toISOString(),
    }
  },
})
