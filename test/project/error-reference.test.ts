// The page of errors is the table of errors.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { ErrorRow } from '../../src/core/error-row.ts'
import { errorTable, PawlError } from '../../src/core/errors.ts'

const page = join(import.meta.dirname, '../../docs/reference/errors.md')

test('docs/reference/errors.md shows every error (PAWL_WRITE=1 writes it)', () => {
  const rows = Object.entries(errorTable).map(
    ([code, { http, retry, says, next }]: [string, ErrorRow]) => `| \`${code}\` | ${http} | ${retry ? 'yes' : 'no'} | ${says} | ${next} |`,
  )
  const text = [
    '# Errors',
    '',
    'What Pawl throws at the host program. Outcomes of calls are values, not errors. `code` is stable.',
    '',
    '| code | HTTP | send again | what happened | what to do |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
  if (process.env.PAWL_WRITE) writeFileSync(page, text)
  expect(readFileSync(page, 'utf8')).toBe(text)
})

test('a message says what happened and what to do next', () => {
  const error = new PawlError('step_id_duplicate', `The id is 'x'.`)
  expect(error.message).toBe(
    `The same step id was used twice in one attempt. The id is 'x'. Give each step of a body its own id, for example with the loop index in it. The second function did not run.`,
  )
})
