// Containment of bash: no processes left behind, no access to our environment, no start outside its folder, bounded use
// of resources.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { openWorkingFolder } from '../../../src/toolbox/shell/working-folder.ts'
import { shellWorlds } from './shell-session.ts'
import { running, someSleep, trees, until, wiped } from '../../kit/processes/process-trees.ts'

const world = shellWorlds()

describe('BOX-1: processes left behind by a command', () => {
  /** Ways to outlive the shell; each prints 'up' when it runs. */
  const escapes: Record<string, string> = {
    ...trees,
    'in the background': 'sleep 999 & echo up',
    nohup: 'nohup sleep 999 >/dev/null 2>&1 & echo up',
    disown: 'sleep 999 & disown; echo up',
    'a double fork': '( ( sleep 999 & ) & ); echo up',
    'a double fork in a session of its own':
      '( setsid sh -c "( sleep 999 & ) &" </dev/null >/dev/null 2>&1 & ); echo up',
    'setsid -f': 'setsid -f sleep 999 >/dev/null 2>&1; echo up',
    'ignoring every signal': 'sh -c \'trap "" TERM INT HUP QUIT USR1; while :; do sleep 1; done\' & echo up',
    coproc: 'coproc sleep 999; echo up',
    'a job of its own group': 'set -m; sleep 999 & set +m; echo up',
    'a server on a pipe': 'mkfifo p; (while :; do cat p; done) >/dev/null 2>&1 & echo up',
  }
  /** Commands that do not return by themselves; their timeout ends them. */
  const endless = new Set(Object.keys(trees))

  test.each(Object.keys(escapes))('are killed: %s', async (name) => {
    const { run, left } = await world()
    const outcome = await run(escapes[name] as string, {
      timeout_ms: endless.has(name) ? 500 : 20_000,
      output: 'normal',
    })
    if (endless.has(name))
      expect(outcome).toMatchObject({ failure: { code: 'command_timeout', message: expect.stringContaining('up') } })
    else expect(outcome).toMatchObject({ value: { stdout: expect.stringContaining('up') } })
    expect(left()).toEqual([])
  })

  test.each(Object.keys(wiped('')))('are killed even if they wiped their environment: %s', async (name) => {
    const { value } = await world()
    const sleep = someSleep()
    try {
      expect(await value(wiped(sleep)[name] as string, { output: 'normal' })).toMatchObject({ stdout: 'up\n' })
      expect(running(sleep)).toEqual([])
      // No further process may appear that was about to start.
      await pause(100)
      expect(running(sleep)).toEqual([])
    } finally {
      for (const pid of running(sleep)) process.kill(pid, 'SIGKILL')
    }
  })

  test('are killed by a cancel at its start, in the middle and at its end', { timeout: 60_000 }, async () => {
    const { run, left } = await world()
    for (let round = 0; round < 12; round++) {
      const cancel = new AbortController()
      const running = run('sleep 999 & (setsid sleep 999 &) ; sleep 0.05', {}, { signal: cancel.signal })
      const wanted = round % 4
      if (wanted > 0) await until('it has begun', () => left().length >= wanted, 2_000).catch(() => {})
      cancel.abort()
      await running
      await until(`nothing is left of round ${round}`, () => left().length === 0)
    }
  })
})

