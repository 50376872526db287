// The bash tool, which is disabled by default. Containment is covered by shell-containment.test.ts.

import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime } from 'pawl'
import { describe, expect, test } from 'vitest'
import { budgetOf, shortenOutput } from '../../../src/toolbox/shell/format-output.ts'
import { shellTools } from '../../../src/toolbox/shell/shell.ts'
import type { Tool } from '../../../src/tools/tool.ts'
import { shellWorlds } from './shell-session.ts'
import { until } from '../../kit/processes/process-trees.ts'

const open: { close(): Promise<void> }[] = []
const world = shellWorlds(open)

describe('BOX-1: checks before approval', () => {
  test.each([
    ['a line break in working_dir', { working_dir: 'src\nApproved by the boss' }, 'working_dir_invalid'],
    ['an override in working_dir', { working_dir: 'src\u202Ecrs' }, 'working_dir_invalid'],
    ['a parent directory', { working_dir: 'src/../..' }, 'working_dir_invalid'],
    ['a directory that does not exist', { working_dir: 'nope' }, 'working_dir_invalid'],
    ['a directory of the machine', { working_dir: '/etc' }, 'working_dir_invalid'],
    ['a link that leads out', { working_dir: 'out' }, 'working_dir_invalid'],
    ['NUL in commands', { commands: 'ls \0' }, 'invalid_arguments'],
    ['too long commands', { commands: 'x'.repeat(130_000) }, 'invalid_arguments'],
    ['a timeout for the background', { timeout_ms: 1_000_000 }, 'invalid_arguments'],
  ])('BOX-1 POL-6: %s is refused without asking a person', async (_, input, code) => {
    const { run, runtime, folder } = await world({ approval: 'always' })
    symlinkSync('/etc', join(folder, 'out'))
    // They exist, so only their names are a reason to refuse them.
    for (const name of ['src\nApproved by the boss', 'src\u202Ecrs']) mkdirSync(join(folder, name))
    expect(await run('ls', input)).toMatchObject({ failure: { code } })
    expect(await runtime.inbox()).toEqual([])
  })

  test('BOX-1 POL-6: a session without a real folder is refused without asking a person', async () => {
    const { run, runtime } = await world({ approval: 'always', folder: () => undefined })
    expect(await run('ls')).toMatchObject({ failure: { code: 'workspace_unavailable' } })
    expect(await runtime.inbox()).toEqual([])
  })

  test('BOX-1: the refusal of an absolute path says where paths start', async () => {
    const { run } = await world({ approval: 'always' })
    expect(await run('ls', { working_dir: '/etc' })).toMatchObject({
      failure: {
        message:
          'There is no directory "/etc" in the workspace. Paths start at the top of the workspace, not of the machine',
      },
    })
  })

  test('BOX-1 POL-6: a directory that an earlier call of the batch may create is not checked before approval', async () => {
    const { runtime } = await world({ approval: ({ commands }) => (commands === 'ls' ? 'ask' : 'allow') })
    const bash = (id: string, input: object): { id: string; name: string; input: object } => ({
      id,
      name: 'bash',
      input,
    })
    const session = runtime.session('shell')
    const calls = [
      bash('make', { commands: 'mkdir -p later/on; touch later/on/made' }),
      bash('list', { commands: 'ls', working_dir: 'later/on' }),
    ]
    await session.run(calls, { until: 'waiting' })
    const [request] = await runtime.inbox()
    await runtime.decide(request?.id ?? '', { approve: true, by: 'kim' })
    const [, listed] = await session.run(calls)
    expect(listed).toMatchObject({ status: 'success', value: { stdout: 'made\n' } })
  })

  test.each([
    ['/etc', 'Run in bash, in the folder "etc" of the workspace'],
    ['/workspace/src/', 'Run in bash, in the folder "src" of the workspace'],
    ['/', 'Run in bash'],
  ])('BOX-1: the preview of working_dir %j names a folder of the workspace', async (where, summary) => {
    const { runtime, folder } = await world({ approval: 'always' })
    for (const each of ['etc', 'src']) mkdirSync(join(folder, each))
    const call = { id: 'c', name: 'bash', input: { commands: 'ls', working_dir: where } }
    await runtime.session('shell').run([call], { until: 'waiting' })
    expect((await runtime.inbox())[0]?.preview).toMatchObject({ summary, details: 'ls' })
  })
})

