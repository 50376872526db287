// PawlError and the table of all errors that Pawl throws.
//
// Expected outcomes of a call are values (outcome.ts). A PawlError is either a mistake of the host program or the loss
// of something the host must provide (the store, the runtime).

import { taskErrors } from './error-rows/task-errors.ts'
import { fileErrors } from './error-rows/file-errors.ts'
import type { ErrorRow } from './error-rows/error-row.ts'
import { serverErrors } from './error-rows/server-errors.ts'
import { turnErrors } from './error-rows/turn-errors.ts'
import { valueErrors } from './error-rows/session-value-errors.ts'

export const errorTable = {
  node_unsupported: {
    http: 500,
    retry: false,
    summary: 'This version of Node is not supported.',
    next: 'Use Node 22.18 or newer.',
    detailOnly: true,
  },
  config_invalid: {
    http: 500,
    retry: false,
    summary: 'An option has an invalid value.',
    next: 'Correct the option and try again.',
    detailOnly: true,
  },
  tool_invalid: {
    http: 500,
    retry: false,
    summary: 'The tool definition is invalid.',
    next: 'Correct the definition. Nothing was registered.',
    detailOnly: true,
  },
  tool_duplicate: {
    http: 500,
    retry: false,
    summary: 'Two tools in the same layer have the same name.',
    next: 'Rename one of them.',
    detailOnly: true,
  },
  call_invalid: {
    http: 400,
    retry: false,
    summary: 'The call is malformed.',
    next: 'Pass { id, name, input } with a non-empty id and name. Nothing was recorded.',
    detailOnly: true,
  },
  value_invalid: {
    http: 400,
    retry: false,
    summary: 'The value cannot be represented as JSON.',
    next: 'Pass plain JSON, at most 512 levels deep: no NaN, cycles, promises, Maps or lone surrogates.',
    detailOnly: true,
  },
  value_undecodable: {
    http: 500,
    retry: false,
    summary: 'A recorded value cannot be decoded.',
    next: 'The record was changed outside Pawl or written by a newer version. Restore it from a backup, or upgrade Pawl.',
  },
  step_id_empty: {
    http: 500,
    retry: false,
    summary: 'A step id must not be blank.',
    next: "Name the step: ctx.step('charge', …). Its function was not run.",
  },
  step_id_invalid: {
    http: 500,
    retry: false,
    summary: 'A step id must be a string of at most 512 characters without NUL or lone surrogates.',
    next: 'Choose a shorter id in plain text. The step function was not run.',
  },
  step_id_duplicate: {
    http: 500,
    retry: false,
    summary: 'The same step id was used twice in one attempt.',
    next: 'Give each step its own id, for example by including the loop index. The second function was not run.',
  },
  step_nested: {
    http: 500,
    retry: false,
    summary: 'A recorded operation was used inside a step.',
    next: 'Steps cannot be nested. Move the inner ctx call out of the step function.',
  },
  step_unknown: {
    http: 500,
    retry: false,
    summary:
      'A step that must not run twice had started when its worker died, so it is not known whether it took effect.',
    next: 'Check the external system, then settle the call by hand. The step was not run again.',
  },
  step_failed: {
    http: 500,
    retry: false,
    summary: 'A step threw an error.',
    next: "Catch the error in the body, or throw fail('…') in the step to report it to the model.",
  },
  step_timeout: {
    http: 500,
    retry: false,
    summary: 'A step did not finish within its timeout.',
    next: 'Raise the timeout of the step, or make its function listen to ctx.signal.',
  },
  step_too_large: {
    http: 500,
    retry: false,
    summary: 'The input or value of a step exceeds the size limit.',
    next: 'Return less from the step, store the bytes with ctx.attachments.create, or raise sizes.step. A value that was too large is lost.',
  },
  journal_full: {
    http: 500,
    retry: false,
    summary: 'The attempt has reached its limit of journal entries (steps, sleeps, waits and recorded times).',
    next: 'Do more work in each step, move a part into its own calls with ctx.run, or raise sizes.journal. The operation was not run.',
  },
  attachment_too_large: {
    http: 413,
    retry: false,
    summary: 'The attachment exceeds the size limit.',
    next: 'Store it elsewhere and return a link, or raise sizes.attachment. Nothing was stored.',
  },
  batch_too_long: {
    http: 413,
    retry: false,
    summary: 'The batch has too many calls.',
    next: 'Split the batch, or raise sizes.batch. Nothing was recorded.',
  },
  replay_mismatch: {
    http: 409,
    retry: false,
    summary: 'A step was repeated with an input that differs from the recorded one.',
    next: 'Keep the inputs of recorded steps deterministic (no clock, no random values), or give the changed step a new id. Nothing was run.',
  },
  wait_name_empty: {
    http: 500,
    retry: false,
    summary: 'The name of a wait must not be blank.',
    next: "Omit the name, or pass one: ctx.later({ name: 'signature' }).",
  },
  wait_name_invalid: {
    http: 500,
    retry: false,
    summary:
      "The name of a wait must be a string of at most 512 characters without NUL or lone surrogates, and must not start with 'pawl:'.",
    next: 'Choose a shorter name in plain text.',
  },
  wait_needs_rerun: {
    http: 500,
    retry: false,
    summary: 'A body can only wait if its tool may be rerun after a crash.',
    next: "Set onCrash: 'rerun' (recorded steps are not repeated), or return ctx.later(…) to park the call.",
  },
  wait_failed: {
    http: 200,
    retry: false,
    summary: 'The external work was reported as failed.',
    next: 'Read the code and the message of the answer.',
  },
  wait_timeout: {
    http: 200,
    retry: false,
    summary: 'No answer arrived before the deadline.',
    next: 'Ask again with a longer deadline, or continue without the answer.',
  },
  wait_cancelled: {
    http: 200,
    retry: false,
    summary: 'The wait was cancelled.',
    next: 'Start a new wait if the answer is still needed.',
  },
  answer_unchecked: {
    http: 503,
    retry: true,
    summary: 'The answer must be validated against the schema of a tool that this runtime does not have.',
    next: 'Send it to a runtime that has the tool, or register the tool here. Nothing was written, and the wait is still open.',
  },
  quarantine_unknown: {
    http: 404,
    retry: false,
    summary: 'No such tool is in quarantine.',
    next: 'Use a provider and tool from runtime.quarantine.list(). Nothing was accepted.',
  },
  quarantine_changed: {
    http: 409,
    retry: false,
    summary: 'The tool definition changed again after it was listed.',
    next: 'Read the new difference with runtime.quarantine.list(), then decide. Nothing was accepted.',
  },
  item_unknown: {
    http: 404,
    retry: false,
    summary: 'There is no such inbox item.',
    next: 'Use the id of an item from runtime.inbox(). Nothing was signed.',
  },
  item_decided: {
    http: 409,
    retry: false,
    summary: 'The inbox item is decided or has ended.',
    next: 'List the open items with runtime.inbox(). Nothing was signed.',
  },
  would_deadlock: {
    http: 409,
    retry: false,
    summary: 'Waiting would deadlock: the holder is itself waiting for this call.',
    next: 'Acquire keys in the same order everywhere, or avoid nested calls with keys.',
  },
  attempt_over: {
    http: 409,
    retry: false,
    summary: 'The attempt is over; its ctx can no longer record anything.',
    next: 'Stop the work when ctx.signal aborts. Nothing was written.',
  },
  lease_lost: {
    http: 409,
    retry: true,
    summary: 'Another worker has taken over this call.',
    next: 'No action is needed: the other worker settles the call. This worker wrote nothing.',
  },
  keys_mismatch: {
    http: 500,
    retry: false,
    summary: 'The configured secret is not the one this store was created with.',
    next: 'Start with the secret the store was created with, or add it to keys.previous. Otherwise keys that were handed out earlier would not be recognized.',
  },
  key_file_missing: {
    http: 500,
    retry: false,
    summary:
      'The key file of the store is missing or empty. Without it, encrypted data cannot be read and keys of waits that were handed out are not recognized.',
    next: 'Restore it from a backup. If the store was created with `keys.secret`, pass that secret. Nothing was written.',
  },
  sealed_payload_broken: {
    http: 500,
    retry: false,
    summary: 'An encrypted record cannot be decrypted.',
    next: 'The row was changed outside Pawl: restore it from a backup. Other calls are not affected.',
  },
  store_unavailable: {
    http: 503,
    retry: true,
    summary: 'The store is unavailable.',
    next: 'Make the store available and run the same batch again: recorded outcomes are returned, and the remaining calls continue.',
  },
  store_newer: {
    http: 500,
    retry: false,
    summary: 'The store was written by a newer version of Pawl.',
    next: 'Upgrade Pawl. The store was not changed.',
  },
  store_not_pawl: {
    http: 500,
    retry: false,
    summary: 'The file is not a Pawl store.',
    next: 'Choose another file, or move this one away. It was not changed.',
  },
  store_damaged: {
    http: 500,
    retry: false,
    summary: 'The store is damaged and cannot be read.',
    next: 'Stop all workers, keep a copy of the files, and restore a backup. Nothing was repaired or discarded.',
  },
  output_unknown: {
    http: 404,
    retry: false,
    summary: 'No result is stored under this handle in this session.',
    next: 'Use the handle from the shortened result, in the session it belongs to.',
  },
  attachment_unknown: {
    http: 404,
    retry: false,
    summary: 'The attachment does not exist in this tenant.',
    next: 'Use an attachment from an outcome or from ctx.attachments, in the tenant it belongs to.',
  },
  cursor_invalid: {
    http: 400,
    retry: false,
    summary: 'The cursor was not issued by this feed.',
    next: 'Start from the beginning, or use the cursor of an event that you received.',
    detailOnly: true,
  },
  cursor_expired: {
    http: 410,
    retry: false,
    summary: 'Events after this cursor were erased before they were read.',
    next: 'Read from the beginning (omit `after`), or load the state from session.calls, and continue from there.',
  },
  reader_too_slow: {
    http: 503,
    retry: true,
    summary: 'The reader of the feed was too slow: too many live events were waiting for it.',
    next: 'Read again with `after` set to the cursor; no recorded event is lost.',
  },
  stream_retracted: {
    http: 409,
    retry: true,
    summary: 'The answer was cut off and requested again, and the new answer differs from the text already delivered.',
    next: 'Show the text from the beginning: read `turn.textStream` again, or use `turn.uiMessageStream()`.',
  },
  erase_open: {
    http: 409,
    retry: false,
    summary: 'There are open calls, and open calls are never erased.',
    next: "Cancel them or let them end first, or pass { open: 'cancel' }.",
  },
  program_unavailable: {
    http: 500,
    retry: false,
    summary: 'A program cannot be started.',
    next: 'Install the program, or correct its name or its working directory. Nothing was run.',
  },
  runtime_closed: {
    http: 503,
    retry: true,
    summary: 'The runtime is closed.',
    next: 'Run the same batch on a new runtime: recorded outcomes are returned, and the remaining calls continue.',
  },
  ...fileErrors,
  ...serverErrors,
  ...taskErrors,
  ...turnErrors,
  ...valueErrors,
} as const satisfies Record<string, ErrorRow>

