// Arguments that a person wrote instead of the model (POL-3): checked by the tool's schema before they are taken, and bound to what they
// become, for the tool as it was shown: one that has changed since asks again. The call checks them again when it goes on: hooks and prepare
// have their word there too.

import type { AskItem } from '../../store/records/approval-request.ts'
import type { CallRecord } from '../../store/records/call-record.ts'
import { PawlError } from '../../core/errors.ts'
import { spawnName } from '../../core/task-state.ts'
import { decode, encode, isAttachment, type Json } from '../../core/value.ts'
import { fingerprintOf } from '../../policy/approval-fingerprint.ts'
import { redactedWord } from '../../security/secret-matcher.ts'
import { copiedHidden, hiddenWord, hides, shownArgs, untoldProblem } from '../../tools/hidden-fields.ts'
import type { Problem } from '../../tools/schema.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Toolset } from '../../tools/toolset.ts'
import { checkedFor, type Judge, toolOf } from './validate-external.ts'

export const judgeEdit =
  (judge: Judge) =>
  async (
    call: CallRecord,
    given: Json,
    { toolFingerprint, args: shown }: Pick<AskItem, 'toolFingerprint' | 'args'>,
  ): Promise<{ fingerprint: string; input: Json } | { problems: readonly string[] }> => {
    const tool = await toolOf(judge, call)
    if (!tool) throw new PawlError('answer_unchecked', `The tool is '${call.tool}'.`)
    const tools = (): Toolset => judge.toolsOf(call)
    // What they were not shown and left as it was shown is what it was; by the item, as who made it may have known other secrets. It may be there a moment
    // before the accepted arguments are.
    const was = decode(call.args ?? call.input)
    const seen = judge.redact.deep(shownArgs(tool, decode(shown), tools))
    const copies: string[] = []
    const input = same(seen, was)
      ? given
      : startsAnother(tool, given, was)
        ? asItWas(given, {}, {}, copies)
        : asItWas(given, was, seen, copies)
    const hidden = hides(tool, tools)
    const copied = hidden ? copiedHidden(tool, input, tools) : []
    if (copied.length > 0) return { problems: told(copied) }
    if (copies.length > 0)
      return {
        problems: [...new Set(copies)].map(
          (word) => `${word} stands for a value that is not shown; give the value itself.`,
        ),
      }
    const checked = await checkedFor(judge, call, tool, 'An input schema', () => tool.input.check(input))
    if (!checked) return { problems: ['The schema of the tool could not check the arguments; the call still waits.'] }
    // What came may be what they were not shown.
    if (!checked.ok)
      return { problems: told(hidden || input !== given ? checked.problems.map(untoldProblem) : checked.problems) }
    const { tenant } = call.position
    return {
      input,
      fingerprint: fingerprintOf({ tenant, call: call.uid, tool: toolFingerprint, args: encode(checked.value) }),
    }
  }

/** What is hidden for one tool may be shown by another: then it is for the person to say all of it. */
const startsAnother = ({ name }: Tool, given: Json, was: Json): boolean =>
  name === spawnName && isObject(given) && isObject(was) && given.tool !== was.tool

/** What was left as it was shown is what it was before; in a list that was changed nobody can tell which item is which. `copies`: words that are still there. */
function asItWas(given: Json, was: Json, seen: Json, copies: string[]): Json {
  if (same(given, seen)) return was
  if (!isObject(given) || !isObject(was) || !isObject(seen)) {
    // The arguments may have had the word themselves.
    const own = same(was, seen) ? wordsIn(was) : []
    copies.push(...wordsIn(given).filter((word) => !own.includes(word)))
    return given
  }
  const all = Object.entries(given).map(([key, value]): [string, Json] => {
    const [before, shown] = [was, seen].map((of) => (Object.hasOwn(of, key) ? of[key] : undefined))
    if (before !== undefined && shown !== undefined) return [key, asItWas(value, before, shown, copies)]
    copies.push(...wordsIn({ [key]: value }))
    return [key, value]
  })
  return Object.fromEntries(all)
}

/** One stands for a whole value, the other for a part of a text. */
function wordsIn(value: Json): string[] {
  const text = encode(value)
  return [
    ...(text.includes(JSON.stringify(hiddenWord)) ? [hiddenWord] : []),
    ...(text.includes(redactedWord) ? [redactedWord] : []),
  ]
}

const same = (one: Json, other: Json): boolean => encode(one) === encode(other)

const isObject = (value: Json): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isAttachment(value)

const told = (problems: readonly Problem[]): string[] =>
  problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
