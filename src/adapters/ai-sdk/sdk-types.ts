// What this adapter knows of `ai` 7: the few fields it touches, as structure. Nothing of the SDK is imported, at run time or for types;
// test/types/adapters.test-d.ts holds these shapes to the installed one.

import type { CallAsk, CallOutcome, JsonSchema, RunOptions, Session, Tool } from '../../index.ts'
import type { AttachmentReader } from '../../tools/convert.ts'

/** What the adapter uses of a session. */
export type AiSession = Pick<Session, 'id' | 'tenant'> & {
  run(calls: readonly CallAsk[], options?: RunOptions): Promise<CallOutcome[]>
  readonly tools?: readonly Tool[]
  readonly attachments?: AttachmentReader
}

export interface AiMessage {
  readonly role: string
  readonly content: unknown
}

/** What the SDK hands to `execute` beside the input. */
export interface AiExecution {
  readonly toolCallId: string
  /** What was sent to the model: one array for all calls of one answer. */
  readonly messages: readonly AiMessage[]
  readonly abortSignal?: AbortSignal
  readonly context?: unknown
}

/** A tool of the host's own ToolSet, of any kind. */
export interface AnyAiTool {
  readonly description?: unknown
  readonly title?: string
  readonly inputSchema?: unknown
  readonly execute?: unknown
  readonly needsApproval?: unknown
  readonly toModelOutput?: unknown
}

export type AiModelOutput =
  | { type: 'text'; value: string }
  | {
      type: 'content'
      value: (
        | { type: 'text'; text: string }
        | { type: 'file'; mediaType: string; filename?: string; data: { type: 'data'; data: Uint8Array } }
      )[]
    }

/** A schema as the SDK takes it: marked as its own kind, and a Standard Schema should the mark ever change. */
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

export interface AiTool {
  readonly description: string
  readonly title?: string
  readonly inputSchema: AiSchema
  readonly inputExamples?: { input: unknown }[]
  readonly execute: (input: unknown, options: AiExecution) => Promise<unknown>
  readonly toModelOutput: (result: { toolCallId: string; output: unknown }) => Promise<AiModelOutput>
}

const mark = Symbol.for('vercel.ai.schema')

/** Shows the schema and checks nothing: the arguments reach Pawl as the model wrote them, and Pawl says what is wrong with them. */
export function aiSchema(json: JsonSchema): AiSchema {
  const copy = (): Record<string, unknown> => structuredClone(json)
  const standard = {
    version: 1,
    vendor: 'pawl',
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: copy, output: copy },
  } as const
  return { [mark]: true, '~standard': standard, jsonSchema: json, validate: undefined } as AiSchema
}

/** What `jsonSchema()` of the SDK makes. */
interface MarkedSchema {
  readonly jsonSchema: unknown
  readonly validate?: (value: unknown) => Checked | PromiseLike<Checked>
}
export type Checked = { success: true; value: unknown } | { success: false; error: Error }

export const isMarked = (schema: object): schema is MarkedSchema => mark in schema
