// docs/reference/cli.md shows the commands as they are defined (PAWL_WRITE=1 writes it).

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cliReference } from '../kit/cli-reference.ts'

const page = join(import.meta.dirname, '../../docs/reference/cli.md')

test('DOOR-2: docs/reference/cli.md shows every command, option and exit code', () => {
  const text = cliReference()
  if (process.env.PAWL_WRITE) writeFileSync(page, text)
  expect(readFileSync(page, 'utf8')).toBe(text)
})
