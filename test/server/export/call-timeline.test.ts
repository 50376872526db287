// The time line of a call, and the scale that it is drawn on.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { callTimeline } from '../../../src/server/export/call-timeline.ts'
import type { ExportedCall, ExportedEvent } from '../../../src/server/export/export-bundle.ts'
import { timeScale } from '../../../src/server/export/time-scale.ts'

const call = (over: Partial<ExportedCall> = {}): ExportedCall =>
  ({
    uid: 'u',
    createdAt: 0,
    startedAt: null,
    sleeps: [],
    settledAt: 100,
    outcome: { status: 'success', value: 1 },
    ...over,
  }) as never
const events = (...given: [at: number, type: string, body?: object][]): ExportedEvent[] =>
  given.map(([at, type, body = {}]) => ({ at, type, body, call: 'u' })) as never
const drawn = (of: ExportedCall, ...given: [at: number, type: string, body?: object][]) => {
  const { segments, marks } = callTimeline(of, events(...given), 500)
  return {
    segments: segments.map(({ kind, from, to, attempt }) => [kind, from, to, ...(attempt ? [attempt] : [])].join(' ')),
    marks: marks.map(({ kind, at }) => `${kind} ${at}`),
  }
}

test('DOOR-4: attempts and the time between them are segments', () => {
  expect(
    drawn(
      call(),
      [0, 'call.received'],
      [10, 'call.started', { attempt: 1 }],
      [20, 'call.queued', { attempt: 1, until: 60 }],
      [60, 'call.started', { attempt: 2 }],
      [100, 'call.settled'],
    ),
  ).toEqual({ segments: ['queued 0 10', 'running 10 20 1', 'backoff 20 60', 'running 60 100 2'], marks: [] })
})

test('DOOR-4: waiting for a person and for a result are different segments', () => {
  const approval = { wait: 'w', asks: 'approval' }
  expect(
    drawn(
      call(),
      [5, 'wait.opened', approval],
      [6, 'call.parked', { wait: 'w' }],
      [40, 'decision.made', { wait: 'w' }],
      [40, 'wait.resolved', { wait: 'w' }],
      [50, 'call.started', { attempt: 1 }],
      [60, 'wait.opened', { wait: 'v', name: 'signature' }],
      [61, 'call.parked', { wait: 'v' }],
      [90, 'wait.resolved', { wait: 'v' }],
    ).segments,
  ).toEqual(['queued 0 5', 'person 5 40', 'queued 40 50', 'running 50 61 1', 'external 61 90', 'queued 90 100'])
})

test('DOOR-4: an attempt without an end is lost after its last event, and the next one is marked', () => {
  expect(
    drawn(
      call(),
      [10, 'call.started', { attempt: 1 }],
      [30, 'step.done', { step: 'step:a' }],
      // Written by a person and by another worker.
      [50, 'call.cancelling', { reason: 'r', by: null }],
      [60, 'decision.made', { wait: 'w' }],
      [80, 'call.started', { attempt: 2 }],
      [100, 'call.settled'],
    ),
  ).toEqual({
    segments: ['queued 0 10', 'running 10 30 1', 'lost 30 80 1', 'running 80 100 2'],
    marks: ['cancelling 50', 'silent 30', 'takeover 80'],
  })
})

test('DOOR-4 DUR-5: a body that sleeps is drawn apart from one that works, also across a crash', () => {
  const sleeps = [
    { from: 20, until: 40 },
    { from: 45, until: 95 },
    { from: 96, until: 900 },
  ]
  expect(
    drawn(
      call({ sleeps }),
      [10, 'call.started', { attempt: 1 }],
      [60, 'step.done'],
      [80, 'call.started', { attempt: 2 }],
    ).segments,
  ).toEqual([
    'queued 0 10',
    'running 10 20 1',
    'sleeping 20 40 1',
    'running 40 45 1',
    'sleeping 45 60 1',
    'lost 60 80 1',
    'sleeping 80 95 2',
    'running 95 96 2',
    'sleeping 96 100 2',
  ])
})

