// Return values of a body other than a plain value: result(value, { raw, control, attachments, summary, cost,
// reveals }) adds to the value. The model reads only the attachments.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import { type Control, isControl, type Outcome } from '../core/outcome.ts'
import { type Attachment, isAttachment, type Json, toRecordedForm } from '../core/tool-value.ts'

/** Options of result(). */
export interface ResultOptions {
  /** Recorded for people and programs; never shown to the model. */
  readonly raw?: unknown
  /** Ends, fails or hands over the turn. */
  readonly control?: Control
  /**
   * Files for the model, after the value: images and PDFs as native parts where the provider can, else by name. Made with
   * `ctx.attachments.create`. They are recorded in `outcome.attachments`.
   */
  readonly attachments?: readonly Attachment[]
  /** One line for display. */
  readonly summary?: string
  /** Cost of the call in the unit of the budgets; 0 or more. */
  readonly cost?: number
  /**
   * Secrets in the value are shown to the model only, for `sensitive` tools whose operator allows it. Default: they are
   * redacted.
   */
  readonly reveals?: boolean
}

declare const valueType: unique symbol

/** The return value of result(). */
export class ToolResult<T> {
  /** The value. */
  readonly value: T
  /** What goes with it. */
  readonly options: ResultOptions
  declare readonly [valueType]?: T
  constructor(value: T, options: ResultOptions) {
    this.value = value
    this.options = options
  }
}

export const resultOptions = {
  raw: option.anything,
  control: {
    expected: 'one of { finish }, { fail: { class, code, message } } and { switchFrame: { frame } }',
    valid: isControl,
  },
  attachments: option.listOf({ expected: 'an attachment from ctx.attachments.create()', valid: isAttachment }),
  summary: option.string,
  cost: option.nonNegativeNumber,
  reveals: option.boolean,
} satisfies OptionTable<ResultOptions>

/**
 * Returns a value from a body together with more: files for the model, data for programs, a cost, an instruction to the
 * turn.
 *
 * @example
 * return result({ rows: 12 }, { attachments: [ctx.attachments.create(png, { mediaType: 'image/png' })], summary: 'Chart
 * drawn' })
 */
export function result<T>(value: T, options: ResultOptions = {}): ToolResult<T> {
  checkOptions(options, resultOptions, 'result()', 'value_invalid')
  return new ToolResult(value, options)
}

/** The return value of connectionRequired(). The call waits until the provider is connected. */
export class RequiredConnection {
  /** Name of the provider. */
  readonly provider: string
  /** Shown to the person who is asked to connect. */
  readonly message: string | undefined

  constructor(provider: string, message: string | undefined) {
    this.provider = provider
    this.message = message
  }
}

export const connectionOptions = { message: option.string } satisfies OptionTable<{ message?: string }>

/**
 * Requires a connected provider: `return connectionRequired('github')`. The call waits and runs again once it is
 * connected.
 */
export function connectionRequired(provider: string, options: { readonly message?: string } = {}): RequiredConnection {
  if (typeof provider !== 'string' || provider.trim() === '')
    throw new PawlError('value_invalid', 'connectionRequired needs the name of a provider.')
  checkOptions(options, connectionOptions, 'connectionRequired()', 'value_invalid')
  return new RequiredConnection(provider, options.message)
}

/** Converts a return value to a success. Throws a returned Error: the author meant to throw it. */
export function successOf(returned: unknown): Success {
  if (!(returned instanceof ToolResult)) return { status: 'success', value: toJson(returned) }
  const { raw, control, attachments = [], summary, cost, reveals } = returned.options
  return {
    status: 'success',
    value: toJson(returned.value),
    ...(raw === undefined ? {} : { raw: raw as Json }),
    ...(control === undefined ? {} : { control }),
    ...(attachments.length === 0 ? {} : { attachments }),
    ...(summary === undefined ? {} : { summary }),
    ...(cost === undefined ? {} : { cost }),
    ...(reveals === true ? { reveals } : {}),
  }
}

type Success = Extract<Outcome, { status: 'success' }>

/** undefined, functions and symbols have no JSON form and become null. */
function toJson(resultValue: unknown): Json {
  if (typeof resultValue !== 'object' || resultValue === null) {
    return (typeof resultValue === 'function' || typeof resultValue === 'symbol' ? null : (resultValue ?? null)) as Json
  }
  if (resultValue instanceof Error) throw resultValue
  // toJSON() may return undefined.
  return typeof (resultValue as { toJSON?: unknown }).toJSON === 'function'
    ? (toRecordedForm(resultValue) as Json)
    : (resultValue as Json)
}
