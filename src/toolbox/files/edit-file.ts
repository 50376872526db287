// edit_file: replaces parts of a text file if it is still the version that was read. It may rerun after a crash: the
// hash of the result is recorded before the write, so a second attempt recognizes its own result.

import { PawlError } from '../../core/errors.ts'
import { fail } from '../../core/outcome.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { tool } from '../../tools/tool.ts'
import { flag, list, object, text, integer } from '../tool-schema-fields.ts'
import { maxDiffChars } from './diff.ts'
import { applyReplacements, type Replacement } from './apply-edits.ts'
import { baseName, hashOf, isText, pathField, displayPath, withFileErrors } from './file-tool-errors.ts'

interface Input {
  readonly path: string
  readonly expected_hash: string
  readonly edits: readonly Replacement[]
}

export const editFile = tool({
  name: 'edit_file',
  title: 'Edit a file',
  description:
    'Replace parts of a text file. Every old_text must stand in the file exactly once, as it is before all edits, and edits must not overlap. Give the content_hash that read_file, write_file or the last edit_file told, so that nothing is edited that has changed since.',
  input: object<Input>({
    path: pathField,
    expected_hash: text('The content_hash of the version that is edited', { pattern: '^sha256:[0-9a-f]{64}$' }),
    edits: list(
      object<Replacement>({
        old_text: text('What stands there now, without line numbers', { minLength: 1 }),
        new_text: text('What takes its place; empty to remove it'),
      }),
      'What to replace',
      { minItems: 1, maxItems: 200 },
    ),
  }),
  output: object({
    path: text('The path'),
    size_bytes: integer('How large it is now'),
    content_hash: text('sha256:… of the new version'),
    previous_content_hash: text('sha256:… of the version before'),
    applied_edits: integer('How many edits were made'),
    first_changed_line: integer('From 1 on'),
    diff: text(`What changed, as a unified diff of at most ${maxDiffChars} characters`),
    diff_truncated: flag('Whether the diff was cut; the file was not'),
  }),
  hints: { idempotent: true },
  concurrency: 'exclusive',
  narrate: narrate(
    {
      en: { started: 'Editing {}', completed: 'Edited {}', failed: 'Could not edit {}' },
      de: { started: 'Bearbeitet {}', completed: '{} bearbeitet', failed: 'Konnte {} nicht bearbeiten' },
    },
    baseName,
  ),
  examples: [
    {
      path: 'notes/today.md',
      expected_hash: `sha256:${'0'.repeat(63)}1`,
      edits: [{ old_text: '- [ ] call Bea', new_text: '- [x] call Bea' }],
    },
  ],
  execute: ({ path, expected_hash: expected, edits }, ctx) =>
    withFileErrors(path, () => edit({ path, expected_hash: expected, edits }, ctx)),
})

async function edit({ path, expected_hash: expected, edits }: Input, ctx: ToolContext) {
  const { stat, text: content } = await ctx.files.read(path)
  if (!isText(content))
    throw fail(
      `File '${displayPath(path)}' is not a text file. edit_file only supports text files; use write_file for binary/base64 content.`,
      {
        code: 'not_text',
      },
    )
  const isExpected = stat.hash === expected
  // In a second attempt the file may already be our own result. The recorded plan shows whether it is.
  if (!isExpected && ctx.attempt === 1) throw fileChangedError(path, expected, stat.hash)
  const result = isExpected ? applyReplacements(stat.path, content, edits) : undefined
  const plan = await ctx.step(
    'plan',
    () => result && { hash: hashOf(result.text), bytes: Buffer.byteLength(result.text), ...result.diff },
  )
  if (!plan || (!result && stat.hash !== plan.hash)) throw fileChangedError(path, expected, stat.hash)
  if (result) {
    try {
      await ctx.files.write(path, result.text, {
        ifHash: expected,
        ...(stat.mediaType === null ? {} : { mediaType: stat.mediaType }),
      })
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== 'file_changed') throw error
      throw fileChangedError(path, expected, (await ctx.files.stat(path))?.hash ?? null)
    }
  }
  return {
    path: stat.path,
    size_bytes: plan.bytes,
    content_hash: plan.hash,
    previous_content_hash: expected,
    applied_edits: edits.length,
    first_changed_line: plan.firstLine,
    diff: plan.diff,
    diff_truncated: plan.truncated,
  }
}

const fileChangedError = (path: string, expected: string, found: string | null): Error =>
  fail(
    `File '${displayPath(path)}' changed since the last read. Expected ${expected}, found ${found ?? 'none'}. Read the file again before editing.`,
    { code: 'file_changed' },
  )
