// Weather for the sample tools, derived from the bytes of the place name: the same place has the same weather in every
// test and demo.

import { fail } from '../../core/outcome.ts'
import { oneOf, text } from '../tool-schema-fields.ts'

export const units = ['celsius', 'fahrenheit'] as const
export type Units = (typeof units)[number]
const conditions = ['sunny', 'partly cloudy', 'cloudy', 'rainy', 'windy'] as const

export const locationField = text('A city or region', { minLength: 1, maxLength: 200 })
export const unitsField = oneOf(units, 'celsius (the default) or fahrenheit')
export const conditionsField = oneOf(conditions, 'What the sky does')

/** Trims the location and throws if it is empty. */
export function requireLocation(location: string): string {
  const place = location.trim()
  if (place === '')
    throw fail("Missing required field: 'location'", { code: 'invalid_arguments', class: 'invalid_request' })
  return place
}

export const seedOf = (place: string): number => Buffer.from(place).reduce((sum, byte) => sum + byte, 0)
export const celsiusOf = (seed: number): number => (seed % 35) + 5
export const conditionsOf = (seed: number): string => conditions[seed % conditions.length] as string
export const inUnits = (celsius: number, unit: Units): number =>
  unit === 'celsius' ? celsius : Math.round((celsius * 9) / 5 + 32)
