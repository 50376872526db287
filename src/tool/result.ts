// What a body may return besides a plain value: result(value, { raw, control, summary }) keeps things beside it that the model does
// not read (VAL-5, VAL-6).

import type { Control } from '../kernel/outcome.ts'
import type { Json } from '../kernel/value.ts'

export interface ResultOptions {
  /** Kept in the record for people and programs, never shown to the model. */
  readonly raw?: unknown
  /** What the turn is to do next. */
  readonly control?: Control
  /** One line for people. */
  readonly summary?: string
}

declare const carries: unique symbol

export class ToolResult<T> {
  readonly value: T
  readonly options: ResultOptions
  declare readonly [carries]?: T
  constructor(value: T, options: ResultOptions) {
    this.value = value
    this.options = options
  }
}

export const result = <T>(value: T, options: ResultOptions = {}): ToolResult<T> => new ToolResult(value, options)

/** The success a returned thing stands for. */
export function successOf(returned: unknown): { status: 'success'; value: Json; raw?: Json; control?: Control; summary?: string } {
  if (!(returned instanceof ToolResult)) return { status: 'success', value: (returned ?? null) as Json }
  const { raw, control, summary } = returned.options
  return {
    status: 'success',
    value: (returned.value ?? null) as Json,
    ...(raw === undefined ? {} : { raw: raw as Json }),
    ...(control === undefined ? {} : { control }),
    ...(summary === undefined ? {} : { summary }),
  }
}
