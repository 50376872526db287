// What a model reads when something cannot be kept: a sentence it can act on, with a stable code. What is no fault of the arguments (a lost lease, a
// store that does not answer) is not told: it is the runtime's to deal with.

import { type ErrorCode, PawlError } from '../../core/errors.ts'
import { fail, type FailureClass, retry, type ToolFailure } from '../../core/outcome.ts'

type Saying = readonly [FailureClass, string?]

const sayings: { readonly [Code in ErrorCode]?: Saying } = {
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

export async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw sayingOf(error) ?? error
  }
}

function sayingOf(error: unknown): ToolFailure | undefined {
  if (!(error instanceof PawlError)) return undefined
  const { code, message } = error
  if (code === 'values_busy') return retry({ message: 'Others keep changing the values. Try again.', code, after: 100 })
  const saying = sayings[code]
  return saying && fail(saying[1] ?? message, { code, class: saying[0] })
}

/** An argument that this operation needs. */
export function needed(value: string | undefined, name: string): string {
  if (value === undefined || value.trim() === '') throw wrong(`Missing required parameter: ${name}`)
  return value
}

export const wrong = (why: string): ToolFailure => fail(why, { code: 'invalid_arguments', class: 'invalid_request' })
