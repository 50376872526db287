// The attempts of a call as the console reads them from its events.

import { expect, test } from 'vitest'
import { attemptsOf } from '../../console/src/screens/calls/attempts.ts'

type Events = Parameters<typeof attemptsOf>[0]

const read = (...given: [at: number, type: string, body?: object, call?: string][]) =>
  attemptsOf(given.map(([at, type, body = {}, call = 'c']) => ({ at, type, body, call })) as Events, 'c').map(
    ({ number, from, to, end, code, ran, replayed }) =>
      `${number}: ${from}-${to ?? ''} ${end} ${code ?? ''} ran ${ran.join()} replayed ${replayed.join()}`,
  )

test('DUR-1: attempts name the steps that they recorded and those that they got from the record', () => {
  expect(
    read(
      [0, 'call.received'],
      [1, 'call.started', { attempt: 1 }],
      [2, 'step.done', { step: 'step:find' }],
      [3, 'step.done', { step: 'step:other' }, 'nested'],
      [9, 'call.started', { attempt: 2 }],
      [10, 'step.done', { step: 'step:refund' }],
      [11, 'call.queued', { attempt: 2, code: 'busy', until: 20 }],
      [20, 'call.started', { attempt: 3 }],
      [21, 'call.settled', { status: 'success', attempts: 3 }],
    ),
  ).toEqual([
    '1: 1-9 stopped  ran find replayed ',
    '2: 9-11 failed busy ran refund replayed find',
    '3: 20-21 settled  ran  replayed find,refund',
  ])
})

test('DUR-3: an attempt that waits or still runs did not stop', () => {
  const started = [1, 'call.started', { attempt: 1 }] as [number, string, object]
  expect(read(started)).toEqual(['1: 1- null  ran  replayed '])
  expect(read(started, [5, 'call.parked', { wait: 'w' }])).toEqual(['1: 1-5 waits  ran  replayed '])
  expect(read(started, [5, 'call.parked'], [9, 'call.started', { attempt: 2 }])).toEqual([
    '1: 1-5 waits  ran  replayed ',
    '2: 9- null  ran  replayed ',
  ])
})
