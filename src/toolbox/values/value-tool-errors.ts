// Error texts of kv_store, secret_store and ask_user: a sentence the model can act on, with a stable code. Errors that
// the arguments did not cause (a lost lease, an unavailable store) are rethrown for the runtime to handle.

import { type ErrorCode, PawlError } from '../../core/errors.ts'
import { fail, type FailureClass, retry, type ToolFailure } from '../../core/outcome.ts'

type ValueError = readonly [FailureClass, string?]

const valueErrors: { readonly [Code in ErrorCode]?: ValueError } = {
  value_key_invalid: [
    'invalid_request',
    'key must be a text of 1 to 255 characters that is not blank. Nothing was changed.',
  ],
  value_invalid: ['invalid_request', 'value must be plain JSON. Nothing was changed.'],
  value_changed: [
    'execution',
    'The value has changed since you read it. Get it again and make the change anew. Nothing was changed.',
  ],
  value_too_large: [
    'resource_limit',
    'The value is too large to be kept. Write it to a file, or keep less. Nothing was changed.',
  ],
  values_full: ['resource_limit', 'There is no room for more values. Delete what is not needed. Nothing was changed.'],
  secret_name_invalid: [
    'invalid_request',
    'name must be 1 to 128 letters, digits, dots, dashes and underscores, a letter or digit first. Nothing was changed.',
  ],
  secret_reserved: [
    'permission_denied',
    'Secret name is reserved for internal system use. Choose another name. Nothing was changed.',
  ],
  secret_invalid: ['invalid_request', 'value must be a text of 1 to 16,384 characters. Nothing was changed.'],
  secrets_full: [
    'resource_limit',
    'There is no room for more secrets. Delete what is not needed. Nothing was changed.',
  ],
}

export async function withValueErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toValueError(error) ?? error
  }
}

function toValueError(error: unknown): ToolFailure | undefined {
  if (!(error instanceof PawlError)) return undefined
  const { code, message } = error
  if (code === 'values_busy') return retry({ message: 'Others keep changing the values. Try again.', code, after: 100 })
  const saying = valueErrors[code]
  return saying && fail(saying[1] ?? message, { code, class: saying[0] })
}

/** Returns an argument that the operation requires, or throws. */
export function requireArgument(value: string | undefined, name: string): string {
  if (value === undefined || value.trim() === '') throw invalidArguments(`Missing required parameter: ${name}`)
  return value
}

export const invalidArguments = (why: string): ToolFailure =>
  fail(why, { code: 'invalid_arguments', class: 'invalid_request' })
