import { duration } from 'pawl'
import { expect, test } from 'vitest'

test('TOOL-1: duration() parses a text from a configuration file to milliseconds', () => {
  expect(['250ms', '30s', '5m', '1.5h', '3d', '2w'].map(duration)).toEqual([
    250, 30_000, 300_000, 5_400_000, 259_200_000, 1_209_600_000,
  ])
  for (const text of ['5 minutes', '', '-5s', '1e3s', '30'])
    expect(() => duration(text)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  expect(() => duration('5 minutes')).toThrow(
    `The duration is "5 minutes"; it must be a duration: milliseconds, or a string like '500ms', '30s', '5m', '2h' or '3d'.`,
  )
})
