// No pattern blocks the event loop or the answer: patterns run in their own thread and are stopped at their deadline.
//
// The event loop delay depends on other load of the machine, so the best of several attempts counts: a delay caused by
// the pattern itself would occur in every attempt. The CPU time of this thread does not depend on other load.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { runSearch } from '../../../src/toolbox/files/search-in-thread.ts'
import { asking } from '../toolbox-session.ts'
import { catastrophic, heavy } from './catastrophic-patterns.ts'

const never = new AbortController().signal
const question = (pattern: string, text: string) => ({
  pattern,
  files: [{ path: '/f', text }],
  before: 0,
  after: 0,
  offset: 0,
  limit: 10,
  maxBytes: 50_000,
})

/** Runs `work` and returns the maximum event loop delay and the CPU time of this thread, in ms. */
async function watched<T>(work: () => Promise<T>): Promise<{ done: T; late: number; worked: number; ms: number }> {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  // The monitor compares consecutive ticks: it needs one tick before and one after the work.
  await until(() => delay.count > 0)
  const began = { cpu: process.threadCpuUsage(), at: performance.now() }
  const done = await work()
  const beats = delay.count
  await until(() => delay.count > beats)
  delay.disable()
  const cpu = process.threadCpuUsage(began.cpu)
  return { done, late: delay.max / 1e6, worked: (cpu.user + cpu.system) / 1000, ms: performance.now() - began.at }
}

/** The allowed delay in ms, and the number of attempts on a shared machine. */
const mostLate = 50
const mostTries = 20

const until = async (so: () => boolean): Promise<void> => {
  while (!so()) await new Promise((resolve) => setImmediate(resolve))
}

const turns = async (ms: number): Promise<void> => {
  for (const until = performance.now() + ms; performance.now() < until;)
    await new Promise((resolve) => setImmediate(resolve))
}

test(
  `BOX-3: ${catastrophic.length} catastrophic patterns are stopped at the deadline without blocking`,
  { timeout: 300_000 },
  async () => {
    expect(catastrophic.length).toBeGreaterThanOrEqual(50)
    await runSearch(question('warm', 'up'), 5_000, never)
    const deadline = 150
    for (const { pattern, line } of catastrophic) {
      let best = Infinity
      for (let tries = 0; tries < mostTries && best > mostLate; tries++) {
        const { done, late, worked, ms } = await watched(() =>
          runSearch(question(pattern, `fine\n${line}\n`), deadline, never),
        )
        expect(done, pattern).toEqual({ late: deadline })
        expect(worked, pattern).toBeLessThan(100)
        expect(ms, pattern).toBeLessThan(deadline + 5_000)
        best = Math.min(best, late)
      }
      expect(best, pattern).toBeLessThanOrEqual(mostLate)
    }
    // The next search is answered.
    expect(await runSearch(question('b', 'a\nb'), 5_000, never)).toMatchObject({ total: 1 })
  },
)

test(
  'BOX-3: grep_files fails with pattern_timeout after about a second, even concurrently',
  { timeout: 120_000 },
  async () => {
    const given = await asking()
    await given.files.write('f', `${catastrophic.map(({ line }) => line).join('\n')}\n`)
    expect(await given.value('grep_files', { pattern: 'word' })).toMatchObject({ total_matches: 1 })
    const [first, second, third] = ['(a+)+b', '^(\\w+\\s?)*$', '(.*a){25}$']
    const alone = await watched(() => given.failure('grep_files', { pattern: first }))
    expect(alone.done).toEqual({
      code: 'pattern_timeout',
      class: 'timeout',
      message:
        'The pattern was stopped after 800 ms: it takes too long on these files. Use a simpler one, without a repetition inside a repetition such as (a+)+, or a narrower path_pattern.',
    })
    expect(alone.ms).toBeLessThan(3_000)
    expect(alone.worked).toBeLessThan(300)
    const together = await Promise.all(
      [first, second, third, second, first].map((pattern) => given.failure('grep_files', { pattern })),
    )
    expect(together.map(({ code }) => code)).toEqual(Array.from({ length: 5 }, () => 'pattern_timeout'))
    expect(await given.value('grep_files', { pattern: 'word' })).toMatchObject({ total_matches: 1 })
    await given.runtime.close({ grace: 0 })
  },
)

test.for(heavy.map((pattern) => ({ pattern, name: pattern.slice(0, 30) })))(
  'BOX-3: a large pattern gets an answer: $name',
  { timeout: 30_000 },
  async ({ pattern }) => {
    const { done, worked } = await watched(() => runSearch(question(pattern, `${'a'.repeat(500)}\n`), 300, never))
    expect(Object.keys(done).some((key) => ['matches', 'invalid', 'late', 'excessive', 'broken'].includes(key))).toBe(
      true,
    )
    expect(worked).toBeLessThan(100)
    expect(await runSearch(question('b', 'a\nb'), 5_000, never)).toMatchObject({ total: 1 })
  },
)

test('BOX-3: cancelling ends a running search and one that waits for a thread', { timeout: 30_000 }, async () => {
  const stops = Array.from({ length: 4 }, () => new AbortController())
  const searches = stops.map(({ signal }) =>
    runSearch(question('(a+)+b', 'a'.repeat(60)), 20_000, signal).then(
      () => 'answered',
      () => 'left',
    ),
  )
  await turns(50)
  for (const stop of stops) stop.abort()
  expect(await Promise.all(searches)).toEqual(['left', 'left', 'left', 'left'])
  expect(await runSearch(question('b', 'b'), 5_000, never)).toMatchObject({ total: 1 })
})

test(
  'BOX-3: a call cancelled while its pattern runs ends as cancelled before the deadline',
  { timeout: 30_000 },
  async () => {
    const given = await asking()
    await given.files.write('f', 'a'.repeat(60))
    const stop = new AbortController()
    const run = given.runtime
      .session('s')
      .run([{ id: 'x', name: 'grep_files', input: { pattern: '(a+)+b' } }], { signal: stop.signal })
    await turns(100)
    stop.abort()
    expect(await run).toMatchObject([{ status: 'cancelled' }])
    await given.runtime.close({ grace: 0 })
  },
)

test('BOX-3: a program run from source exits by itself after a search', { timeout: 60_000 }, () => {
  const code = `
    import { createRuntime } from 'pawl'
    import { toolbox } from 'pawl/toolbox'
    const runtime = await createRuntime({ store: 'memory:', tools: toolbox() })
    const session = runtime.session('s')
    await session.files.write('f', 'a'.repeat(60))
    const [found, stopped] = await session.run([
      { id: '1', name: 'grep_files', input: { pattern: 'aa' } },
      { id: '2', name: 'grep_files', input: { pattern: '(a+)+b' } },
    ])
    console.log(found.status, stopped.failure.code)
    // Not closed on purpose.
  `
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ['--conditions=@pawl/source', '--input-type=module', '-e', code],
    {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      timeout: 30_000,
    },
  )
  expect({ stdout, stderr, status }).toEqual({ stdout: 'success pattern_timeout\n', stderr: '', status: 0 })
})