/** The stable code of a PawlError; docs/reference/errors.md lists them. */
export type ErrorCode = keyof typeof errorTable

/**
 * The only error class that Pawl throws. `code` is stable. The message is the row's summary, the detail of the call
 * site and the next step; for rows with `detailOnly` it is the detail alone, if there is one.
 */
export class PawlError extends Error {
  override readonly name = 'PawlError'
  /** Stable code for programs. */
  readonly code: ErrorCode
  /** Facts for programs: paths, ids, differences. Never secrets. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, detail?: string, options: { cause?: unknown; details?: Record<string, unknown> } = {}) {
    super(messageOf(errorTable[code], detail), options.cause === undefined ? {} : { cause: options.cause })
    this.code = code
    this.details = options.details ?? {}
  }
}

function messageOf({ summary, next, detailOnly }: ErrorRow, detail: string | undefined): string {
  if (!detail) return `${summary} ${next}`
  return detailOnly ? detail : `${summary} ${detail} ${next}`
}

/** Appends a full stop unless the text ends with one: messages from other libraries may or may not have one. */
export const asSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`)

/** The store did not answer, or another worker has the call. The error says nothing about how the call ended. */
export const isStoreOrLeaseLost = (error: unknown): error is PawlError =>
  error instanceof PawlError && (error.code === 'store_unavailable' || error.code === 'lease_lost')
