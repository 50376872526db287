// write_file: writes a whole file, new or as a replacement. It may rerun after a crash: the first attempt records what
// existed, so `created` stays correct and a file that another writer wrote in the meantime is not overwritten.

import { PawlError } from '../../core/errors.ts'
import type { FileStat } from '../../core/session-files-interface.ts'
import { fail } from '../../core/outcome.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { tool } from '../../tools/tool.ts'
import { flag, object, oneOf, text, integer } from '../tool-schema-fields.ts'
import { baseName, hashOf, rejectForeignChange, pathField, withFileErrors } from './file-tool-errors.ts'

const encodings = ['text', 'base64'] as const

interface Input {
  readonly path: string
  readonly content: string
  readonly encoding?: (typeof encodings)[number]
}

export const writeFile = tool({
  name: 'write_file',
  title: 'Write a file',
  description:
    'Write a whole file: a new one, or in place of what stands at the path. Directories above it are made. To change a part of a file use edit_file.',
  input: object<Input>(
    {
      path: pathField,
      content: text('All of it'),
      encoding: oneOf(encodings, 'text (the default), or base64 for bytes'),
    },
    ['encoding'],
  ),
  output: object({
    path: text('The path'),
    size_bytes: integer('How large it is'),
    created: flag('True if there was no such file before, false if one was replaced'),
    content_hash: text('sha256:… of the bytes; edit_file takes it'),
  }),
  hints: { idempotent: true },
  concurrency: 'exclusive',
  narrate: narrate(
    {
      en: { started: 'Writing {}', completed: 'Wrote {}', failed: 'Could not write {}' },
      de: { started: 'Schreibt {}', completed: '{} geschrieben', failed: 'Konnte {} nicht schreiben' },
    },
    baseName,
  ),
  examples: [{ path: 'notes/today.md', content: '# Today\n' }],
  async execute({ path, content, encoding = 'text' }, ctx) {
    const bytes = encoding === 'text' ? content : decodeBase64(content)
    const before = await withFileErrors(path, () => ctx.files.stat(path))
    // Recorded as a step: a rerun sees what existed before the first attempt.
    const { existed, hash } = await ctx.step('look', () => ({
      existed: before !== undefined,
      hash: before?.hash ?? null,
    }))
    const isOurs = ctx.attempt > 1 && before?.hash === hashOf(bytes)
    if (before && !isOurs) rejectForeignChange(path, before, hash, ctx)
    const { stat, created } = isOurs
      ? { stat: before, created: !existed }
      : await withFileErrors(path, () => writeBytes({ path, bytes, existed }, ctx))
    return { path: stat.path, size_bytes: stat.bytes, created, content_hash: stat.hash ?? '' }
  },
})

interface WriteRequest {
  readonly path: string
  readonly bytes: string | Uint8Array
  readonly existed: boolean
}

async function writeBytes(
  { path, bytes, existed }: WriteRequest,
  ctx: ToolContext,
): Promise<{ stat: FileStat; created: boolean }> {
  if (!existed) {
    try {
      return { stat: await ctx.files.write(path, bytes, { ifHash: null }), created: true }
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== 'file_exists') throw error
    }
    // Another writer created it after the lookup: treat it as an existing file.
  }
  return { stat: await ctx.files.write(path, bytes), created: false }
}

/** Strict decoding: Node would silently skip invalid characters and write a different file. */
function decodeBase64(content: string): Uint8Array {
  const plain = content.replace(/[\r\n]/g, '')
  const isBase64 = /^[A-Za-z0-9+/]*={0,2}$/.test(plain) && plain.length % 4 === 0
  if (!isBase64) throw fail('content is not valid base64', { code: 'invalid_arguments', class: 'invalid_request' })
  return Buffer.from(plain, 'base64')
}
