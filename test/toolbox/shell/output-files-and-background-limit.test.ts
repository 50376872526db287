import { describe, expect, test } from 'vitest'
import type { Json } from '../../../src/core/tool-value.ts'
import { shellWorlds } from './shell-session.ts'

const world = shellWorlds()

test.for(['/bin/bash', '/bin/sh'])(
  'BOX-1: commands that begin with a dash are commands, not options of %s',
  async (shell) => {
    const { value } = await world({ shell })
    for (const commands of ['-x', '--version', '-c "echo no"'])
      expect(await value(commands)).toMatchObject({ stdout: '', exit_code: 127 })
    expect(await value('echo yes')).toMatchObject({ stdout: 'yes\n', exit_code: 0 })
  },
)

test('CALL-6: calls with the same id in different batches keep separate output files', async () => {
  const { runtime } = await world()
  const session = runtime.session('shell')
  const run = async (batch: string, id: string, word: string): Promise<string> => {
    const input = { commands: `for i in $(seq 100); do echo ${word}; done`, output: 'silent' }
    const [outcome] = await session.run([{ id, name: 'bash', input }], { batch })
    return ((outcome as unknown as { value: { [name: string]: Json } }).value.output_files as string[])[0] as string
  }
  const paths = [
    await run('m1', 'call_1', 'first'),
    await run('m2', 'call_1', 'second'),
    await run('m3', 'call/1', 'third'),
  ]
  const texts = await Promise.all(paths.map(async (path) => (await session.files.read(path)).text))
  expect(texts).toEqual(['first\n', 'second\n', 'third\n'].map((line) => line.repeat(100)))
})

describe('BOX-1: limits.background below ten minutes', () => {
  test('ends longer background commands and rejects a longer timeout_ms', async () => {
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
