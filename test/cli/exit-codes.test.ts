// The exit codes: every outcome, answer and error code has one.

import { expect, test } from 'vitest'
import {
  CliError,
  exitCodeOfAnswer,
  exitCodeOfError,
  exitCodeOfOutcome,
  exitCodes,
  exitCodeTexts,
} from '../../src/cli/exit-codes.ts'
import { errorTable, PawlError, type ErrorCode } from '../../src/core/errors.ts'

test('DOOR-2: the exit codes and their texts', () => {
  expect(exitCodes).toEqual({
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
  })
  expect(Object.keys(exitCodeTexts).map(Number)).toEqual(Object.values(exitCodes))
})

test.for([
  ['success', undefined, 0],
  ['failure', 'execution', 1],
  ['failure', 'permission_denied', 4],
  ['failure', 'timeout', 124],
  ['failure', 'unavailable', 7],
  ['cancelled', undefined, 1],
  ['unknown', undefined, 1],
  ['waiting', undefined, 5],
  ['running', undefined, 124],
] as const)('DOOR-2: an outcome %s %s exits with %i', ([status, failed, code]) => {
  const failure = failed === undefined ? {} : { failure: { class: failed } }
  expect(exitCodeOfOutcome({ status, ...failure })).toBe(code)
})

test.for([
  [{ answer: 'accepted' }, 0],
  [{ answer: 'already_decided' }, 6],
  [{ answer: 'refused', why: 'fingerprint_mismatch' }, 6],
  [{ answer: 'refused', why: 'not_an_approver' }, 4],
  [{ answer: 'invalid' }, 2],
  [{ answer: 'unknown' }, 3],
] as const)('DOOR-2: a decision %j exits with %i', ([answer, code]) => {
  expect(exitCodeOfAnswer(answer)).toBe(code)
})

test.for([
  ['config_invalid', 2],
  ['request_invalid', 2],
  ['store_newer', 2],
  ['unauthorized', 4],
  ['forbidden', 4],
  ['not_found', 3],
  ['erase_open', 6],
  ['precondition_failed', 6],
  ['store_unavailable', 7],
  ['internal', 1],
] as const)('DOOR-2: the error %s exits with %i', ([code, expected]) => {
  expect(exitCodeOfError(new PawlError(code))).toBe(expected)
  expect(exitCodeOfError(Object.assign(new Error('x'), { code: 'x', status: errorTable[code].http }))).toBe(
    errorTable[code].http === 500 ? 1 : expected,
  )
})

test('DOOR-2: every error code has an exit code', () => {
  const known = new Set<number>(Object.values(exitCodes))
  const without = (Object.keys(errorTable) as ErrorCode[]).filter(
    (code) => !known.has(exitCodeOfError(new PawlError(code))) || exitCodeOfError(new PawlError(code)) === 0,
  )
  expect(without).toEqual([])
})

test.for([
  [Object.assign(new Error('x'), { status: 0, code: 'unavailable' }), 7],
  [Object.assign(new Error('x'), { status: 0, code: 'timeout' }), 124],
  [new TypeError('fetch failed', { cause: Object.assign(new Error('x'), { code: 'ECONNREFUSED' }) }), 7],
  [new DOMException('x', 'TimeoutError'), 124],
  [new CliError(exitCodes.conflict, 'x'), 6],
  [new Error('x'), 1],
  ['x', 1],
  [null, 1],
] as const)('DOOR-2: a thrown %s exits with %i', ([error, code]) => {
  expect(exitCodeOfError(error)).toBe(code)
})
