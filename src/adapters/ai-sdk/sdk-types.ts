// Structural types for the few fields of `ai` 7 that this adapter uses. Nothing of the SDK is imported, at run time or
// for types; test/types/adapters.test-d.ts checks these shapes against the installed version.

import type { JsonSchema, Session, Tool } from '../../index.ts'
import type { AttachmentReader } from '../../tools/convert-tool-formats.ts'
import type { CallRunner } from '../run-calls.ts'

/** The part of a session that the adapter uses. */
export type AiSession = Pick<Session, 'id' | 'tenant'> &
  CallRunner & {
    readonly tools?: readonly Tool[]
    readonly attachments?: AttachmentReader
  }

/** A message of the AI SDK. */
export interface AiMessage {
  readonly role: string
  readonly content: unknown
}

/** The second argument that the SDK passes to `execute`. */
export interface AiExecution {
  readonly toolCallId: string
  /** The messages sent to the model: the same array for all calls of one answer. */
  readonly messages: readonly AiMessage[]
  readonly abortSignal?: AbortSignal
  readonly context?: unknown
}

/** A tool of the application's own ToolSet, of any kind. */
export interface AnyAiTool {
  readonly description?: unknown
  readonly title?: string
  readonly inputSchema?: unknown
  readonly execute?: unknown
  readonly needsApproval?: unknown
  readonly toModelOutput?: unknown
}

/** The output of a tool for a model, as the AI SDK defines it. */
export type AiModelOutput =
  | { type: 'text'; value: string }
  | {
      type: 'content'
      value: (
        | { type: 'text'; text: string }
        | { type: 'file'; mediaType: string; filename?: string; data: { type: 'data'; data: Uint8Array } }
      )[]
    }

/** A schema for the SDK: it carries the SDK's symbol, and is a Standard Schema in case the symbol changes. */
export interface AiSchema {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => { readonly value: unknown }
    readonly jsonSchema: {
      readonly input: () => Record<string, unknown>
      readonly output: () => Record<string, unknown>
    }
  }
  readonly jsonSchema: JsonSchema
  readonly validate: undefined
}

/** A tool of the AI SDK. */
export interface AiTool {
  readonly description: string
  readonly title?: string
  readonly inputSchema: AiSchema
  readonly inputExamples?: { input: unknown }[]
  readonly execute: (input: unknown, options: AiExecution) => Promise<unknown>
  readonly toModelOutput: (result: { toolCallId: string; output: unknown }) => Promise<AiModelOutput>
}

const schemaSymbol = Symbol.for('vercel.ai.schema')

/** A schema that validates nothing: Pawl gets the arguments as the model wrote them and validates them itself. */
export function aiSchema(json: JsonSchema): AiSchema {
  const copy = (): Record<string, unknown> => structuredClone(json)
  const standard = {
    version: 1,
    vendor: 'pawl',
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: copy, output: copy },
  } as const
  return { [schemaSymbol]: true, '~standard': standard, jsonSchema: json, validate: undefined } as AiSchema
}

/** The result of the SDK's `jsonSchema()`. */
interface SdkSchema {
  readonly jsonSchema: unknown
  readonly validate?: (value: unknown) => ValidationResult | PromiseLike<ValidationResult>
}
export type ValidationResult = { success: true; value: unknown } | { success: false; error: Error }

export const isSdkSchema = (schema: object): schema is SdkSchema => schemaSymbol in schema
