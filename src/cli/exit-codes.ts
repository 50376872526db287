// The exit codes of `pawl`, in one table, and how outcomes, decisions and errors map to them.

import { errorTable, PawlError } from '../core/errors.ts'

export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  denied: 4,
  waiting: 5,
  conflict: 6,
  unavailable: 7,
  timedOut: 124,
  interrupted: 130,
  terminated: 143,
} as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** For help and docs. */
export const exitCodeTexts: Readonly<Record<ExitCode, string>> = {
  0: 'It worked.',
  1: 'It failed: the call failed, was cancelled or ended as unknown; health found something; an internal error.',
  2: 'The command line or the configuration is wrong. Nothing was done.',
  3: 'There is no such thing: tool, session, call, item, store.',
  4: 'Denied by policy or a person, or the token does not allow it.',
  5: 'It waits for a person: see `pawl inbox`.',
  6: 'Conflict: someone decided first, or what you saw has changed.',
  7: 'The server, the store or the service of a tool is unavailable. Try again.',
  124: 'It took too long. What was started goes on.',
  130: 'Interrupted with Ctrl-C.',
  143: 'Ended by SIGTERM.',
}

/** An error with a message for the person at the terminal and the exit code of the process. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: ExitCode
  constructor(exitCode: ExitCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.exitCode = exitCode
  }
}

/** Faults of the set-up that the error table lists as internal errors of a server. */
const configurationErrors: ReadonlySet<string> = new Set([
  'config_invalid',
  'keys_mismatch',
  'key_file_missing',
  'node_unsupported',
  'package_missing',
  'store_newer',
  'store_not_pawl',
  'tool_duplicate',
  'tool_invalid',
])

/** Errors of the HTTP client itself, which have no status. */
const clientErrors = {
  unavailable: exitCodes.unavailable,
  timeout: exitCodes.timedOut,
  config_invalid: exitCodes.usage,
  request_invalid: exitCodes.usage,
} as const

export function exitCodeOfStatus(status: number): ExitCode {
  switch (status) {
    case 400:
    case 413:
    case 415:
    case 422:
      return exitCodes.usage
    case 401:
    case 403:
    case 421:
      return exitCodes.denied
    case 404:
      return exitCodes.notFound
    case 408:
    case 504:
      return exitCodes.timedOut
    case 409:
    case 410:
    case 412:
      return exitCodes.conflict
    case 429:
    case 502:
    case 503:
      return exitCodes.unavailable
    default:
      return exitCodes.failed
  }
}

const connectionErrors =
  /^(?:ECONN|ENOTFOUND|EHOST|ENET|EAI_|EPIPE|ETIMEDOUT|UND_ERR|CERT_|ERR_TLS|SELF_SIGNED|UNABLE_TO)/

export function exitCodeOfError(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode
  if (error instanceof PawlError)
    return configurationErrors.has(error.code) ? exitCodes.usage : exitCodeOfStatus(errorTable[error.code].http)
  const { status, name, code, cause } = (error ?? {}) as Record<string, unknown>
  if (typeof status === 'number' && status > 0) return exitCodeOfStatus(status)
  if (typeof code === 'string' && code in clientErrors) return clientErrors[code as keyof typeof clientErrors]
  if (name === 'TimeoutError') return exitCodes.timedOut
  if (typeof code === 'string' && connectionErrors.test(code)) return exitCodes.unavailable
  return cause === undefined || cause === null ? exitCodes.failed : exitCodeOfError(cause)
}

/** An outcome of a call or a turn, or the state of one that is open. */
export interface EndOrState {
  readonly status: string
  readonly failure?: { readonly class: string } | undefined
}

export function exitCodeOfOutcome({ status, failure }: EndOrState): ExitCode {
  if (status === 'success') return exitCodes.ok
  if (status === 'waiting') return exitCodes.waiting
  if (status === 'running' || status === 'open') return exitCodes.timedOut
  if (failure?.class === 'permission_denied') return exitCodes.denied
  if (failure?.class === 'timeout') return exitCodes.timedOut
  return failure?.class === 'unavailable' ? exitCodes.unavailable : exitCodes.failed
}

/** The answer to a decision or to a result that was sent. */
export function exitCodeOfAnswer({ answer, why }: { readonly answer: string; readonly why?: string }): ExitCode {
  switch (answer) {
    case 'accepted':
      return exitCodes.ok
    case 'already_decided':
    case 'already_resolved':
    case 'already_settled':
      return exitCodes.conflict
    case 'refused':
      return why === 'fingerprint_mismatch' ? exitCodes.conflict : exitCodes.denied
    case 'invalid':
      return exitCodes.usage
    default:
      return exitCodes.notFound
  }
}
