// Process trees end as a whole, on every exit path and when the worker dies.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ProcessOptions, runProcess } from '../../../src/toolbox/processes/run-process.ts'
import { PawlError } from '../../../src/core/errors.ts'
import { type Clock, systemClock as clock } from '../../../src/core/clock.ts'
import { long } from '../../kit/long-run.ts'
import { alive, clean, running, runs, someSleep, trees, until, watcherOf } from '../../kit/processes/process-trees.ts'

let mark: string
beforeEach(() => {
  mark = `tree-${randomUUID()}`
})
afterEach(() => clean(mark))

type Some = Partial<ProcessOptions>
const run = (file: string, args: readonly string[], some: Some = {}) =>
  runProcess(file, args, { clock, ...some, env: { TEST_TREE: mark, ...some.env } })
const shell = (program: string, some: Some = {}) => run('sh', ['-c', program], some)

/** A clock that adds up the timers that a run waited for, so that delays of a busy machine do not count. */
function waits(): { clock: Clock; waited(): number } {
  let at = 0
  const timer: Clock['timer'] = (ms, fire) => {
    const due = at + ms
    return clock.timer(ms, () => {
      at = Math.max(at, due)
      fire()
    })
  }
  return { clock: { ...clock, timer }, waited: () => at }
}

describe('running a program', () => {
  test('returns output and exit code, and passes input, arguments and cwd', async () => {
    expect(await shell('echo out; echo err >&2; exit 3')).toEqual({
      code: 3,
      killedBy: null,
      stdout: 'out\n',
      stderr: 'err\n',
      cut: false,
    })
    expect(await run('cat', [], { input: 'grüße\n' })).toMatchObject({ code: 0, stdout: 'grüße\n' })
    expect(await run('cat', [])).toMatchObject({ code: 0, stdout: '' })
    expect(await run('echo', ['$HOME', '; ls', "'", '-n'])).toMatchObject({ stdout: "$HOME ; ls ' -n\n" })
    expect(await run('pwd', [], { cwd: '/usr' })).toMatchObject({ stdout: '/usr\n' })
    expect(await shell('kill -9 $$')).toMatchObject({ code: null, killedBy: 'SIGKILL' })
  })

  test('the program inherits neither our environment nor open file handles', async () => {
    process.env.PAWL_TEST_SECRET = 'hidden'
    const { stdout } = await shell('env; ls -l /proc/self/fd | grep -c socket')
    delete process.env.PAWL_TEST_SECRET
    expect(stdout).not.toContain('hidden')
    expect(stdout).toContain(`TEST_TREE=${mark}\n`)
    expect(stdout).not.toContain('HOME=')
    expect(stdout.trim().split('\n').at(-1)).toBe('1') // stderr only: stdout goes to grep, and the start pipe is closed
  })

  test('the program has no child that it did not start', async () => {
    expect(await shell('wait; cat /proc/$$/task/$$/children')).toMatchObject({
      stdout: expect.stringMatching(/^\d* ?$/),
    })
  })

  test('input that is not read is not an error', async () => {
    expect(await run('true', [], { input: 'x'.repeat(1_000_000) })).toMatchObject({ code: 0 })
  })

  test('a character split across two writes is decoded as one', async () => {
    const heard: string[] = []
    const { stdout } = await shell(
      "printf '\\303'; sleep 0.05; printf '\\274\\360\\237'; sleep 0.05; printf '\\220\\261\\303'",
      {
        onOutput: (text) => heard.push(text),
      },
    )
    expect(stdout).toBe('ü🐱\uFFFD')
    expect(heard.join('')).toBe(stdout)
  })

  test('a flood of output is cut in the middle, while the listener gets all of it', async () => {
    let heard = 0
    const end = await shell('echo begin; yes 🐱 | head -n 500000; echo end', {
      mostOutput: 1_001,
      onOutput: (text) => void (heard += text.length),
    })
    expect(end.cut).toBe(true)
    expect(end.stdout.length).toBeLessThan(1_100)
    expect(end.stdout).toMatch(/^begin\n🐱\n/)
    expect(end.stdout).toMatch(/🐱\nend\n$/)
    expect(end.stdout.isWellFormed()).toBe(true)
    expect(heard).toBe(500_000 * 3 + 10)
    const left = Number(/\[… (\d+) characters left out …\]/.exec(end.stdout)?.[1])
    expect(end.stdout.replace(/\n\[… \d+ characters left out …\]\n/, '').length + left).toBe(heard)
    expect(await shell('printf 1234567890', { mostOutput: 10 })).toMatchObject({ stdout: '1234567890', cut: false })
  })

  test.each([
    ['no-such-program', {}, 'There is no program "no-such-program" in the PATH'],
    ['', {}, 'There is no program ""'],
    ['./nowhere', {}, '"./nowhere" is not an executable file'],
    ['/etc/passwd', {}, 'is not an executable file'],
    ['/usr', {}, 'is not an executable file'],
    ['ls', { cwd: '/no/such/folder' }, 'The working directory "/no/such/folder" does not exist'],
    ['ls', { env: { PATH: '/nowhere' } }, 'in the PATH "/nowhere"'],
  ] satisfies [string, Some, string][])(
    'a program that cannot be started throws: %j %j',
    async (file, some, reason) => {
      const error = await run(file, [], some).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(PawlError)
      expect(error).toMatchObject({ code: 'program_unavailable', message: expect.stringContaining(reason) })
    },
  )

  test('arguments that the system rejects throw, and no process is left', async () => {
    await expect(run('echo', ['a\0b'])).rejects.toMatchObject({ code: 'program_unavailable' })
    await expect(run('echo', ['x'.repeat(5_000_000)])).rejects.toMatchObject({ code: 'program_unavailable' })
  })

  test('a throwing listener ends the tree, and its error is thrown', async () => {
    await expect(
      shell(trees['three levels'], {
        grace: 100,
        onOutput: () => {
          throw new Error('the listener broke')
        },
      }),
    ).rejects.toThrow('the listener broke')
    expect(alive(mark)).toEqual([])
  })
})

