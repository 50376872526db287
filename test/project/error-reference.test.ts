// The error table: its documentation page, and the messages composed from it.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createRuntime, tool } from 'pawl'
import { z } from 'zod'
import type { ErrorRow } from '../../src/core/error-rows/error-row.ts'
import { errorTable, PawlError } from '../../src/core/errors.ts'

const page = join(import.meta.dirname, '../../docs/reference/errors.md')

test('docs/reference/errors.md shows every error (PAWL_WRITE=1 writes it)', () => {
  const rows = Object.entries(errorTable).map(
    ([code, { http, retry, summary, next, detailOnly }]: [string, ErrorRow]) =>
      `| \`${code}\`${detailOnly ? ' *' : ''} | ${http} | ${retry ? 'yes' : 'no'} | ${summary} | ${next} |`,
  )
  const text = [
    '# Errors',
    '',
    'Errors that Pawl throws to the host program, all of class `PawlError`. Outcomes of calls are values, not errors.',
    '`code` is stable; the message is the two texts of the table with the details between them. For codes marked with `*`',
    'the message is a sentence about the wrong value instead: "`lease` is 50; it must be a duration of at least 100 ms."',
    '',
    '| code | HTTP | retry | what happened | what to do |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
  if (process.env.PAWL_WRITE) writeFileSync(page, text)
  expect(readFileSync(page, 'utf8')).toBe(text)
})

test('a message has the summary, the detail and the next step', () => {
  const error = new PawlError('step_id_duplicate', `The id is 'x'.`)
  expect(error.message).toBe(
    `The same step id was used twice in one attempt. The id is 'x'. Give each step its own id, for example by including the loop index. The second function was not run.`,
  )
  expect(new PawlError('runtime_closed').message).toMatch(
    /^The runtime is closed\. Run the same batch on a new runtime/,
  )
})

test('the message of an invalid value is the detail alone', async () => {
  await expect(createRuntime({ store: 'memory:', lease: 50 })).rejects.toThrow(
    /^`lease` is 50; it must be a duration of at least 100 ms\.$/,
  )
  const duration = await createRuntime({ store: 'memory:', lease: 'soon' as never }).catch((error: unknown) => error)
  expect(duration).toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(
      /^`lease` is 'soon'; it must be a duration: milliseconds, or a string like [^.]+\.$/,
    ),
  })
  expect(() =>
    tool({ name: 'x', description: 'x', input: z.object({}), timeout: 'soon' as never, execute: () => null }),
  ).toThrow(/^Tool 'x': `timeout` is 'soon'; it must be a duration above zero: [^.]+\.$/)
  expect(new PawlError('config_invalid').message).toBe(
    'An option has an invalid value. Correct the option and try again.',
  )
})

test('the rows are complete sentences without references to the message itself', () => {
  for (const [code, { summary, next }] of Object.entries(errorTable) as [string, ErrorRow][]) {
    expect(`${code}: ${summary} ${next}`).not.toMatch(/(?:that|what) the message names|\.\./)
    expect(summary, code).toMatch(/^[A-Zc].*\.$/)
    expect(next, code).toMatch(/^[A-Z].*\.$/)
  }
})
