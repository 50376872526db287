import { expect, test } from 'vitest'
import { CallRun } from '../../src/calls/call-run.ts'
import type { CallHost } from '../../src/calls/ports.ts'
import type { Execution } from '../../src/engine/engine.ts'

test('CALL-1: a stage cannot read the tool or the input before the stage that sets it', () => {
  const run = new CallRun({ interrupted: null, claimed: false } as unknown as Execution, {} as CallHost)
  expect(() => run.tool).toThrow(/`tool` before the stage/)
  expect(() => run.input).toThrow(/`input` before the stage/)
  expect(() => run.attemptInput).toThrow(/`input` before the stage/)
})