describe('TASK-5: no process is left behind', () => {
  /** A safety net: ending so many trees takes minutes on a busy machine. */
  const timeout = 600_000

  /** Every shape, each a few times. */
  const many = long ? 200 : 36
  test('cancelled trees end within their grace period and 250 ms, and leave no process', { timeout }, async () => {
    const shapes = Object.entries(trees)
    const ours = mark
    const grace = 100
    const one = async (at: number): Promise<void> => {
      const [shape, program] = shapes[at % shapes.length] as [string, string]
      const cancel = new AbortController()
      const { clock: counting, waited } = waits()
      let cancelled: number | undefined
      const abort = (): void => {
        cancelled ??= waited()
        cancel.abort()
      }
      // Every third tree is cancelled at a varying moment during its start, the others when they run.
      if (at % 3 === 0) clock.timer(at % 20, abort)
      const options = {
        grace,
        clock: counting,
        signal: cancel.signal,
        env: { TEST_TREE: `${ours}-${at}-` },
        onOutput: abort,
      }
      const end = await shell(program, options)
      const ms = waited() - (cancelled ?? 0)
      const left = alive(`${ours}-${at}-`)
      const isRight = end.killedBy === 'cancel' && left.length === 0 && ms <= grace + 250
      if (!isRight) wrong.push(`${at}, ${shape}: ${JSON.stringify(end)}, left ${left.join()}, waited ${ms} ms`)
    }
    let next = 0
    // Failures are collected, so that no lane continues into the next test.
    const wrong: string[] = []
    await Promise.all(
      Array.from({ length: 3 }, async () => {
        while (next < many) await one(next++)
      }),
    )
    expect(wrong).toEqual([])
    expect(alive(mark)).toEqual([])
  })

  test('a program that handles SIGTERM ends before the grace period and may still write', { timeout }, async () => {
    const cancel = new AbortController()
    const { clock: counting, waited } = waits()
    const end = await shell('trap "echo bye; exit 7" TERM; echo up; while :; do sleep 0.02; done', {
      clock: counting,
      signal: cancel.signal,
      grace: '10m',
      onOutput: () => cancel.abort(),
    })
    expect(end).toMatchObject({ code: 7, killedBy: 'cancel', stdout: 'up\nbye\n' })
    expect(waited()).toBeLessThanOrEqual(250)
  })

  test('a timeout ends the tree', async () => {
    expect(await shell(trees['background sleeps'], { timeout: 50, grace: 100 })).toMatchObject({
      code: null,
      killedBy: 'timeout',
    })
    expect(alive(mark)).toEqual([])
  })

  test('a run cancelled before its start starts nothing', async () => {
    expect(await shell('echo started', { signal: AbortSignal.abort() })).toEqual({
      code: null,
      killedBy: 'cancel',
      stdout: '',
      stderr: '',
      cut: false,
    })
  })

  test.each([
    ['that hold its output', 'sleep 999 & echo done'],
    [
      'that hold its output and ignore SIGTERM',
      'sh -c \'trap "" TERM; echo up; while :; do sleep 1; done\' & sleep 0.1; echo done',
    ],
    ['that write elsewhere', 'sleep 999 >/dev/null 2>&1 & echo done'],
    ['in a session of their own that hold its output', 'setsid sleep 999 & sleep 0.05; echo done'],
    ['in a session of their own that write elsewhere', 'setsid sleep 999 >/dev/null 2>&1 & sleep 0.05; echo done'],
  ])('processes left behind by a program %s are killed', { timeout }, async (_, program) => {
    const { clock: counting, waited } = waits()
    const end = await shell(program, { clock: counting })
    expect(end).toMatchObject({ code: 0, killedBy: null, stdout: expect.stringContaining('done\n') })
    // The output may continue for 100 ms; SIGTERM and SIGKILL take effect within 100 ms each.
    expect(waited()).toBeLessThanOrEqual(300)
    expect(alive(mark)).toEqual([])
  })

  test.each([
    ['is cancelled', 'sleep 999'],
    ['ends', 'sleep 0.05'],
  ])('a process without its environment is killed with its group when the program %s', async (_, rest) => {
    // It ignores SIGTERM and has no marker: only SIGKILL to the group reaches it.
    const cancel = new AbortController()
    let pid = 0
    try {
      await shell(
        `env -i sh -c 'trap "" TERM; echo $$ >&2; exec 2>/dev/null; while :; do sleep 1; done' >/dev/null & ${rest}`,
        {
          grace: 50,
          signal: cancel.signal,
          onOutput: (text) => {
            pid = Number(text)
            if (rest === 'sleep 999') cancel.abort()
          },
        },
      )
      expect(pid).toBeGreaterThan(1)
      await until('it is gone', () => !runs(pid), 30_000)
    } finally {
      if (pid > 1 && runs(pid)) process.kill(pid, 'SIGKILL')
    }
  })

  test('40 programs that end while they start daemons leave none behind', async () => {
    const daemons = 'setsid sleep 999 >/dev/null 2>&1 & (setsid setsid sleep 999 >/dev/null 2>&1 &)'
    for (let at = 0; at < 10; at++) await Promise.all([1, 2, 3, 4].map(() => shell(daemons)))
    expect(alive(mark)).toEqual([])
  })

  test('output of a background process that is about to end is still read', async () => {
    // Timers are slowed down, so that on a busy machine the output still arrives within the 100 ms.
    const slow: Clock = { ...clock, timer: (ms, fire) => clock.timer(300 * ms, fire) }
    expect(await shell('(sleep 0.03; echo late) & echo done', { clock: slow })).toMatchObject({
      stdout: 'done\nlate\n',
    })
  })

  test('a cancel after the end has no effect', async () => {
    const cancel = new AbortController()
    expect(await run('true', [], { signal: cancel.signal })).toMatchObject({ code: 0, killedBy: null })
    cancel.abort()
  })
})