describe('BOX-1: environment and working directory of a command', () => {
  test('the command sees neither our environment variables nor our file handles', async () => {
    process.env.PAWL_TEST_SECRET = 'hidden'
    process.env.AWS_SECRET_ACCESS_KEY = 'hidden'
    const { value } = await world({ env: { GIVEN: 'yes' } })
    const { stdout } = await value('env; ls -l /proc/self/fd; cat /proc/$$/environ | tr "\\0" "\\n"', {
      output: 'full',
    })
    delete process.env.PAWL_TEST_SECRET
    delete process.env.AWS_SECRET_ACCESS_KEY
    expect(stdout).not.toContain('hidden')
    const names = stdout.split('\n').flatMap((line) => /^([A-Za-z_]\w*)=/.exec(line)?.[1] ?? [])
    const own = ['GIVEN', 'HOME', 'LANG', 'OLDPWD', 'PATH', 'PAWL_RUN', 'PAWL_SHELL', 'PWD', 'SHLVL', 'TEST_TREE', '_']
    expect([...new Set(names)].filter((name) => !own.includes(name))).toEqual([])
    expect(names).toContain('GIVEN')
    const handles = stdout.split('\n').flatMap((line) => /(\d+) -> (.*)$/.exec(line)?.slice(1, 3).join(' ') ?? [])
    expect(handles.filter((handle) => !/^[0-2] |^\d+ \/proc\//.test(handle))).toEqual([])
  })

  test('start-up files are not read', async () => {
    const { value, folder } = await world()
    for (const name of ['.bashrc', '.profile', '.bash_profile', '.bash_login', '.bash_env'])
      writeFileSync(join(folder, name), 'echo read me\n')
    expect(await value('true')).toMatchObject({ stdout: '', stderr: '' })
  })

  test.each([
    '..',
    '../',
    '/..',
    'a/../..',
    '/workspace/..',
    '/workspace/../..',
    'out',
    'out/',
    'a/out',
    'chain',
    '/out/sub',
    'x\0y',
    'file',
    '../session',
    '/etc',
    '/proc/self/cwd',
    'proc',
    '....//',
    '~',
    '$HOME/..',
  ])('the command does not start in the directory %j', async (where) => {
    const { run, folder } = await world()
    mkdirSync(join(folder, 'a'))
    writeFileSync(join(folder, 'file'), '')
    symlinkSync('/', join(folder, 'out'))
    symlinkSync('../..', join(folder, 'a/out'))
    symlinkSync('out', join(folder, 'chain'))
    symlinkSync('/proc/self/cwd', join(folder, 'proc'))
    expect(await run('pwd; touch /tmp/pawl-never', { working_dir: where })).toMatchObject({
      status: 'failure',
      failure: { code: 'working_dir_invalid' },
    })
  })

  test('a directory replaced by a link after it was opened still refers to the directory', async () => {
    const { folder } = await world()
    mkdirSync(join(folder, 'a'))
    const { renameSync } = await import('node:fs')
    const opened = await openWorkingFolder(folder, 'a')
    renameSync(join(folder, 'a'), join(folder, 'b'))
    symlinkSync('/', join(folder, 'a'))
    const { runProcess } = await import('../../../src/toolbox/processes/run-process.ts')
    expect(await runProcess('/bin/pwd', [], { cwd: opened.path })).toMatchObject({ stdout: `${folder}/b\n` })
    await opened.close()
  })
})

describe('BOX-1: resource limits of a command', () => {
  const limited = (what: string) => ({
    failure: { code: 'command_limit', class: 'resource_limit', message: expect.stringContaining(what) },
  })

  test('endless forks are stopped', { timeout: 60_000 }, async () => {
    const { run, left } = await world({ limits: { processes: 40 } })
    expect(await run('grow() { sleep 999 & sleep 0.002; grow; }; grow')).toMatchObject(limited('40 processes'))
    expect(left()).toEqual([])
    expect(await run("env -i bash -c 'while :; do sleep 999 & sleep 0.002; done'")).toMatchObject(
      limited('40 processes'),
    )
    expect(left()).toEqual([])
    expect(await run('while :; do setsid sleep 999 & sleep 0.002; done')).toMatchObject(limited('40 processes'))
    expect(left()).toEqual([])
    const sleep = someSleep()
    try {
      const many = `for n in $(seq 200); do env -i setsid -f ${sleep} >/dev/null 2>&1; done; sleep 9`
      expect(await run(many)).toMatchObject(limited('40 processes'))
      expect(running(sleep)).toEqual([])
    } finally {
      for (const pid of running(sleep)) process.kill(pid, 'SIGKILL')
    }
  })

  test('memory is limited for a single process and for all together', { timeout: 60_000 }, async () => {
    const { value, run, left } = await world({ limits: { memory: 256 * 1024 * 1024 } })
    // `tail` buffers its input from a pipe until the end.
    const hold = (bytes: number): string => `{ head -c ${bytes} /dev/zero; sleep 999; } | tail -c ${bytes} >/dev/null`
    const alone = await value('head -c 400000000 /dev/zero | tail -c 400000000 | wc -c')
    expect(alone).toMatchObject({ stdout: '0\n', stderr: expect.stringContaining('memory') })
    expect(await run(`for n in 1 2 3; do ${hold(120_000_000)} & done; wait`)).toMatchObject(limited('bytes of memory'))
    expect(left()).toEqual([])
  })

  test('endless output is stopped, and little of it is buffered', { timeout: 60_000 }, async () => {
    const { run, left } = await world({ limits: { output: 8_000_000 } })
    const before = process.memoryUsage().rss
    expect(await run('yes the same line again and again')).toMatchObject(limited('8000000 characters'))
    expect((process.memoryUsage().rss - before) / 1_048_576).toBeLessThan(128)
    expect(await run('yes >&2')).toMatchObject(limited('8000000 characters'))
    expect(left()).toEqual([])
  })

  test('file size is limited, and core dumps are disabled', async () => {
    const { value } = await world({ limits: { fileBytes: 1_048_576 } })
    const { stdout } = await value('head -c 5000000 /dev/zero > big; stat -c %s big; ulimit -c', { output: 'normal' })
    expect(stdout).toBe('1048576\n0\n')
  })

  test('commands that the system cannot run are rejected', async () => {
    const { run } = await world()
    for (const commands of ['x'.repeat(120_001), 'ü'.repeat(61_000), 'echo a\0b'])
      expect(await run(commands)).toMatchObject({ failure: { code: 'invalid_arguments' } })
  })
})
