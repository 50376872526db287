// get_weather: sample weather, not real data.

import { narrate } from '../../tools/narration/narration-templates.ts'
import { tool } from '../../tools/tool.ts'
import { number, object, text, integer } from '../tool-schema-fields.ts'
import * as weather from './sample-weather.ts'

interface Input {
  readonly location: string
  readonly units?: weather.Units
}

export const getWeather = tool({
  name: 'get_weather',
  title: 'Look at the weather',
  description: 'Tell the weather at a place now. Sample data: the same place always has the same weather.',
  input: object<Input>({ location: weather.locationField, units: weather.unitsField }, ['units']),
  output: object({
    location: text('The place'),
    temperature: number('In the units'),
    units: weather.unitsField,
    conditions: weather.conditionsField,
    humidity: integer('Percent'),
    wind_speed_kmh: integer('Kilometres per hour'),
    timestamp: text('When it was asked, RFC 3339'),
  }),
  hints: { readOnly: true },
  narrate: narrate(
    {
      en: {
        started: 'Looking at the weather in {}',
        completed: 'Looked at the weather in {}',
        failed: 'Could not look at the weather in {}',
      },
      de: {
        started: 'Sieht nach dem Wetter in {}',
        completed: 'Wetter in {} nachgesehen',
        failed: 'Konnte das Wetter in {} nicht nachsehen',
      },
    },
    ({ location }: Input) => location,
  ),
  examples: [{ location: 'Lisbon' }, { location: 'Boston', units: 'fahrenheit' }],
  async execute({ location, units = 'celsius' }, ctx) {
    const place = weather.requireLocation(location)
    const seed = weather.seedOf(place)
    return {
      location: place,
      temperature: weather.inUnits(weather.celsiusOf(seed), units),
      units,
      conditions: weather.conditionsOf(seed),
      humidity: (seed % 50) + 30,
      wind_speed_kmh: (seed % 30) + 5,
      timestamp: new Date(await ctx.now()).toISOString(),
    }
  },
})
