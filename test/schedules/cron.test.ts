// checkTiming and nextAfter: which cron expressions and instants are valid, the errors for the rest, and when they are
// due.

import { describe, expect, test } from 'vitest'
import { PawlError } from '../../src/core/errors.ts'
import {
  lastSlots,
  nextAfter,
  nextTimes,
  slotsBetween,
  type Timing,
  type TimingRequest,
  checkTiming,
} from '../../src/schedules/next-cron-times.ts'

const now = Date.UTC(2026, 0, 1)
const iso = (at: number): string => new Date(at).toISOString().replace(':00.000Z', 'Z')

function refusal(request: TimingRequest, leastMs?: number): string {
  try {
    checkTiming(request, now, leastMs === undefined ? {} : { leastMs })
  } catch (error) {
    expect(error).toBeInstanceOf(PawlError)
    expect((error as PawlError).code).toBe('schedule_invalid')
    return (error as PawlError).message
  }
  throw new Error(`${JSON.stringify(request)} was taken`)
}

const every = (cron: string, timezone = 'UTC'): Timing => checkTiming({ cron, timezone }, now)
const times = (cron: string, timezone: string, after: string, count: number): string[] =>
  nextTimes(every(cron, timezone), Date.parse(after), count).map(iso)

describe('CRON-1: invalid timing is rejected with the reason', () => {
  test.each([
    [{}, 'neither cron nor at'],
    [{ cron: '* * * * *', at: '2027-01-01T00:00:00Z' }, 'both cron and at'],
    [{ cron: '' }, 'has 0 fields'],
    [{ cron: '   ' }, 'has 0 fields'],
    [{ cron: '* * * *' }, 'has 4 fields'],
    [{ cron: '0 * * * * *' }, 'has 6 fields; it needs exactly 5'],
    [{ cron: '0 0 0 1 1 * 2027' }, 'has 7 fields'],
    [{ cron: '@reboot' }, 'no alias "@reboot"'],
    [{ cron: '@daily extra' }, 'has 2 fields'],
    [{ cron: '60 * * * *' }, 'minute field of the cron expression has "60": it must be from 0 to 59'],
    [{ cron: '* 24 * * *' }, 'hour field'],
    [{ cron: '* * 0 * *' }, 'day of month field'],
    [{ cron: '* * 32 * *' }, 'day of month field'],
    [{ cron: '* * * 13 *' }, 'month field'],
    [{ cron: '* * * 0 *' }, 'month field'],
    [{ cron: '* * * * 8' }, 'day of week field'],
    [{ cron: '* * * * MONDAY' }, 'day of week field'],
    [{ cron: '* * * mon *' }, 'month field'],
    [{ cron: '5/10 * * * *' }, '*/10 or 5-59/10'],
    [{ cron: '*/0 * * * *' }, 'a step is a number from 1 to 60'],
    [{ cron: '*/90 * * * *' }, 'a step is a number from 1 to 60'],
    [{ cron: '*/5/5 * * * *' }, "more than one '/'"],
    [{ cron: '1-2-3 * * * *' }, 'a range has one'],
    [{ cron: '30-10 * * * *' }, 'ends before it begins'],
    [{ cron: '1,,2 * * * *' }, 'next to a comma'],
    [{ cron: '? * * * *' }, 'minute field'],
    [{ cron: '* * 15W * *' }, 'day of month field'],
    [{ cron: '* * 1L5 * *' }, 'day of month field'],
    [{ cron: '* * * * 1#6' }, 'day of week field'],
    [{ cron: '* * * * +1' }, 'day of week field'],
    [{ cron: '-1 * * * *' }, 'minute field'],
    [{ cron: '1e1 * * * *' }, 'minute field'],
    [{ cron: '٣ * * * *' }, 'minute field'],
    [{ cron: '0 0 30 2 *' }, 'never matches'],
    [{ cron: '0 0 31 2,4,6,9,11 *' }, 'never matches'],
    [{ cron: '0 0 * * *', timezone: 'Mars/Olympus' }, 'The timezone "Mars/Olympus" is not known'],
    [{ cron: '0 0 * * *', timezone: '+02:00' }, 'The timezone "+02:00"'],
    [{ cron: '0 0 * * *', timezone: '' }, 'The timezone ""'],
    [{ at: '2027-01-01' }, 'RFC 3339'],
    [{ at: '2027-01-01T00:00:00' }, 'RFC 3339'],
    [{ at: 'tomorrow' }, 'RFC 3339'],
    [{ at: '2027-02-30T00:00:00Z' }, 'is not in the calendar'],
    [{ at: '2027-02-29T00:00:00Z' }, 'is not in the calendar'],
    [{ at: '2027-13-01T00:00:00Z' }, 'is not in the calendar'],
    [{ at: '2027-01-01T24:00:00Z' }, 'invalid time of day'],
    [{ at: '2027-01-01T00:00:60Z' }, 'invalid time of day'],
    [{ at: '2027-01-01T00:00:00+25:00' }, 'invalid offset'],
    [{ at: '2025-12-31T23:59:59Z' }, 'not in the future'],
    [{ at: '2026-01-01T00:00:00Z' }, 'not in the future'],
    [{ at: '2026-01-01T01:00:00+02:00' }, 'not in the future'],
    [{ at: '0026-01-01T00:00:00Z' }, 'is not in the calendar'],
    [{ at: now - 1 }, 'not in the future'],
    [{ at: Number.NaN }, 'milliseconds'],
    [{ at: new Date(Number.NaN) }, 'milliseconds'],
    [{ at: 1e300 }, 'milliseconds'],
  ] satisfies [TimingRequest, string][])('%j', (request, reason) => {
    expect(refusal(request)).toContain(reason)
  })

  test('an oversized string is neither parsed nor quoted in full', () => {
    expect(refusal({ cron: `${'0,'.repeat(1_000_000)}0 * * * *` }).length).toBeLessThan(300)
    expect(refusal({ cron: `${'9'.repeat(400)} * * * *` }).length).toBeLessThan(400)
    expect(refusal({ cron: '* * * * *', timezone: 'A'.repeat(100_000) }).length).toBeLessThan(300)
    expect(refusal({ at: '2'.repeat(100_000) }).length).toBeLessThan(300)
  })

  test('a value that is not a string is rejected', () => {
    expect(refusal({ cron: 5 as unknown as string })).toContain('must be a string')
    expect(refusal({ cron: '* * * * *', timezone: {} as unknown as string })).toContain('timezone')
  })
})

