// The examples of the guide that wait. guide.test.ts has the others.

import { expect, test } from 'vitest'
import { files, runsExample, timeout, waitingExamples } from './run-guide-example.ts'

test('the examples that wait are examples of the guide', () => {
  expect(waitingExamples.filter((name) => !files.includes(name))).toEqual([])
})

test.concurrent.for(waitingExamples)('examples/guide/%s runs', { timeout }, runsExample)
