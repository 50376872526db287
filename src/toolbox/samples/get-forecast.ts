// get_forecast: sample weather for the next days, beginning today (UTC).

import { narrate } from '../../tools/narration/narration-templates.ts'
import { tool } from '../../tools/tool.ts'
import { list, number, object, text, integer } from '../tool-schema-fields.ts'
import * as weather from './sample-weather.ts'

interface Input {
  readonly location: string
  readonly days?: number
  readonly units?: weather.Units
}

const dayMs = 86_400_000

export const getForecast = tool({
  name: 'get_forecast',
  title: 'Look at the forecast',
  description:
    'Tell the weather at a place for the next days, beginning today. Sample data: the same place always has the same weather.',
  input: object<Input>(
    {
      location: weather.locationField,
      days: integer('How many days; 3 if left out', { minimum: 1, maximum: 7 }),
      units: weather.unitsField,
    },
    ['days', 'units'],
  ),
  output: object({
    location: text('The place'),
    units: weather.unitsField,
    days: integer('How many days'),
    forecast: list(
      object({
        date: text('YYYY-MM-DD'),
        high: number('In the units'),
        low: number('In the units'),
        conditions: weather.conditionsField,
        precipitation_chance: integer('Percent'),
      }),
      'Day by day',
    ),
  }),
  hints: { readOnly: true },
  narrate: narrate(
    {
      en: {
        started: 'Looking at the forecast for {}',
        completed: 'Looked at the forecast for {}',
        failed: 'Could not look at the forecast for {}',
      },
      de: {
        started: 'Sieht nach der Vorhersage für {}',
        completed: 'Vorhersage für {} nachgesehen',
        failed: 'Konnte die Vorhersage für {} nicht nachsehen',
      },
    },
    ({ location }: Input) => location,
  ),
  examples: [{ location: 'Lisbon', days: 5 }],
  async execute({ location, days = 3, units = 'celsius' }, ctx) {
    const place = weather.requireLocation(location)
    const today = await ctx.now()
    const forecast = Array.from({ length: days }, (_, at) => {
      const seed = weather.seedOf(place) + 7 * at
      const high = weather.celsiusOf(seed)
      return {
        date: new Date(today + at * dayMs).toISOString().slice(0, 10),
        high: weather.inUnits(high, units),
        low: weather.inUnits(high - 8 - (seed % 5), units),
        conditions: weather.conditionsOf(seed),
        precipitation_chance: seed % 100,
      }
    })
    return { location: place, units, days, forecast }
  },
})
