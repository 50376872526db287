// The environment that runProcess gives to a program, its arguments, output limits and output listeners.

import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runProcess } from '../../../src/toolbox/processes/run-process.ts'

const seen = async (env: Record<string, string>): Promise<Record<string, string>> => {
  const { stdout } = await runProcess(process.execPath, ['-e', 'console.log(JSON.stringify(process.env))'], { env })
  return JSON.parse(stdout) as Record<string, string>
}

// These names have a meaning for the launching shell, or are not valid variable names in a shell.
test('a variable that is special to the launcher does not prevent the program from running', async () => {
  expect(await runProcess('echo', ['hello'], { env: { OPTIND: 'abc' } })).toMatchObject({
    code: 0,
    stdout: 'hello\n',
    stderr: '',
  })
})

test.each([
  ['IFS', ','],
  ['PPID', '7'],
  ['OPTIND', '5'],
  ['PWD', '/elsewhere'],
])('the program sees %s with the given value', async (name, value) => {
  expect(await seen({ [name]: value })).toMatchObject({ [name]: value })
})

// Variables that are special to dash, bash, busybox or the loader, and names that no shell accepts.
test('the program sees every variable with its given value', async () => {
  const names =
    '_ IFS PPID OPTIND OPTARG PWD OLDPWD SHLVL LINENO PS1 PS4 MAIL MAILPATH ENV BASH_ENV BASHOPTS SHELLOPTS UID EUID RANDOM SECONDS TMOUT POSIXLY_CORRECT TERM ATTY HISTSIZE a.b -u x-y 1st BASH_FUNC_ls%% é'
  const env = Object.fromEntries(names.split(' ').map((name, at) => [name, ` odd ${at}\n"'$x\\ü`]))
  const { PAWL_RUN: _mark, ...rest } = await seen({ ...env, PATH: '/usr/bin:/bin' })
  expect(rest).toEqual({ ...env, PATH: '/usr/bin:/bin' })
  expect(await seen({ LC_ALL: 'xx_YY.UTF-8', LANG: 'nowhere' })).toMatchObject({
    LC_ALL: 'xx_YY.UTF-8',
    LANG: 'nowhere',
  })
})

test('a loader variable affects the program only, not the launcher', async () => {
  const { stderr } = await runProcess(process.execPath, ['-e', ''], { env: { LD_PRELOAD: '/nowhere/lost.so' } })
  expect(stderr.split('\n').filter((line) => line.includes('lost.so'))).toHaveLength(1)
})

test('values of variables never appear in the arguments of a process, which all users can read', async () => {
  let shown = ''
  const look = (): void => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name)))
      try {
        shown += readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      } catch {}
  }
  const looking = setInterval(look, 1)
  for (let round = 0; round < 20; round++) await runProcess('true', [], { env: { API_TOKEN: 'sk-4711-very-secret' } })
  clearInterval(looking)
  expect(shown).toContain('PWD') // the launcher was visible
  expect(shown).not.toContain('sk-4711-very-secret')
})

test.each<Record<string, string>>([{ 'a=b': 'c' }, { '': 'c' }, { a: 'b\0c' }])(
  'an invalid variable is rejected: %j',
  async (env) => {
    await expect(runProcess('true', [], { env })).rejects.toMatchObject({ code: 'config_invalid' })
  },
)

test('a program whose path looks like a variable assignment runs', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'a=b-'))
  const file = join(folder, 'x=y')
  await writeFile(file, '#!/bin/sh\necho "$1" "$A"\n', { mode: 0o755 })
  expect(await runProcess(file, ['hello'], { env: { A: '1', PATH: '/nowhere' } })).toMatchObject({
    code: 0,
    stdout: 'hello 1\n',
    stderr: '',
  })
  await rm(folder, { recursive: true })
})

test('the program sees only the given variables, a PATH and the marker', async () => {
  expect(Object.keys(await seen({ A: '1' })).toSorted()).toEqual(['A', 'PATH', 'PAWL_RUN'])
})

test.each([0, -5, Number.NaN, 'many' as unknown as number])(
  'mostOutput: %s is rejected as config_invalid',
  async (mostOutput) => {
    await expect(runProcess('echo', ['hello'], { mostOutput })).rejects.toMatchObject({ code: 'config_invalid' })
  },
)

test.each([1, 3])('mostOutput: %s limits the number of characters', async (mostOutput) => {
  const { stdout } = await runProcess('printf', ['abcdefgh'], { mostOutput })
  expect(stdout.replace(/\n\[… \d+ characters left out …\]\n/, '')).toHaveLength(mostOutput)
})

test('a slow output listener is awaited, but not beyond the timeout', async () => {
  let written = 0
  const write = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 100))
    written++
  }
  expect(await runProcess('echo', ['x'], { onOutput: write })).toMatchObject({ code: 0 })
  expect(written).toBe(1)
  const onOutput = (): Promise<void> => new Promise(() => {})
  expect(await runProcess('echo', ['x'], { onOutput, timeout: 300 })).toMatchObject({ code: 0, killedBy: null })
})

// An async listener that rejects must fail the run. Otherwise the rejection would be unhandled and end the process.
test('a rejection of an async output listener fails the run', async () => {
  const stray: unknown[] = []
  const before = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  const hear = (error: unknown): void => void stray.push(error)
  process.on('unhandledRejection', hear)
  try {
    const onOutput = async (): Promise<void> => {
      await Promise.resolve()
      throw new Error('disk full')
    }
    const end = await runProcess('sh', ['-c', 'echo x; sleep 0.2'], { onOutput }).catch((error: unknown) => error)
    await new Promise((resolve) => setImmediate(resolve))
    expect(stray).toEqual([])
    expect(end).toMatchObject({ message: 'disk full' })
  } finally {
    process.removeListener('unhandledRejection', hear)
    for (const listener of before) process.on('unhandledRejection', listener)
  }
})