test('CRON-1: checked timing is plain JSON with aliases expanded', () => {
  expect(checkTiming({ cron: ' @daily ' }, now)).toEqual({ kind: 'cron', cron: '0 0 * * *', timezone: 'UTC' })
  expect(checkTiming({ cron: '0\t9  * * MON-FRI', timezone: 'Asia/Kolkata' }, now)).toEqual({
    kind: 'cron',
    cron: '0 9 * * MON-FRI',
    timezone: 'Asia/Kolkata',
  })
  expect(checkTiming({ at: '2027-03-01T09:00:00.25+01:00' }, now)).toEqual({
    kind: 'at',
    at: Date.UTC(2027, 2, 1, 8, 0, 0, 250),
    timezone: 'UTC',
  })
  expect(checkTiming({ at: now + 1 }, now)).toEqual(checkTiming({ at: new Date(now + 1) }, now))
  expect(checkTiming({ at: '2026-12-31t23:59:59-00:30' }, now)).toMatchObject({ at: Date.UTC(2027, 0, 1, 0, 29, 59) })
})

test('CRON-1: a single instant is due once', () => {
  const timing = checkTiming({ at: now + 1000 }, now)
  expect(nextAfter(timing, now)).toBe(now + 1000)
  expect(nextAfter(timing, now + 1000)).toBeNull()
  expect(nextTimes(timing, now, 5)).toEqual([now + 1000])
  expect(lastSlots(timing, now, now + 5000, 3)).toEqual([now + 1000])
  expect(lastSlots(timing, now, now + 999, 3)).toEqual([])
})

test('CRON-1: names, ranges, steps, lists, the last day and the n-th weekday are understood', () => {
  const midnight = (cron: string, count: number): string[] =>
    times(cron, 'UTC', '2026-01-01T00:00:00Z', count).map((text) => text.slice(0, 10))
  expect(midnight('0 0 * * sat-sun', 3)).toEqual(['2026-01-03', '2026-01-04', '2026-01-10'])
  expect(midnight('0 0 * * 5-7', 4)).toEqual(['2026-01-02', '2026-01-03', '2026-01-04', '2026-01-09'])
  expect(midnight('0 0 * * 7', 1)).toEqual(['2026-01-04'])
  expect(midnight('0 0 L * *', 3)).toEqual(['2026-01-31', '2026-02-28', '2026-03-31'])
  expect(midnight('0 0 15,L feb,APR *', 4)).toEqual(['2026-02-15', '2026-02-28', '2026-04-15', '2026-04-30'])
  expect(midnight('0 0 * * MON#2', 2)).toEqual(['2026-01-12', '2026-02-09'])
  expect(midnight('0 0 * * friL', 2)).toEqual(['2026-01-30', '2026-02-27'])
  expect(midnight('0 0 29 2 *', 2)).toEqual(['2028-02-29', '2032-02-29'])
  // croner reads 30 February as 2 March and loses 1 March.
  expect(midnight('0 0 1,30 2-3 *', 3)).toEqual(['2026-02-01', '2026-03-01', '2026-03-30'])
  expect(midnight('0 0 31 2,3 *', 2)).toEqual(['2026-03-31', '2027-03-31'])
  // Day of month and day of week are combined with "or", as in every cron.
  expect(midnight('0 0 13 * 5', 4)).toEqual(['2026-01-02', '2026-01-09', '2026-01-13', '2026-01-16'])
  expect(times('10-30/10 8 * * *', 'UTC', '2026-01-01T00:00:00Z', 4)).toEqual([
    '2026-01-01T08:10Z',
    '2026-01-01T08:20Z',
    '2026-01-01T08:30Z',
    '2026-01-02T08:10Z',
  ])
})

