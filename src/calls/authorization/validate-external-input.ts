// Validates values from people and external services for a call that is not being executed, with a timeout and with
// stray errors contained. An answer is validated before it is accepted; otherwise the call could fail on it later. An
// edit is bound to the fingerprint of the validated arguments and of the tool as it was shown: if the tool has changed
// since, approval is requested again. The call runs hooks, schema and prepare on the edit when it resumes.

import type { CallRecord } from '../../store/records/call-record.ts'
import type { Foundation } from '../../engine/foundation.ts'
import type { PinnedToolsets } from '../../tools/pinned-toolsets.ts'
import type { CheckResult, Problem } from '../../tools/schema.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Toolset } from '../../tools/toolset.ts'
import { scope } from '../async-context.ts'
import type { AskItem } from '../../store/records/approval-request.ts'
import { PawlError } from '../../core/errors.ts'
import { spawnName } from '../../core/task-state.ts'
import { decode, encode, isAttachment, type Json } from '../../core/tool-value.ts'
import { approvalFingerprint } from '../../policy/approval-fingerprint.ts'
import { redactedMark } from '../../security/match-stream.ts'
import { findCopiedMarks, hiddenMark, mayHideFields, maskArgs, withoutReceived } from '../../tools/hidden-arguments.ts'

const callbackTimeoutMs = 30_000

export interface ValidationPorts extends Pick<Foundation, 'clock' | 'logger' | 'redact' | 'knownSecrets'> {
  readonly toolsets: PinnedToolsets
}

export async function recordedTool({ toolsets }: ValidationPorts, call: CallRecord): Promise<Tool | undefined> {
  const entry = toolsets.toolsetFor(call).findByKey(call.tool)
  return entry?.tool ?? (await entry?.remote?.load().catch(() => undefined))
}

/** Null if the schema itself threw or timed out; that is logged. */
export async function runSchema(
  { clock, logger }: ValidationPorts,
  call: CallRecord,
  tool: Tool,
  who: string,
  check: () => CheckResult | Promise<CheckResult>,
): Promise<CheckResult | null> {
  const about = { tool: tool.name, callId: call.position.id, call: call.uid, logger, who }
  let cancelTimer = (): void => {}
  try {
    const timeout = new Promise<never>(
      (_, reject) =>
        (cancelTimer = clock.timer(callbackTimeoutMs, () => reject(new Error(`${who} did not return in time`)))),
    )
    return await Promise.race([scope.run(about, async () => check()), timeout])
  } catch (error) {
    logger.error(`${who} failed; the value was not validated`, { tool: tool.name, call: call.uid, error })
    return null
  } finally {
    cancelTimer()
  }
}

export const createEditValidator =
  (ports: ValidationPorts) =>
  async (
    call: CallRecord,
    edited: Json,
    { toolFingerprint, args: itemArgs }: Pick<AskItem, 'toolFingerprint' | 'args'>,
  ): Promise<{ fingerprint: string; input: Json } | { problems: readonly string[] }> => {
    const tool = await recordedTool(ports, call)
    if (!tool) throw new PawlError('answer_unchecked', `This runtime does not have the tool '${call.tool}'.`)
    const tools = (): Toolset => ports.toolsets.toolsetFor(call)
    // Masked values that the person left unchanged are restored. The comparison uses the stored item, because the
    // process that wrote it may have known other secrets. The item may be stored before `call.args` is, hence the
    // fallback to the input.
    const original = decode(call.args ?? call.input)
    await ports.knownSecrets.ensure(call.position)
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

export const createAnswerValidator =
  (ports: ValidationPorts) =>
  async (call: CallRecord, value: unknown, required: boolean): Promise<readonly string[]> => {
    const tool = await recordedTool(ports, call)
    if (!tool) {
      if (required) throw new PawlError('answer_unchecked', `This runtime does not have the tool '${call.tool}'.`)
      return []
    }
    const { output } = tool
    if (!output) return []
    // Validated in its recorded form, as the call will receive it.
    const checked = await runSchema(ports, call, tool, 'An output schema', () => output.check(decode(encode(value))))
    if (!checked) return ['The output schema of the tool could not check the value; the wait is still open.']
    return checked.ok
      ? []
      : checked.problems.map(({ path, message }) => `${path === '' ? 'value' : `value.${path}`}: ${message}`)
  }
