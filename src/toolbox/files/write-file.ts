// write_file: a whole file, new or in place of another. It may run again after a crash: what stood there before is looked up once and
// recorded, so that it is told truthfully whether the file is new, and what somebody else wrote meanwhile is not lost.

import { PawlError } from '../../core/errors.ts'
import type { FileStat } from '../../core/session-files.ts'
import { fail } from '../../core/outcome.ts'
import type { ToolContext } from '../../tools/context/context.ts'
import { narrate } from '../../tools/narration/tool-narration.ts'
import { tool } from '../../tools/tool.ts'
import { flag, object, oneOf, text, whole } from '../schema-fields.ts'
import { baseName, hashOf, keepOthers, pathField, told } from './file-tool-errors.ts'

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
    size_bytes: whole('How large it is'),
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
    const bytes = encoding === 'text' ? content : bytesOf(content)
    const before = await told(path, () => ctx.files.stat(path))
    // Recorded: after a crash it is still what stood there at first.
    const { existed, hash } = await ctx.step('look', () => ({
      existed: before !== undefined,
      hash: before?.hash ?? null,
    }))
    const isOurs = ctx.attempt > 1 && before?.hash === hashOf(bytes)
    if (before && !isOurs) keepOthers(path, before, hash, ctx)
    const { stat, created } = isOurs
      ? { stat: before, created: !existed }
      : await told(path, () => written({ path, bytes, existed }, ctx))
    return { path: stat.path, size_bytes: stat.bytes, created, content_hash: stat.hash ?? '' }
  },
})

interface Writing {
  readonly path: string
  readonly bytes: string | Uint8Array
  readonly existed: boolean
}

async function written(
  { path, bytes, existed }: Writing,
  ctx: ToolContext,
): Promise<{ stat: FileStat; created: boolean }> {
  if (!existed) {
    try {
      return { stat: await ctx.files.write(path, bytes, { ifHash: null }), created: true }
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== 'file_exists') throw error
    }
    // Since we looked, by somebody else: as if they had been first.
  }
  return { stat: await ctx.files.write(path, bytes), created: false }
}

/** Strictly: what Node would skip in silence would be another file than was meant. */
function bytesOf(content: string): Uint8Array {
  const plain = content.replace(/[\r\n]/g, '')
  const isBase64 = /^[A-Za-z0-9+/]*={0,2}$/.test(plain) && plain.length % 4 === 0
  if (!isBase64) throw fail('content is not valid base64', { code: 'invalid_arguments', class: 'invalid_request' })
  return Buffer.from(plain, 'base64')
}