describe('CRON-1: daylight saving', () => {
  const berlin = 'Europe/Berlin'
  // 29 March 2026: 02:00 becomes 03:00 at 01:00Z. 25 October 2026: 03:00 becomes 02:00 at 01:00Z.
  test.each([
    [
      'a fixed time that is skipped runs at the end of the gap',
      '30 2 * * *',
      '2026-03-28T12:00Z',
      ['2026-03-29T01:00Z', '2026-03-30T00:30Z'],
    ],
    [
      'several skipped fixed times run once',
      '0,30 2 * * *',
      '2026-03-28T12:00Z',
      ['2026-03-29T01:00Z', '2026-03-30T00:00Z'],
    ],
    [
      'a skipped time and one at the end of the gap run once',
      '0 2,3 * * *',
      '2026-03-28T12:00Z',
      ['2026-03-29T01:00Z', '2026-03-30T00:00Z', '2026-03-30T01:00Z'],
    ],
    [
      'a minute step within a skipped hour does not run',
      '*/30 2 * * *',
      '2026-03-28T12:00Z',
      ['2026-03-30T00:00Z', '2026-03-30T00:30Z'],
    ],
    [
      'an hourly cron stays hourly in spring',
      '30 * * * *',
      '2026-03-28T23:45Z',
      ['2026-03-29T00:30Z', '2026-03-29T01:30Z', '2026-03-29T02:30Z'],
    ],
    [
      'a repeated fixed time runs at its first occurrence',
      '30 2 * * *',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:30Z', '2026-10-26T01:30Z'],
    ],
    [
      'several repeated fixed times each run at their first occurrence',
      '0,30 2 * * *',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:00Z', '2026-10-25T00:30Z', '2026-10-26T01:00Z'],
    ],
    [
      'between the two occurrences, the next run is on the next day',
      '45 2 * * *',
      '2026-10-25T01:10Z',
      ['2026-10-26T01:45Z'],
    ],
    [
      'at the instant of the change, the next run is on the next day',
      '0 2 * * *',
      '2026-10-25T01:00Z',
      ['2026-10-26T01:00Z'],
    ],
    [
      'an hourly cron stays hourly in autumn',
      '30 * * * *',
      '2026-10-24T23:45Z',
      ['2026-10-25T00:30Z', '2026-10-25T01:30Z', '2026-10-25T02:30Z'],
    ],
    [
      'a minute step runs in both occurrences',
      '*/30 2 * * *',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:00Z', '2026-10-25T00:30Z', '2026-10-25T01:00Z', '2026-10-25T01:30Z', '2026-10-26T01:00Z'],
    ],
    [
      'the repeated hour runs although the next matching day is a year away',
      '*/30 2 25 10 *',
      '2026-10-25T00:45Z',
      ['2026-10-25T01:00Z', '2026-10-25T01:30Z', '2027-10-25T00:00Z'],
    ],
  ])('%s', (_, cron, after, due) => {
    expect(times(cron, berlin, after, due.length)).toEqual(due)
  })

  test('a day that the time zone skipped entirely is handled', () => {
    // Samoa crossed the date line: 30 December 2011 did not exist. The gap ends at 10:00Z.
    const samoa = 'Pacific/Apia'
    expect(times('0 12 * * *', samoa, '2011-12-29T00:00Z', 3)).toEqual([
      '2011-12-29T22:00Z',
      '2011-12-30T10:00Z',
      '2011-12-30T22:00Z',
    ])
    expect(times('0 * * * *', samoa, '2011-12-30T08:30Z', 3)).toEqual([
      '2011-12-30T09:00Z',
      '2011-12-30T10:00Z',
      '2011-12-30T11:00Z',
    ])
  })

  test('a clock change of half an hour is handled', () => {
    expect(times('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00Z', 2)).toEqual([
      '2026-10-03T15:30Z',
      '2026-10-04T15:15Z',
    ])
  })
})

