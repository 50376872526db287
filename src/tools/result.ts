// What a body may return besides a plain value: result(value, { raw, control, summary, cost, reveals }) keeps things beside it that the model does
// not read (VAL-5, VAL-6, POL-8).

import { PawlError } from '../core/errors.ts'
import { badCost, type Control, isControl, isCost, type Outcome } from '../core/outcome.ts'
import { type Json, recorded } from '../core/value.ts'

export interface ResultOptions {
  /** Kept in the record for people and programs, never shown to the model. */
  readonly raw?: unknown
  /** What the turn is to do next. */
  readonly control?: Control
  /** One line for people. */
  readonly summary?: string
  /** What it cost, in the unit of the budgets: a number from 0 on. */
  readonly cost?: number
  /** The model reads the secrets in it, and nobody else does: for `sensitive` tools whose operator allows that. Without it they are taken out. */
  readonly reveals?: boolean
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

/** What connectionRequired() gives: returned alone, the call waits for whoever connects the provider. */
export class RequiredConnection {
  readonly provider: string
  /** For the person who is asked. */
  readonly message: string | undefined

  constructor(provider: string, message: string | undefined) {
    this.provider = provider
    this.message = message
  }
}

/** Says that a provider must be connected first: `return connectionRequired('github')`. The call waits, and runs again once it is. */
export function connectionRequired(provider: string, options: { readonly message?: string } = {}): RequiredConnection {
  if (typeof provider !== 'string' || provider.trim() === '')
    throw new PawlError('value_invalid', 'connectionRequired needs the name of a provider.')
  return new RequiredConnection(provider, options.message)
}

/** The success a returned thing stands for. Throws what is none: an error that was returned was meant to be thrown. */
export function successOf(returned: unknown): Success {
  if (!(returned instanceof ToolResult)) return { status: 'success', value: valueOf(returned) }
  const { raw, control, summary, cost, reveals } = returned.options
  if (control !== undefined && !isControl(control)) {
    throw new PawlError(
      'value_invalid',
      'The control of a result must be one of { finish }, { fail } and { switchFrame: { frame } }.',
    )
  }
  if (summary !== undefined && typeof summary !== 'string')
    throw new PawlError('value_invalid', 'The summary of a result must be a text.')
  if (cost !== undefined && !isCost(cost)) throw new PawlError('value_invalid', `The cost of a result ${badCost}`)
  return {
    status: 'success',
    value: valueOf(returned.value),
    ...(raw === undefined ? {} : { raw: raw as Json }),
    ...(control === undefined ? {} : { control }),
    ...(summary === undefined ? {} : { summary }),
    ...(cost === undefined ? {} : { cost }),
    ...(reveals === true ? { reveals } : {}),
  }
}

type Success = Extract<Outcome, { status: 'success' }>

/** What has no JSON form at all is null, as nothing is. */
function valueOf(returned: unknown): Json {
  if (typeof returned !== 'object' || returned === null) {
    return (typeof returned === 'function' || typeof returned === 'symbol' ? null : (returned ?? null)) as Json
  }
  if (returned instanceof Error) throw returned
  // What it says it is may be nothing.
  return typeof (returned as { toJSON?: unknown }).toJSON === 'function'
    ? (recorded(returned) as Json)
    : (returned as Json)
}