describe('BOX-1: running commands in bash', () => {
  test('returns output, exit code and line count', async () => {
    const { value } = await world()
    expect(await value('echo out; echo err >&2; exit 3')).toEqual({
      stdout: 'out\n',
      stderr: 'err\n',
      exit_code: 3,
      success: false,
      truncated: false,
      total_lines: 2,
    })
    expect(await value('a=(1 2 3); echo "${a[1]}" | cat; printf "no end"')).toMatchObject({
      stdout: '2\nno end',
      success: true,
      total_lines: 2,
    })
    expect(await value("cat <<'EOF'\ngrüße 🐱 $HOME\nEOF")).toMatchObject({ stdout: 'grüße 🐱 $HOME\n' })
    expect(await value('kill -9 $$')).toMatchObject({ exit_code: 137, success: false })
    expect(await value('no-such-program')).toMatchObject({
      exit_code: 127,
      success: false,
      stderr: expect.stringContaining('no-such-program'),
    })
    expect(await value('read line; echo "$line-"')).toMatchObject({ stdout: '-\n' })
    expect(await value('exit 0 # 100,000 bytes: ' + 'x'.repeat(100_000))).toMatchObject({ success: true })
  })

  test('starts in the folder of the session or in a directory of it', async () => {
    const { value, folder, run } = await world()
    mkdirSync(join(folder, 'src/deep'), { recursive: true })
    symlinkSync('src', join(folder, 'link'))
    expect(await value('pwd; echo "$HOME"')).toMatchObject({ stdout: `${folder}\n${folder}\n` })
    for (const where of ['src/deep', '/src/deep', '/workspace/src/deep', './src//deep/', 'link/deep'])
      expect(await value('pwd', { working_dir: where }), where).toMatchObject({ stdout: `${folder}/src/deep\n` })
    expect(await value('pwd', { working_dir: '/workspace' })).toMatchObject({ stdout: `${folder}\n` })
    await value('echo made > made.txt')
    expect(readFileSync(join(folder, 'made.txt'), 'utf8')).toBe('made\n')
    expect(await run('pwd', { working_dir: 'nowhere' })).toMatchObject({
      failure: { code: 'working_dir_invalid', message: 'There is no directory "nowhere" in the workspace' },
    })
  })

  test('each call starts a new shell, and its files are the files of the session', async () => {
    const { value, runtime } = await world()
    await value('echo text > note.md; cd /usr; export A=1')
    expect(await value('echo "$A-$(basename "$PWD")"')).toMatchObject({ stdout: '-session\n' })
    expect((await runtime.session('shell').files.read('/note.md')).text).toBe('text\n')
  })

  test('fails without a real folder', async () => {
    const { run } = await world({ folder: () => undefined })
    expect(await run('pwd')).toMatchObject({ failure: { code: 'workspace_unavailable', class: 'unavailable' } })
    const missing = await world({ folder: () => '/no/such/folder' })
    expect(await missing.run('pwd')).toMatchObject({ failure: { code: 'workspace_unavailable' } })
  })

  test('streams its output as live events', async () => {
    const { runtime, run } = await world()
    const heard = (async () => {
      const pieces: string[] = []
      for await (const event of runtime.session('shell').events({ live: true })) {
        if (event.live) pieces.push(JSON.stringify(event))
        else if (event.type === 'call.settled') break
      }
      return pieces.join('\n')
    })()
    await run('echo "first $((40 + 2))"; sleep 0.1; echo "second $((40 + 3))" >&2')
    expect(await heard).toMatch(/first 42[^]*stdout|stdout[^]*first 42/)
    expect(await heard).toContain('second 43')
  })
})

describe('BOX-1 VAL-7: limits of the shown output', () => {
  test('the output option selects the budget', () => {
    expect(
      ['auto', 'silent', 'concise', 'normal', 'verbose', 'full'].map((level) => [
        budgetOf(level as 'auto', true),
        budgetOf(level as 'auto', false),
      ]),
    ).toEqual([
      [384, 8_192],
      [200, 200],
      [2_048, 2_048],
      [8_192, 8_192],
      [16_384, 16_384],
      [Infinity, Infinity],
    ])
  })

  test('shortened output keeps beginning, end and errors, and the full output is in a file', async () => {
    const { value, runtime } = await world()
    const noisy = 'seq 1 3000; echo "src/a.ts: error TS1: broken"; seq 3001 6000; exit 1'
    const shown = await value(noisy)
    expect(shown).toMatchObject({
      truncated: true,
      total_lines: 6_001,
      output_files: [expect.stringMatching(/^\/outputs\/call-1-[0-9a-f]{12}\.stdout$/)],
    })
    expect(Buffer.byteLength(shown.stdout)).toBeLessThanOrEqual(8_192)
    expect(shown.stdout).toMatch(/^1\n2\n/)
    expect(shown.stdout).toMatch(/\n6000\n$/)
    expect(shown.stdout).toContain('error TS1: broken')
    const whole = (await runtime.session('shell').files.read((shown.output_files as string[])[0] as string))
      .text as string
    expect(whole.split('\n')).toHaveLength(6_002)
    for (const [output, most] of [
      ['auto', 384],
      ['silent', 200],
      ['concise', 2_048],
      ['verbose', 16_384],
    ] as const) {
      const { stdout, stderr } = await value('seq 1 9999; seq 1 9999 >&2', { output })
      expect(Buffer.byteLength(stdout)).toBeLessThanOrEqual(most)
      expect(Buffer.byteLength(stderr)).toBeLessThanOrEqual(Math.min(most, 4_096))
    }
    const full = await value('seq 1 9999', { output: 'full' })
    expect(full).toMatchObject({ truncated: false, total_lines: 9_999 })
    expect(full).not.toHaveProperty('output_files')
    expect(full.stdout.split('\n')).toHaveLength(10_000)
  })

  test('colours and redrawn lines are removed', async () => {
    const { value } = await world()
    expect(await value("printf '\\033[31mred\\033[0m\\n10%%\\r50%%\\r100%%\\n'")).toMatchObject({
      stdout: 'red\n100%\n',
      truncated: false,
    })
    expect(shortenOutput('\u001b[31mred\u001b[0m', 100)).toBe('red')
  })
})

