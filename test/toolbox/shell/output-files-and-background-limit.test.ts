import { afterEach, describe, expect, test } from 'vitest'
import type { Json } from '../../../src/core/value.ts'
import { type ShellWorld, shellWorld } from './shell-session.ts'

const worlds: ShellWorld[] = []
afterEach(async () => {
  for (const each of worlds.splice(0)) await each.close()
})
const world = async (...given: Parameters<typeof shellWorld>): Promise<ShellWorld> => {
  const made = await shellWorld(...given)
  worlds.push(made)
  return made
}

test.for(['/bin/bash', '/bin/sh'])('BOX-1: commands that begin with a dash are commands, not options of %s', async (shell) => {
  const { value } = await world({ shell })
  for (const commands of ['-x', '--version', '-c "echo no"']) expect(await value(commands)).toMatchObject({ stdout: '', exit_code: 127 })
  expect(await value('echo yes')).toMatchObject({ stdout: 'yes\n', exit_code: 0 })
})

test('CALL-6: calls of the same id in other messages keep the whole output of each', async () => {
  const { runtime } = await world()
  const session = runtime.session('shell')
  const run = async (batch: string, id: string, word: string): Promise<string> => {
    const input = { commands: `for i in $(seq 100); do echo ${word}; done`, output: 'silent' }
    const [outcome] = await session.run([{ id, name: 'bash', input }], { batch })
    return ((outcome as unknown as { value: { [name: string]: Json } }).value.output_files as string[])[0] as string
  }
  const paths = [await run('m1', 'call_1', 'first'), await run('m2', 'call_1', 'second'), await run('m3', 'call/1', 'third')]
  const texts = await Promise.all(paths.map(async (path) => (await session.files.read(path)).text))
  expect(texts).toEqual(['first\n', 'second\n', 'third\n'].map((line) => line.repeat(100)))
})

describe('BOX-1: limits.background below ten minutes', () => {
  test('ends what takes longer in the background, and refuses to be asked for more', async () => {
    const { runtime, left } = await world({ limits: { background: '300ms' } })
    const { tasks } = runtime.session('shell')
    const long = await tasks.start({ tool: 'bash', input: { commands: 'sleep 60' } })
    expect(await tasks.wait(long.id)).toMatchObject({
      state: 'failed',
      outcome: { failure: { code: 'command_timeout', message: expect.stringContaining('after 300ms') } },
    })
    const asked = await tasks.start({ tool: 'bash', input: { commands: 'echo', timeout_ms: 5_000 } })
    expect(await tasks.wait(asked.id)).toMatchObject({
      state: 'failed',
      outcome: { failure: { code: 'invalid_arguments', message: 'timeout_ms must be at most 300' } },
    })
    expect(left()).toEqual([])
  })
})