describe('CRON-1: minimum interval', () => {
  test('every expression satisfies the default of 60 s', () => {
    expect(every('* * * * *')).toMatchObject({ cron: '* * * * *' })
  })
  test.each([
    // The first slots of the last two are far apart; only checking every pair finds the closest.
    ['*/5 * * * *', 300_001, 300],
    ['*/7 * * * *', 420_000, 240],
    ['0,59 * * * *', 300_000, 60],
    ['0,30 1,23 * * *', 3_600_000, 1_800],
    ['58 23 * * *', 86_400_001, 86_400],
    ['0 0,23 * * *', 3_600_001, 3_600],
    ['0 0 1 * *', 29 * 86_400_000, 28 * 86_400],
    ['0 0 */2 * *', 3 * 86_400_000, 86_400],
    ['0 0 1-27/2 * *', 3 * 86_400_000, 2 * 86_400],
    ['0 0 1,31 * *', 2 * 86_400_000, 86_400],
    ['0 0 29 2 *', 2_000 * 86_400_000, 1_461 * 86_400],
  ])('%s violates a minimum of %d ms: it fires every %d s', (cron, leastMs, seconds) => {
    expect(refusal({ cron }, leastMs)).toContain(`fires every ${seconds} seconds at its closest`)
    expect(checkTiming({ cron }, now, { leastMs: seconds * 1000 })).toMatchObject({ cron })
  })
  test('the night of a clock change does not count as a shorter interval', () => {
    expect(checkTiming({ cron: '0 3 * * *', timezone: 'Europe/Berlin' }, now, { leastMs: 86_400_000 })).toMatchObject({
      kind: 'cron',
    })
  })
  test('a single instant has no minimum interval', () => {
    expect(checkTiming({ at: now + 1 }, now, { leastMs: 1e12 })).toMatchObject({ kind: 'at' })
  })
})

describe('slots within a span', () => {
  test('a span excludes its start and includes its end', () => {
    const hourly = every('0 * * * *', 'Asia/Kolkata')
    const [first, second, third] = nextTimes(hourly, now, 3) as [number, number, number]
    expect(slotsBetween(hourly, first, third, 10)).toEqual([second, third])
    expect(slotsBetween(hourly, first, third, 1)).toEqual([second])
    expect(slotsBetween(hourly, first, third - 1, 10)).toEqual([second])
    expect(lastSlots(hourly, first, third, 10)).toEqual([second, third])
    expect(lastSlots(hourly, first, third, 1)).toEqual([third])
    expect(lastSlots(hourly, first, first, 1)).toEqual([])
    expect(lastSlots(hourly, third, first, 1)).toEqual([])
    expect(lastSlots(hourly, first, third, 0)).toEqual([])
  })

  test.each(['* * * * *', '*/7 3 * * *', '0,30 2 * * *', '59 23 31 12 *', '* * * 1 *', '0 0 29 2 *', '0 0 * 2 1#5'])(
    'lastSlots of %s equals the end of the full list',
    (cron) => {
      const timing = every(cron, 'America/New_York')
      const ends = nextTimes(timing, now, 60)
      for (const count of [1, 2, 7, 60])
        expect(lastSlots(timing, now, ends.at(-1) as number, count)).toEqual(ends.slice(-count))
      expect(lastSlots(timing, now, (ends.at(-1) as number) - 1, 3)).toEqual(ends.slice(-4, -1))
    },
  )

  test('over fifty years of a minute cron, only the requested slots are computed', () => {
    const asked = { next: 0 }
    const started = performance.now()
    for (const cron of ['* * * * *', '* * * 1 *', '*/59 23 29 2 *', '0 0 * 2 1#5']) {
      const timing = every(cron, 'Europe/London')
      asked.next += lastSlots(timing, 0, Date.UTC(2076, 5, 1), 100).length
      asked.next += slotsBetween(timing, now, Date.UTC(2076, 5, 1), 100).length
    }
    expect(asked.next).toBeGreaterThan(450)
    expect(performance.now() - started).toBeLessThan(2_000) // tens of milliseconds; enumerating all slots would take
    // minutes
  })
})

test('thousands of expressions and all time zones have a next time', () => {
  for (let at = 0; at < 2_000; at++)
    expect(nextAfter(every(`${at % 60} ${at % 24} ${(at % 28) + 1} * *`), now)).toBeGreaterThan(now)
  for (const zone of Intl.supportedValuesOf('timeZone'))
    expect(nextAfter(every('0 9 * * *', zone), now)).toBeGreaterThan(now)
})