describe('TASK-5: process trees of a worker killed with SIGKILL', () => {
  const worker = (program: string): ChildProcess =>
    spawn(
      process.execPath,
      ['--conditions=@pawl/source', join(import.meta.dirname, 'child-process-tree.ts'), program, mark],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )

  test.each(Object.entries(trees))('end with it: %s', async (_, program) => {
    const child = worker(program)
    try {
      await once(child.stdout as NodeJS.ReadableStream, 'data')
      expect(alive(mark).length).toBeGreaterThan(0)
    } finally {
      child.kill('SIGKILL')
    }
    await until('nothing is left', () => alive(mark).length === 0)
  })

  test('end with it, even after leaving the group and clearing the environment', async () => {
    const sleep = someSleep()
    const child = worker(`env -i setsid -f ${sleep} >/dev/null 2>&1; echo up; sleep 999`)
    try {
      await once(child.stdout as NodeJS.ReadableStream, 'data')
      await until('it stands', () => running(sleep).length === 1)
    } finally {
      child.kill('SIGKILL')
    }
    try {
      await until('nothing is left', () => running(sleep).length === 0)
    } finally {
      for (const pid of running(sleep)) process.kill(pid, 'SIGKILL')
    }
  })

  test('end with it if it is killed while it starts the tree', async () => {
    for (let round = 0; round < 4; round++) {
      const child = worker(trees['three levels'])
      try {
        // The first moment at which a process of the tree is visible.
        await until('something of the tree runs', () => alive(mark).length > 0)
      } finally {
        child.kill('SIGKILL')
      }
      await until('nothing is left', () => alive(mark).length === 0)
    }
  })

  test('end with it although its first watcher was killed, because another one takes over', async () => {
    const child = worker(trees['a session of its own'])
    try {
      await once(child.stdout as NodeJS.ReadableStream, 'data')
      const first = watcherOf(child.pid as number)
      expect(first).toBeGreaterThan(1)
      process.kill(first as number, 'SIGKILL')
      await until('there is another', () => ![first, undefined].includes(watcherOf(child.pid as number)))
      // The new watcher is visible before it knows the tree.
      child.kill('SIGUSR2')
      await once(child.stdout as NodeJS.ReadableStream, 'data')
    } finally {
      child.kill('SIGKILL')
    }
    await until('nothing is left', () => alive(mark).length === 0)
  })

  test('a worker that exits by itself leaves no watcher and is not kept alive', async () => {
    const child = worker('echo up')
    await once(child.stdout as NodeJS.ReadableStream, 'data')
    const watcher = watcherOf(child.pid as number)
    const [code] = (await once(child, 'exit')) as [number | null]
    expect(code).toBe(0)
    await until('it is gone', () => watcher === undefined || !runs(watcher))
  })
})
