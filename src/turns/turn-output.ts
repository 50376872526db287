// Structured output: with turn({ output }) the last answer is JSON that matches a schema. The JSON Schema is recorded
// with the turn, so that any worker checks the answer. A Standard Schema exists only in the process that called turn():
// its handle applies it to the recorded value.

import { argumentLimits, problemLines, readArguments } from '../calls/admission/read-arguments.ts'
import { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import { noticeHeader } from '../core/runtime-notice.ts'
import { decode, type Json } from '../core/tool-value.ts'
import { type NoticeMessage, textIn } from '../models/message.ts'
import type { FinishReason } from '../models/model.ts'
import type { TurnValue } from '../models/turn-interface.ts'
import { compileJsonSchema, type CompiledJsonSchema } from '../tools/json-schema/compile.ts'
import { acceptsObjects, type AnySchema, type CompiledSchema, compileSchema, type JsonSchema } from '../tools/schema.ts'
import type { MessageRecord } from './conversation/history.ts'
import { outputInvalid } from './turn-failures.ts'

/** Compiles the schema of turn({ output }); refuses one that providers cannot use. */
export function compileOutput(schema: AnySchema): CompiledSchema {
  const label = '`output` of turn()'
  try {
    const compiled = compileSchema(schema, label)
    compiledJson(compiled.json)
    if (acceptsObjects(compiled.json)) return compiled
  } catch (error) {
    if (error instanceof PawlError && error.code === 'tool_invalid')
      throw new PawlError('turn_invalid', error.message, { cause: error })
    throw error
  }
  throw new PawlError('turn_invalid', `${label} accepts no object. Put the value into a field: { "items": […] }.`)
}

const compiledSchemas = new WeakMap<JsonSchema, CompiledJsonSchema>()

function compiledJson(schema: JsonSchema): CompiledJsonSchema {
  const compiled = compiledSchemas.get(schema) ?? compileJsonSchema(schema, '`output` of turn()')
  compiledSchemas.set(schema, compiled)
  return compiled
}

export type OutputResult = { readonly value: Json } | { readonly problem: string }

/** Reads the output from the last answer of the turn. */
export function readOutput({ message, finish }: MessageRecord, schema: JsonSchema): OutputResult {
  const text = withoutFence(message.role === 'assistant' ? textIn(message.parts) : '')
  const cut = cutOff(finish)
  if (text === '') return { problem: `- ${cut ?? 'The answer has no text'}` }
  const read = readArguments(text, argumentLimits)
  if (!read.ok) return { problem: `- ${cut ?? `The answer is not JSON. ${read.problem}`}` }
  const value = decode(read.wire)
  const checked = compiledJson(schema).check(value)
  return checked.ok ? { value } : { problem: problemLines(checked.problems) }
}

const cutOff = (finish: FinishReason | undefined): string | undefined =>
  finish === 'length' ? 'The answer was cut off at its maximum length; write less' : undefined

/** Models without a JSON mode often write the JSON as a code block of Markdown. */
function withoutFence(text: string): string {
  const trimmed = text.trim()
  return /^```(?:json)?\s*\n([^]*)\n\s*```$/i.exec(trimmed)?.[1]?.trim() ?? trimmed
}

/** Tells the model what is wrong with its answer. */
export const outputNotice = (schema: JsonSchema, problem: string): NoticeMessage => ({
  role: 'notice',
  parts: [
    {
      type: 'text',
      text:
        `${noticeHeader('The answer does not have the required form.')}\n${problem}\n` +
        `Answer again, only with JSON that matches this JSON Schema:\n${JSON.stringify(schema)}`,
    },
  ],
})

/** The outcome with `output` as the caller's schema returns it; null if there is none. */
export async function withOutput(
  outcome: Outcome<TurnValue>,
  schema: CompiledSchema | null,
): Promise<Outcome<TurnValue>> {
  if (outcome.status !== 'success') return outcome
  const { output = null } = outcome.value as { readonly output?: Json }
  if (!schema || !('output' in outcome.value)) return { ...outcome, value: { ...outcome.value, output } }
  const checked = await checkWith(schema, output)
  if (!checked.ok) return outputInvalid(problemLines(checked.problems)) as Outcome<never>
  return { ...outcome, value: { ...outcome.value, output: checked.value } }
}

async function checkWith(schema: CompiledSchema, output: Json): Promise<Awaited<ReturnType<CompiledSchema['check']>>> {
  try {
    return await schema.check(output)
  } catch {
    return { ok: false, problems: [{ path: '', message: 'the schema threw an error' }] } // a bug of the host's schema
  }
}
