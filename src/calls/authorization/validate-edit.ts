// Validates arguments that a person edited, before the edit is accepted. The approval is bound to the fingerprint of
// the validated arguments and of the tool as it was shown; if the tool has changed since, approval is requested again.
// The call runs hooks, schema and prepare on the edit when it resumes.

import type { AskItem } from '../../store/records/approval-request.ts'
import type { CallRecord } from '../../store/records/call-record.ts'
import { PawlError } from '../../core/errors.ts'
import { spawnName } from '../../core/task-state.ts'
import { decode, encode, isAttachment, type Json } from '../../core/tool-value.ts'
import { approvalFingerprint } from '../../policy/approval-fingerprint.ts'
import { redactedMark } from '../../security/secret-matcher.ts'
import { findCopiedMarks, hiddenMark, mayHideFields, maskArgs, withoutReceived } from '../../tools/hidden-arguments.ts'
import type { Problem } from '../../tools/schema.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Toolset } from '../../tools/toolset.ts'
import { runSchema, type ValidationPorts, recordedTool } from './validate-external-input.ts'

export const createEditValidator =
  (ports: ValidationPorts) =>
  async (
    call: CallRecord,
    edited: Json,
    { toolFingerprint, args: itemArgs }: Pick<AskItem, 'toolFingerprint' | 'args'>,
  ): Promise<{ fingerprint: string; input: Json } | { problems: readonly string[] }> => {
    const tool = await recordedTool(ports, call)
    if (!tool) throw new PawlError('answer_unchecked', `This runtime does not have the tool '${call.tool}'.`)
    const tools = (): Toolset => ports.toolsOf(call)
    // Masked values that the person left unchanged are restored. The comparison uses the stored item, because the
    // process that wrote it may have known other secrets. The item may be stored before `call.args` is, hence the
    // fallback to the input.
    const original = decode(call.args ?? call.input)
    const masked = ports.redact.deep(maskArgs(tool, decode(itemArgs), tools))
    const copiedMarks: string[] = []
    const input = isEqual(masked, original)
      ? edited
      : changesSpawnedTool(tool, edited, original)
        ? restoreHidden(edited, {}, {}, copiedMarks)
        : restoreHidden(edited, original, masked, copiedMarks)
    const hidden = mayHideFields(tool, tools)
    const copiedFields = hidden ? findCopiedMarks(tool, input, tools) : []
    if (copiedFields.length > 0) return { problems: problemLines(copiedFields) }
    if (copiedMarks.length > 0)
      return {
        problems: [...new Set(copiedMarks)].map(
          (mark) => `${mark} stands for a value that is not shown; give the value itself.`,
        ),
      }
    const checked = await runSchema(ports, call, tool, 'An input schema', () => tool.input.check(input))
    if (!checked) return { problems: ['The schema of the tool could not check the arguments; the call still waits.'] }
    // Restored values must not appear in the problem texts.
    if (!checked.ok)
      return {
        problems: problemLines(hidden || input !== edited ? checked.problems.map(withoutReceived) : checked.problems),
      }
    const { tenant } = call.position
    return {
      input,
      fingerprint: approvalFingerprint({ tenant, call: call.uid, tool: toolFingerprint, args: encode(checked.value) }),
    }
  }

/** Another tool may show a field that this tool hides, so nothing is restored and the person must give every value. */
const changesSpawnedTool = ({ name }: Tool, edited: Json, original: Json): boolean =>
  name === spawnName && isObject(edited) && isObject(original) && edited.tool !== original.tool

/**
 * Restores masked values that are unchanged. Items of a changed list are not restored, because they cannot be matched.
 * `copiedMarks` collects masks that the person left in changed values.
 */
function restoreHidden(edited: Json, original: Json, masked: Json, copiedMarks: string[]): Json {
  if (isEqual(edited, masked)) return original
  if (!isObject(edited) || !isObject(original) || !isObject(masked)) {
    // The original arguments may contain the mark as ordinary text.
    const ownMarks = isEqual(original, masked) ? placeholdersIn(original) : []
    copiedMarks.push(...placeholdersIn(edited).filter((mark) => !ownMarks.includes(mark)))
    return edited
  }
  const all = Object.entries(edited).map(([key, value]): [string, Json] => {
    const [originalValue, maskedValue] = [original, masked].map((of) => (Object.hasOwn(of, key) ? of[key] : undefined))
    if (originalValue !== undefined && maskedValue !== undefined)
      return [key, restoreHidden(value, originalValue, maskedValue, copiedMarks)]
    copiedMarks.push(...placeholdersIn({ [key]: value }))
    return [key, value]
  })
  return Object.fromEntries(all)
}

/** The hidden mark replaces a whole value, the redacted mark a part of a text. */
function placeholdersIn(value: Json): string[] {
  const text = encode(value)
  return [
    ...(text.includes(JSON.stringify(hiddenMark)) ? [hiddenMark] : []),
    ...(text.includes(redactedMark) ? [redactedMark] : []),
  ]
}

const isEqual = (one: Json, other: Json): boolean => encode(one) === encode(other)

const isObject = (value: Json): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isAttachment(value)

const problemLines = (problems: readonly Problem[]): string[] =>
  problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
