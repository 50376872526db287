// The commands that the console offers to copy, run by a real shell.

import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { asCommand, quoted } from '../../console/src/screens/calls/commands.ts'

const hostile = [
  "a'; rm -rf ~; '",
  "'",
  "''",
  '$(id) `id` "$HOME" \\',
  '*',
  '~',
  '',
  'a b',
  '-n',
  'two\nlines',
  '#x',
  '!!',
]

test.each(hostile)('DOOR-1: a shell reads a copied value as it is: %j', (value) => {
  expect(execFileSync('sh', ['-c', `printf '%s' ${quoted(value)}`], { encoding: 'utf8' })).toBe(value)
})

test('DOOR-1: a shell reads the arguments of a copied command as they are', () => {
  const input = { note: "a'; rm -rf ~; '" }
  const command = asCommand({ name: 'refund', session: "it's mine", input })
  const shown = execFileSync('sh', ['-c', command.replace('pawl call', `printf '%s\\n'`)], { encoding: 'utf8' })
  expect(shown.split('\n')).toEqual(['refund', JSON.stringify(input), '--session', "it's mine", ''])
})
