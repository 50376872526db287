import { expect, test } from 'vitest'
import { nextAfter, checkTiming } from '../../src/schedules/next-cron-times.ts'

const minute = 60_000
const day = 86_400_000

// At 01:00Z the clock of Troll goes from 03:00 back to 01:00, so every wall-clock time in between occurs twice.
const timezone = 'Antarctica/Troll'
const change = Date.UTC(2026, 9, 25, 1)
const midnight = Date.UTC(2026, 9, 25)

test('CRON-1: a slot in a repeated two-hour span runs once', () => {
  for (let shown = 60; shown < 180; shown++) {
    const timing = checkTiming({ cron: `${shown % 60} ${Math.floor(shown / 60)} * * *`, timezone }, midnight)
    // The first occurrence: Troll is two hours ahead of UTC.
    const slot = midnight + (shown - 120) * minute
    const following = midnight + day + shown * minute
    expect(nextAfter(timing, slot - 1), `${shown} minutes after midnight`).toBe(slot)
    const later = [0, 30, 61, 89, 119].map((minutes) => change + minutes * minute)
    for (const asked of [slot, ...later])
      expect(nextAfter(timing, asked), `${shown} minutes after midnight, asked at ${asked - change}`).toBe(following)
  }
})

test('CRON-1: from any minute of the repeated span, the next 02:30 slot is on the next day', () => {
  const timing = checkTiming({ cron: '30 2 * * *', timezone }, midnight)
  const due = Array.from({ length: 120 }, (_, minutes) => nextAfter(timing, change + minutes * minute))
  expect(new Set(due)).toEqual(new Set([midnight + day + 150 * minute]))
})
