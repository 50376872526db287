// get_current_time: the time of the runtime's clock in the requested time zone.

import { fail } from '../../core/outcome.ts'
import { narrate } from '../../tools/narration/narration-templates.ts'
import { tool } from '../../tools/tool.ts'
import { object, oneOf, text, integer } from '../tool-schema-fields.ts'

const formats = ['iso8601', 'unix', 'human'] as const

interface Input {
  readonly timezone?: string
  readonly format?: (typeof formats)[number]
}

export const getCurrentTime = tool({
  name: 'get_current_time',
  title: 'Tell the time',
  description: 'Tell the current date and time, in UTC or in a time zone.',
  input: object<Input>(
    {
      timezone: text('An IANA time zone, such as Europe/Berlin; UTC if left out', { maxLength: 100 }),
      format: oneOf(formats, 'iso8601 (the default), unix (seconds since 1970) or human (a sentence)'),
    },
    ['timezone', 'format'],
  ),
  output: object(
    {
      datetime: text('For iso8601 and human'),
      timestamp: integer('For unix: seconds since 1970'),
      format: oneOf(formats, 'As asked'),
      timezone: text('The zone that the time is told in'),
      utc_offset: text('How far the zone is from UTC at that time: +01:00'),
    },
    ['datetime', 'timestamp'],
  ),
  hints: { readOnly: true },
  narrate: narrate(
    {
      en: {
        started: 'Telling the time in {}',
        completed: 'Told the time in {}',
        failed: 'Could not tell the time in {}',
      },
      de: {
        started: 'Liest die Uhrzeit ab, Zeitzone {}',
        completed: 'Uhrzeit abgelesen, Zeitzone {}',
        failed: 'Konnte die Uhrzeit nicht ablesen, Zeitzone {}',
      },
    },
    ({ timezone = '' }: Input) => timezone.trim() || 'UTC',
  ),
  examples: [{}, { timezone: 'Europe/Berlin', format: 'human' }],
  async execute({ timezone = 'UTC', format = 'iso8601' }, ctx) {
    const clock = localClock(timezone.trim() || 'UTC')
    const now = await ctx.now()
    const { parts, zone, offset } = clock(now)
    const common = { format, timezone: zone, utc_offset: offset }
    if (format === 'unix') return { timestamp: Math.floor(now / 1000), ...common }
    const time = `${parts.hour}:${parts.minute}:${parts.second}`
    if (format === 'human')
      return { datetime: `${parts.weekday}, ${parts.name} ${parts.day}, ${parts.year} at ${time} ${zone}`, ...common }
    const millis = String(now % 1000).padStart(3, '0')
    return {
      datetime: `${parts.year}-${parts.month}-${parts.day}T${time}.${millis}${zone === 'UTC' ? 'Z' : offset}`,
      ...common,
    }
  },
})

interface LocalTime {
  readonly parts: Readonly<Record<'year' | 'month' | 'name' | 'day' | 'weekday' | 'hour' | 'minute' | 'second', string>>
  readonly zone: string
  readonly offset: string
}

/** Returns a function that converts an instant to local time in this zone. Throws for an unknown zone. */
function localClock(timezone: string): (at: number) => LocalTime {
  const baseOptions = { timeZone: timezone, calendar: 'gregory', numberingSystem: 'latn', hourCycle: 'h23' } as const
  let formatter: Intl.DateTimeFormat
  try {
    formatter = new Intl.DateTimeFormat('en-US', {
      ...baseOptions,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      weekday: 'long',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'longOffset',
    })
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause
    throw fail(`Unknown time zone '${timezone.slice(0, 100)}'. Use an IANA name such as Europe/Berlin, or UTC.`, {
      code: 'unknown_timezone',
      class: 'invalid_request',
    })
  }
  // Keep the requested name: the one that Intl prefers may be outdated (Asia/Katmandu).
  const canonicalZone = formatter.resolvedOptions().timeZone
  const zone = canonicalZone.toLowerCase() === timezone.toLowerCase() ? canonicalZone : timezone
  const monthFormatter = new Intl.DateTimeFormat('en-US', { ...baseOptions, month: 'long' })
  return (at) => {
    const fields = Object.fromEntries(formatter.formatToParts(at).map(({ type, value }) => [type, value])) as Record<
      string,
      string
    >
    const part = (name: string): string => fields[name] ?? ''
    return {
      parts: {
        year: part('year').padStart(4, '0'),
        month: part('month'),
        name: monthFormatter.format(at),
        day: part('day'),
        weekday: part('weekday'),
        hour: part('hour'),
        minute: part('minute'),
        second: part('second'),
      },
      zone,
      // Intl returns 'GMT+01:00', or 'GMT' alone for a zero offset.
      offset: part('timeZoneName').replace('GMT', '') || '+00:00',
    }
  }
}