test('DOOR-4: a body whose calls wait for a person waits, and its worker lived as long as theirs', () => {
  const asks = { wait: 'w', asks: 'approval' }
  const child = callTimeline(
    call({ createdAt: 20 }),
    events(
      [22, 'wait.opened', asks],
      [60, 'wait.resolved', asks],
      [62, 'call.started', { attempt: 1 }],
      [65, 'step.done'],
      [80, 'call.started', { attempt: 2 }],
    ),
    500,
  )
  const own = events([10, 'call.started', { attempt: 1 }], [82, 'call.started', { attempt: 2 }], [100, 'call.settled'])
  const { segments } = callTimeline(call(), own, 500, [child])
  expect(segments.map(({ kind, from, to }) => `${kind} ${from} ${to}`)).toEqual([
    'queued 0 10',
    'running 10 22',
    'person 22 60',
    'running 60 65',
    'lost 65 82',
    'running 82 100',
  ])
})

test('DOOR-4: a body that waits for a person with one call and works with another one runs', () => {
  const asks = { wait: 'w', asks: 'approval' }
  const waits = callTimeline(
    call({ createdAt: 20 }),
    events([20, 'wait.opened', asks], [80, 'wait.resolved', asks]),
    500,
  )
  const works = callTimeline(call({ createdAt: 40, settledAt: 60 }), events([40, 'call.started', { attempt: 1 }]), 500)
  const { segments } = callTimeline(call(), events([10, 'call.started', { attempt: 1 }]), 500, [waits, works])
  expect(segments.map(({ kind, from, to }) => `${kind} ${from} ${to}`)).toEqual([
    'queued 0 10',
    'running 10 20',
    'person 20 40',
    'running 40 60',
    'person 60 80',
    'running 80 100',
  ])
})

test('DOOR-4: a call with an unknown outcome is lost until it was settled', () => {
  const outcome = { status: 'unknown', unknown: { message: 'm', startedAt: 10, evidence: null } } as const
  expect(drawn(call({ outcome }), [10, 'call.started', { attempt: 1 }], [100, 'call.settled'])).toEqual({
    segments: ['queued 0 10', 'running 10 10 1', 'lost 10 100 1'],
    marks: ['silent 10', 'lost 100'],
  })
})

test('DOOR-4: an open call lasts until the export, and one without events is drawn from its record', () => {
  expect(drawn(call({ settledAt: null, outcome: null }), [10, 'call.started', { attempt: 1 }]).segments).toEqual([
    'queued 0 10',
    'running 10 500 1',
  ])
  expect(drawn(call({ startedAt: 40 })).segments).toEqual(['queued 0 40', 'running 40 100'])
  expect(drawn(call()).segments).toEqual(['queued 0 100'])
})

test('DOOR-4: positions keep the order of times and stay on the page', () => {
  const span = fc.tuple(fc.nat(1e9), fc.nat(1e6)).map(([from, length]) => ({ from, to: from + length }))
  fc.assert(
    fc.property(fc.array(span, { minLength: 1, maxLength: 30 }), (active) => {
      const from = Math.min(...active.map((each) => each.from))
      const to = Math.max(...active.map((each) => each.to))
      const scale = timeScale(from, to, active)
      const times = active.flatMap((each) => [each.from, each.to]).toSorted((a, b) => a - b)
      const positions = times.map(scale.at)
      expect(positions).toEqual(positions.toSorted((a, b) => a - b))
      expect(positions.every((each) => each >= 0 && each <= 100.001)).toBe(true)
      expect(scale.ticks.length).toBeLessThan(10)
      expect(scale.ticks.every(({ position }) => position >= 0 && position <= 100)).toBe(true)
    }),
  )
})

test('DOOR-4: a long wait between two calls is shortened, and a short one is not', () => {
  const day = 86_400_000
  const calls = [
    { from: 0, to: 1_000 },
    { from: day, to: day + 1_000 },
  ]
  const long = timeScale(0, day + 1_000, calls)
  expect(long.breaks).toEqual([{ from: 1_000, to: day }])
  expect([0, 1_000, day, day + 1_000].map((at) => Math.round(long.at(at) * 10) / 10)).toEqual([0, 20, 80, 100])
  expect(timeScale(0, 2_500, [calls[0] as never, { from: 1_500, to: 2_500 }]).breaks).toEqual([])
  expect(timeScale(0, 0, []).at(0)).toBe(0)
})
