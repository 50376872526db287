// WORDS: every error Pawl throws at a caller, in one table.
//
// Expected outcomes of a call are values (outcome.ts). What is thrown is a mistake of the host program or the loss of
// something the host must provide (the store, the runtime). Each row says what happened in one sentence and what to do.

import { backgroundErrors } from './task-errors.ts'
import { fileErrors } from './file-errors.ts'
import type { ErrorRow } from './error-row.ts'
import { turnErrors } from './turn-errors.ts'
import { valueErrors } from './value-errors.ts'

export const errorTable = {
  config_invalid: {
    http: 500,
    retry: false,
    says: 'The configuration is not valid.',
    next: 'Correct the option that the message names.',
  },
  tool_invalid: {
    http: 500,
    retry: false,
    says: 'The tool definition is not valid.',
    next: 'Correct the field that the message names; nothing was registered.',
  },
  tool_duplicate: {
    http: 500,
    retry: false,
    says: 'Two tools of one layer have the same name.',
    next: 'Rename one of them.',
  },
  call_invalid: {
    http: 400,
    retry: false,
    says: 'The call itself is malformed.',
    next: 'Send { id, name, input } with a non-empty id and name; nothing was recorded.',
  },
  value_invalid: {
    http: 400,
    retry: false,
    says: 'The value has no faithful JSON form.',
    next: 'Give plain JSON, at most 512 levels deep, without what the message names (NaN, a cycle, a promise, a Map, half a character …).',
  },
  value_undecodable: {
    http: 500,
    retry: false,
    says: 'A recorded value cannot be read back.',
    next: 'The record was changed outside Pawl or written by a newer version; restore it or upgrade.',
  },
  step_id_empty: {
    http: 500,
    retry: false,
    says: 'A step needs an id that is not blank.',
    next: "Give the step a name: ctx.step('charge', …). Its function did not run.",
  },
  step_id_invalid: {
    http: 500,
    retry: false,
    says: 'A step id must be a string of at most 512 characters without NUL and lone surrogates.',
    next: 'Choose a shorter, plain id. Its function did not run.',
  },
  step_id_duplicate: {
    http: 500,
    retry: false,
    says: 'The same step id was used twice in one attempt.',
    next: 'Give each step of a body its own id, for example with the loop index in it. The second function did not run.',
  },
  step_nested: {
    http: 500,
    retry: false,
    says: 'Something recorded was used inside a step.',
    next: 'Steps are leaves: move the inner ctx call out of the step function.',
  },
  step_unknown: {
    http: 500,
    retry: false,
    says: 'A step that must not run twice had started when its worker died; whether it took effect is not known.',
    next: 'Look up what happened outside, then settle it by hand. The step was not run again.',
  },
  step_failed: {
    http: 500,
    retry: false,
    says: 'A step threw.',
    next: "Catch the error in the body, or throw fail('…') in the step to tell the model.",
  },
  step_timeout: {
    http: 500,
    retry: false,
    says: 'A step did not finish within its timeout.',
    next: 'Raise the timeout of the step, or make its function listen to ctx.signal.',
  },
  step_too_large: {
    http: 500,
    retry: false,
    says: 'The input or the value of a step is larger than the record takes.',
    next: 'Let the step return less, keep the bytes with ctx.attachments.create, or raise sizes.step. A value that was too large is lost.',
  },
  journal_full: {
    http: 500,
    retry: false,
    says: 'The body has recorded as many steps, sleeps, waits and instants as one attempt may.',
    next: 'Do more in each step, move a part into calls of its own with ctx.run, or raise sizes.journal. Nothing ran.',
  },
  attachment_too_large: {
    http: 413,
    retry: false,
    says: 'The attachment is larger than the record takes.',
    next: 'Keep it elsewhere and return a link, or raise sizes.attachment. Nothing was stored.',
  },
  batch_too_long: {
    http: 413,
    retry: false,
    says: 'The batch has more calls than one may have.',
    next: 'Send it in parts, or raise sizes.batch. Nothing was recorded.',
  },
  replay_mismatch: {
    http: 409,
    retry: false,
    says: 'A step was asked again with another input than the one on record.',
    next: 'Keep the inputs of recorded steps stable (no clock, no random), or give the changed step a new id. Nothing ran.',
  },
  wait_name_empty: {
    http: 500,
    retry: false,
    says: 'A wait needs a name that is not blank.',
    next: "Leave the name out, or give one: ctx.later({ name: 'signature' }).",
  },
  wait_name_invalid: {
    http: 500,
    retry: false,
    says: 'The name of a wait must be a string of at most 512 characters without NUL and lone surrogates.',
    next: 'Choose a shorter, plain name.',
  },
  wait_needs_rerun: {
    http: 500,
    retry: false,
    says: 'Waiting inside a body needs a tool that may run again.',
    next: "Set onCrash: 'rerun' (recorded steps are not repeated), or return the later to park the call.",
  },
  wait_failed: {
    http: 200,
    retry: false,
    says: 'The outside answered that the work failed.',
    next: 'Read the code and message that came with it.',
  },
  wait_timeout: {
    http: 200,
    retry: false,
    says: 'Nobody answered before the deadline.',
    next: 'Ask again with a longer deadline, or go on without the answer.',
  },
  wait_cancelled: {
    http: 200,
    retry: false,
    says: 'The wait was cancelled.',
    next: 'Ask again if the answer is still needed.',
  },
  answer_unchecked: {
    http: 503,
    retry: true,
    says: 'What was given must fit a schema of a tool that this runtime does not have.',
    next: 'Nothing was written and the wait is still open: send it to a runtime that has the tool, or give the tool to this one.',
  },
  quarantine_unknown: {
    http: 404,
    retry: false,
    says: 'No such tool is in quarantine.',
    next: 'Take provider and tool from runtime.quarantine.list(). Nothing was accepted.',
  },
  quarantine_changed: {
    http: 409,
    retry: false,
    says: 'The definition has changed again since it was shown.',
    next: 'Read the new difference with runtime.quarantine.list(), then decide. Nothing was accepted.',
  },
  would_deadlock: {
    http: 409,
    retry: false,
    says: 'Waiting for this key could never end: its holder waits for a key that this call holds.',
    next: 'Take keys in the same order everywhere, or do not nest calls with keys.',
  },
  attempt_over: {
    http: 409,
    retry: false,
    says: 'This attempt is over; its ctx can no longer record anything.',
    next: 'Stop the work when ctx.signal aborts. Nothing was written.',
  },
  lease_lost: {
    http: 409,
    retry: true,
    says: 'Another worker has taken this call over.',
    next: 'Nothing to do: the other worker settles it. Nothing was written by this one.',
  },
  keys_mismatch: {
    http: 500,
    retry: false,
    says: 'The key material is not the one this store was made with.',
    next: 'Start with the secret the store was made with, or give it under keys.previous; keys handed out before would not be recognised.',
  },
  sealed_payload_broken: {
    http: 500,
    retry: false,
    says: 'Something sealed on record cannot be opened.',
    next: 'The row was changed outside Pawl: restore it from a backup. Nothing was made of it, and other calls are not affected.',
  },
  store_unavailable: {
    http: 503,
    retry: true,
    says: 'The store cannot be reached or written.',
    next: 'Bring the store back and run the same batch again: what is on record is returned, the rest goes on.',
  },
  store_newer: {
    http: 500,
    retry: false,
    says: 'The store was written by a newer version of Pawl.',
    next: 'Upgrade Pawl; the store was not touched.',
  },
  store_not_pawl: {
    http: 500,
    retry: false,
    says: 'The file is not a Pawl store.',
    next: 'Name another file, or move this one away; it was not touched.',
  },
  store_damaged: {
    http: 500,
    retry: false,
    says: 'The store is damaged: what it holds cannot be read.',
    next: 'Stop all workers, keep a copy of the files, and restore a backup. Nothing was repaired or thrown away.',
  },
  output_unknown: {
    http: 404,
    retry: false,
    says: 'No result is stored under this handle in this session.',
    next: 'Use the handle that the shortened result names, in the session it belongs to.',
  },
  attachment_unknown: {
    http: 404,
    retry: false,
    says: 'There is no such attachment in this tenant.',
    next: 'Use an attachment that an outcome or ctx.attachments gave, in the tenant it belongs to.',
  },
  cursor_invalid: {
    http: 400,
    retry: false,
    says: 'The cursor is not one that this feed gave out.',
    next: 'Start from the beginning, or use a cursor from an event you received.',
  },
  cursor_expired: {
    http: 410,
    retry: false,
    says: 'Events after this cursor were erased before they were read.',
    next: 'Read from the beginning (leave `after` out), or take the state from session.calls, and go on from there.',
  },
  erase_open: {
    http: 409,
    retry: false,
    says: 'There are open calls, which are never erased.',
    next: "Cancel them first or let them end, or say { open: 'cancel' }.",
  },
  program_unavailable: {
    http: 500,
    retry: false,
    says: 'A program cannot be started.',
    next: 'Install it, or correct the name or the folder that the message names. Nothing ran.',
  },
  runtime_closed: {
    http: 503,
    retry: true,
    says: 'The runtime is closed.',
    next: 'Run the same batch on a new runtime: what is on record is returned, the rest goes on.',
  },
  ...fileErrors,
  ...backgroundErrors,
  ...turnErrors,
  ...valueErrors,
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof errorTable

/** The one error class. `code` is stable; the message adds what the table's sentence cannot know. */
export class PawlError extends Error {
  override readonly name = 'PawlError'
  readonly code: ErrorCode
  /** Facts for a program: paths, ids, differences. Never secrets. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(code: ErrorCode, detail?: string, options: { cause?: unknown; details?: Record<string, unknown> } = {}) {
    const row: ErrorRow = errorTable[code]
    super(
      `${row.says}${detail ? ` ${detail}` : ''} ${row.next}`,
      options.cause === undefined ? {} : { cause: options.cause },
    )
    this.code = code
    this.details = options.details ?? {}
  }
}

/** Whoever gets this does not know how a call went: the store did not answer, or another worker has the call. It says nothing about the call. */
export const isLoss = (error: unknown): error is PawlError =>
  error instanceof PawlError && (error.code === 'store_unavailable' || error.code === 'lease_lost')
