// TOOL: a described function a model may ask for. tool() checks the definition once, so that nothing about it can fail
// later, and carries its types.

import type { StandardSchemaV1 } from '@standard-schema/spec'
import { PawlError } from '../kernel/errors.ts'
import type { Failure } from '../kernel/outcome.ts'
import type { Json, Recorded } from '../kernel/value.ts'
import type { Later, ToolContext } from './context.ts'
import type { Hints, OnCrash } from './hints.ts'
import { type AnySchema, type CompiledSchema, compileSchema } from './schema.ts'

/** What the body receives: the schema's output in its recorded form, on the first run as on every replay. */
export type InputOf<S> = S extends StandardSchemaV1<unknown, infer Output> ? Recorded<Output> : { [key: string]: Json }

/** What a caller of the tool may pass. */
export type AskOf<S> = S extends StandardSchemaV1<infer Input, unknown> ? Input : { [key: string]: Json }

/** What the outcome's value is: what `execute` returns, unwrapped and recorded. */
export type OutputOf<R> = [R] extends [void | undefined]
  ? null
  : R extends Later<infer T>
    ? Recorded<T>
    : R extends undefined
      ? null
      : Recorded<R>

/** What `reconcile` found out about an interrupted attempt: its result, its failure, leave to run again, or nothing. */
export type Finding<R> =
  | { readonly value: R }
  | { readonly failure: Partial<Failure> & { message: string } }
  | { readonly rerun: true }
  | undefined

export interface ToolDefinition<S extends AnySchema, R> {
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly input: S
  readonly hints?: Hints
  /** After a crash in mid-body: run again, or stop. Default: rerun if readOnly or idempotent, else stop. */
  readonly onCrash?: OnCrash
  /** For `stop` tools: look up what an interrupted attempt did. Without it the outcome is `unknown`. */
  readonly reconcile?: (input: InputOf<S>, ctx: ToolContext) => Finding<NoInfer<Awaited<R>>> | Promise<Finding<NoInfer<Awaited<R>>>>
  readonly execute: (input: InputOf<S>, ctx: ToolContext) => R
}

declare const carries: unique symbol

export interface Tool<Ask = unknown, Output = unknown> {
  readonly name: string
  readonly title: string | undefined
  readonly description: string
  readonly input: CompiledSchema
  readonly hints: Hints
  readonly onCrash: OnCrash | undefined
  readonly reconcile: ((input: never, ctx: ToolContext) => unknown) | undefined
  readonly execute: (input: never, ctx: ToolContext) => unknown
  /** Types only. */
  readonly [carries]?: { ask: Ask; output: Output }
}

const nameShape = /^[A-Za-z0-9_-]{1,64}$/

export function tool<const S extends AnySchema, R>(definition: ToolDefinition<S, R>): Tool<AskOf<S>, OutputOf<Awaited<R>>> {
  const { name, description } = definition
  if (typeof name !== 'string' || !nameShape.test(name)) {
    throw new PawlError('tool_invalid', `The name ${JSON.stringify(name)} must be 1 to 64 of A-Z a-z 0-9 _ -.`)
  }
  const wrong = (why: string): never => {
    throw new PawlError('tool_invalid', `Tool '${name}': ${why}.`)
  }
  if (typeof description !== 'string' || description.trim() === '') wrong('it needs a description, which the model reads')
  if (typeof definition.execute !== 'function') wrong('execute is not a function')
  if (definition.reconcile !== undefined && typeof definition.reconcile !== 'function') wrong('reconcile is not a function')
  const { onCrash } = definition
  if (onCrash !== undefined && onCrash !== 'rerun' && onCrash !== 'stop')
    wrong(`onCrash is ${JSON.stringify(onCrash)}, not 'rerun' or 'stop'`)
  if (onCrash === 'rerun' && definition.reconcile) wrong("reconcile is for tools that stop; with onCrash: 'rerun' it would never be called")
  return Object.freeze({
    name,
    title: definition.title,
    description,
    input: compileSchema(definition.input, `Tool '${name}', input`),
    hints: Object.freeze({ ...definition.hints }),
    onCrash,
    reconcile: definition.reconcile,
    execute: definition.execute,
  })
}