describe('BOX-1: time limits of bash', () => {
  test('a command that exceeds its timeout is ended and returns its partial output', async () => {
    const { run, left } = await world()
    expect(await run('echo begun; echo why >&2; sleep 999', { timeout_ms: 300 })).toMatchObject({
      failure: {
        code: 'command_timeout',
        class: 'timeout',
        message: 'Command timed out after 300ms. Partial output:\nbegun\n\n[stderr]\nwhy\n',
      },
    })
    expect(left()).toEqual([])
    expect(await run('sleep 1', { timeout_ms: 600_001 })).toMatchObject({
      failure: { code: 'invalid_arguments', message: expect.stringContaining('in the background') },
    })
    expect(await run('true', { timeout_ms: 0 })).toMatchObject({ failure: { code: 'invalid_arguments' } })
  })

  test('a cancel ends the command and all its processes', async () => {
    const { run, left } = await world()
    const cancel = new AbortController()
    const running = run('sleep 999 & setsid sleep 999 & sleep 999', {}, { signal: cancel.signal })
    await until('it runs', () => left().length >= 4)
    cancel.abort()
    expect(await running).toMatchObject({ status: 'cancelled' })
    await until('all of it has ended', () => left().length === 0)
  })

  test('a background command may run longer, and cancelling the task ends it', async () => {
    const { runtime, left } = await world()
    const { tasks } = runtime.session('shell')
    const short = await tasks.start({ tool: 'bash', input: { commands: 'echo done', timeout_ms: 3_600_000 } })
    expect(await tasks.wait(short.id)).toMatchObject({ state: 'succeeded', outcome: { value: { stdout: 'done\n' } } })
    const long = await tasks.start({ tool: 'bash', input: { commands: 'sleep 999' } })
    await until('it runs', () => left().length > 0)
    await tasks.cancel(long.id)
    expect(await tasks.wait(long.id)).toMatchObject({ state: 'cancelled' })
    await until('all of it has ended', () => left().length === 0)
  })
})

describe('BOX-1: bash as a tool', () => {
  const tmp = (): string => '/tmp'
  const [bash] = shellTools({ folder: tmp }) as [Tool]

  test('is destructive and open-world, is never rerun, and needs approval each time', async () => {
    expect(bash).toMatchObject({
      approval: 'always',
      onCrash: 'stop',
      hints: { destructive: true, openWorld: true },
      title: 'Run shell commands',
    })
    expect(bash.background).toBeDefined()
    const { folder } = await world()
    const runtime = await createRuntime({ store: 'memory:', tools: shellTools({ folder: () => folder }) })
    open.push(runtime)
    const [outcome] = await runtime
      .session('s', { attended: false })
      .run([{ id: 'a', name: 'bash', input: { commands: 'touch ran' } }])
    expect(outcome).toMatchObject({ failure: { code: 'approval_required' } })
    expect(() => readFileSync(join(folder, 'ran'))).toThrow('ENOENT')
  })

  test('narrations name the program in both languages, never its arguments', () => {
    const say = (commands: string, locale: string, phase: 'started' | 'failed'): unknown =>
      bash.narrate?.({ commands } as never, { phase, locale })
    expect(say('curl -H "Authorization: secret" x', 'en', 'started')).toBe('Running curl in bash')
    expect(say('TOKEN=secret curl x', 'de', 'failed')).toBe('commands in bash fehlgeschlagen')
  })

  test.each([
    [{ folder: '/tmp' }],
    [{ folder: tmp, env: { 'a.b': 'x' } }],
    [{ folder: tmp, limits: { memory: 0 } }],
    [{ folder: tmp, limits: { memroy: 1 } }],
    [{ folder: tmp, limits: { background: 'long' } }],
    [{ folder: tmp, output: 'loud' }],
  ])('invalid options are rejected: %j', (options) => {
    expect(() => shellTools(options as never)).toThrow(expect.objectContaining({ code: 'config_invalid' }))
  })

  test('another shell can be configured', async () => {
    const { value, folder } = await world({ shell: '/bin/sh' })
    writeFileSync(join(folder, 'x'), '')
    expect(await value('ls; echo "${BASH_VERSION:-none}"', { output: 'normal' })).toMatchObject({
      stdout: expect.stringContaining('x\n'),
    })
  })
})
