// Commands on a local store, as child processes: their exit codes, their JSON, and what people read. The slow tier has the
// JSON of administration.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandTable } from '../../src/cli/table/command-table.ts'
import { administration, daily, JsonCheck, refundInput } from './command-json.ts'
import { environment, main, node, pawl, projectFolder, shopProject, startPawl } from '../kit/run-pawl.ts'

const throwingProject = (): string =>
  projectFolder({
    'pawl.config.mjs': `
      import { tool } from 'pawl'
      const throws = tool({ name: 'throws', description: 'Throws.', input: { type: 'object' },
        execute: () => { throw new Error('the ledger is closed') } })
      export default { runtime: { tools: [throws] } }`,
  })

test('DOOR-2: the JSON of the daily commands has its schema', { timeout: 180_000 }, async () => {
  const check = new JsonCheck()
  await daily.run(check)
  expect([...check.checked].toSorted()).toEqual(daily.names.toSorted())
})

test('DOOR-2: the JSON of every command that prints a document is checked', () => {
  // These print none: streams, scripts, bytes and programs that run until they are stopped.
  const others = ['demo', 'serve', 'worker', 'tail', 'export', 'completion', 'mcp', 'mcp wrap', 'mcp serve']
  // test/mcp/gateway has it: it needs a definition that changed.
  others.push('mcp accept')
  const all = new Set([...daily.names, ...administration.names, ...others])
  expect([...all].toSorted()).toEqual(commandTable.map(({ name }) => name).toSorted())
})

test('DOOR-2: wrong command lines exit with 2 and suggest the right word', async () => {
  const cwd = shopProject()
  const wrong: [string[], string][] = [
    [['inbx'], 'Did you mean inbox?'],
    [['inbox', '--sesion', 'x'], 'Did you mean --session?'],
    [['inbox', '--\u001b[31mred'], "unknown option '--\\x1b[31mred'"],
    [['call'], "missing required argument 'tool'"],
    [['call', 'refund', '{order}'], 'The input is no JSON'],
    [['call', 'refund', '{}', '--wait', 'soon'], "--wait is 'soon'"],
    [['prune'], '--older-than'],
    [['prune', '--older-than', '30d'], 'Confirm with --yes'],
    [['approve'], 'Name the item'],
    [['completion', 'tcsh'], "no completion for 'tcsh'"],
    [['inbox', '--url', 'localhost'], 'it must be the address of a server'],
    [['serve', '--url', 'http://127.0.0.1:1'], 'works on a local store'],
    [['inbox', '--config', 'none.ts'], 'no configuration file'],
  ]
  for (const [args, says] of wrong) {
    const { code, out, err } = await pawl({ cwd }, ...args)
    expect([args.join(' '), code, out]).toEqual([args.join(' '), 2, ''])
    expect(err).toContain(says)
    expect(err).toMatch(/^error /)
  }
})

test('DOOR-2: what is missing exits with 3, and a taken decision with 6', async () => {
  const cwd = shopProject()
  const inbox = await pawl({ cwd }, 'inbox')
  expect(inbox).toMatchObject({ code: 3, out: '' })
  expect(inbox.err).toMatch(/^error There is no store .*\.pawl\/pawl\.db yet\. .*\n$/)
  expect(existsSync(join(cwd, '.pawl'))).toBe(false)
  const unknown = await pawl({ cwd }, 'call', 'refnd')
  expect(unknown).toMatchObject({ code: 3, err: "error There is no tool 'refnd'. Did you mean 'refund'?\n" })
  await pawl({ cwd }, 'call', 'refund', refundInput)
  expect((await pawl({ cwd }, 'sessions', 'clo')).err).toContain("Did you mean 'cli'?")
  const [item] = JSON.parse((await pawl({ cwd }, 'inbox', '--json')).out) as { id: string }[]
  const id = item?.id ?? ''
  const changed = await pawl({ cwd }, 'approve', id, '--fingerprint', 'other')
  expect([changed.code, changed.out]).toEqual([6, ''])
  const short = await pawl({ cwd }, 'deny', id.slice(0, 12), '--reason', 'no')
  expect([short.code, short.out]).toEqual([0, '✗ Denied refund\n'])
  const late = await pawl({ cwd }, 'approve', id)
  expect([late.code, late.out]).toEqual([6, ''])
  expect(late.err).toMatch(/^! Already denied by user:.*\. Nothing was changed\.\n$/)
  expect((await pawl({ cwd }, 'approve', `${id}0`)).code).toBe(3)
})

test('DOOR-2: a failed call shows every line of its message, and a thrown error its cause', async () => {
  const cwd = shopProject()
  const invalid = await pawl({ cwd }, 'call', 'look_up_order', '{"order":1}')
  expect(invalid.err).toMatch(/^✗ look_up_order {2}invalid_arguments: The arguments are not valid:\n {2}- .*order.*\n/)
  const thrown = await pawl({ cwd: throwingProject() }, 'call', 'throws')
  expect(thrown.err).toMatch(/^! A tool threw .*Error: the ledger is closed\n✗ throws {2}internal_error: .*\n$/)
})

test('DOOR-2: a waiting call shows what it waits for, and a decision says if no worker runs it', async () => {
  const cwd = shopProject()
  const waiting = await pawl({ cwd }, 'call', 'refund', refundInput)
  expect(waiting.err).toContain('● refund waits for an approval\n  Refund 4200 cents for order A1.\n')
  const [item] = JSON.parse((await pawl({ cwd }, 'inbox', '--json')).out) as { id: string }[]
  expect((await pawl({ cwd }, 'inbox', (item?.id ?? '').slice(0, 3))).err).toContain('give at least 4 characters')
  const approved = await pawl({ cwd }, 'approve', item?.id ?? '')
  expect(approved).toMatchObject({ out: '✓ Approved refund\n', err: expect.stringContaining('No worker runs now.') })
  expect((await pawl({ cwd }, 'worker', '--once')).err).toContain('Nothing is left to run.')
})

test('DOOR-2: without tools the commands name pawl.config.ts, and a plain object as a tool exits with 2', async () => {
  const cwd = projectFolder()
  for (const args of [['tools'], ['worker', '--once']])
    expect((await pawl({ cwd }, ...args)).err).toContain('Name them in pawl.config.ts')
  const wrong = projectFolder({ 'pawl.config.mjs': "export default { runtime: { tools: [{ name: 'x' }] } }" })
  expect(await pawl({ cwd: wrong }, 'tools')).toMatchObject({
    code: 2,
    err: 'error Every tool must be made with tool().\n',
  })
})

test('POL-2: approve --edit runs the edited arguments, and invalid ones change nothing', async () => {
  const cwd = shopProject()
  await pawl({ cwd }, 'call', 'refund', refundInput, '--key', 'r1')
  const [item] = JSON.parse((await pawl({ cwd }, 'inbox', '--json')).out) as { id: string }[]
  const id = item?.id ?? ''
  const invalid = await pawl({ cwd }, 'approve', id, '--edit', '{"order":7}')
  expect(invalid.code).toBe(2)
  const edited = await pawl({ cwd }, 'approve', id, '--edit', '{"order":"A1","cents":2100}', '--as', 'user:bea')
  expect([edited.code, edited.out]).toEqual([0, '✓ Approved with changed arguments: refund\n'])
  // The same key joins the call, which runs now.
  const { code, out } = await pawl({ cwd }, 'call', 'refund', refundInput, '--key', 'r1', '--json')
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({ status: 'success', value: { refunded: 2100, order: 'A1' } })
})

test('DOOR-2: results are on stdout alone, and the input can come from stdin', async () => {
  const cwd = shopProject()
  const found = await pawl({ cwd, input: '{"order":"A7"}\n' }, 'call', 'look_up_order', '-')
  expect(JSON.parse(found.out)).toEqual({ order: 'A7', cents: 4200 })
  expect(found.err).toContain('✓ look_up_order')
  expect(await pawl({ cwd }, 'call', 'look_up_order', '{"order":"A7"}', '--quiet')).toEqual({ ...found, err: '' })
  const failed = await pawl({ cwd }, 'call', 'broken', '{"order":"A7"}')
  expect(failed).toEqual({ code: 1, out: '', err: '✗ broken  disk_full: The disk is full\n' })
  const lines = await pawl({ cwd }, 'tools', '--jsonl')
  expect(
    lines.out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { name: string }).name),
  ).toContain('refund')
})

test('DOOR-2: turn streams the answer to stdout and waits for a person with exit code 5', async () => {
  const cwd = shopProject()
  const waiting = await pawl({ cwd }, 'turn', 'chat-1', 'Please refund order A1', '--id', 'm1')
  expect([waiting.code, waiting.out]).toEqual([5, 'Let me look it up.\nI will refund it.\n'])
  const id = /pawl approve (\S+)/.exec(waiting.err)?.[1] ?? ''
  expect((await pawl({ cwd }, 'approve', id)).code).toBe(0)
  const done = await pawl({ cwd }, 'turn', 'chat-1', 'Please refund order A1', '--id', 'm1')
  expect([done.code, done.out]).toEqual([0, 'Done: 42.00 € are on their way.\n'])
  expect(done.err).toContain('✓ refund')
  // The same id joins the turn that has ended.
  expect(await pawl({ cwd }, 'turn', 'chat-1', 'Please refund order A1', '--id', 'm1')).toEqual({ ...done, err: '' })
  const other = await pawl({ cwd }, 'turn', 'chat-2', 'Please refund order A1')
  expect([other.code, other.out]).toEqual([5, 'Let me look it up.\nI will refund it.\n'])
})

test('DOOR-2: health lists a call whose tool is missing, and exits with 1', async () => {
  const cwd = shopProject()
  await pawl({ cwd }, 'call', 'refund', refundInput)
  expect((await pawl({ cwd }, 'health')).code).toBe(0)
  const bare = mkdtempSync(join(tmpdir(), 'pawl-bare-'))
  const { code, out } = await pawl({ cwd: bare, env: { PAWL_STORE: `sqlite:${cwd}/.pawl/pawl.db` } }, 'doctor')
  expect(code).toBe(1)
  expect(out).toContain('The tool is not in this configuration  no_tool')
  expect(out).toMatch(/Register 'refund', or start a worker that has it/)
})

test('DOOR-4: export writes JSON lines to stdout and a page to a file', async () => {
  const cwd = shopProject()
  await pawl({ cwd }, 'call', 'look_up_order', '{"order":"A1"}', '--session', 'x')
  const { code, out } = await pawl({ cwd }, 'export', 'x')
  expect(code).toBe(0)
  expect(
    out
      .trimEnd()
      .split('\n')
      .map((line) => typeof JSON.parse(line)),
  ).toContain('object')
  expect((await pawl({ cwd }, 'export', 'x', '--html', '-o', 'x.html')).code).toBe(0)
  expect(readFileSync(join(cwd, 'x.html'), 'utf8')).toMatch(/^<!doctype html>/i)
  expect((await pawl({ cwd }, 'export', 'none')).code).toBe(3)
})

test('DOOR-2: a closed pipe ends a command quietly, and signals have their exit codes', async () => {
  const cwd = shopProject()
  await pawl({ cwd }, 'call', 'look_up_order', '{"order":"A1"}')
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const tail = startPawl({ cwd }, 'tail', '--all', '--jsonl')
    await tail.until('call.settled')
    tail.signal(name)
    expect(await tail.ended).toBe(code)
  }
  // The reader is gone before the first event is written.
  const piped = `'${node}' --conditions=@pawl/source '${main}' tail --all --jsonl --quiet 2>errors | :`
  execFileSync('sh', ['-c', piped], { cwd, env: environment(), timeout: 30_000 })
  expect(readFileSync(join(cwd, 'errors'), 'utf8')).toBe('')
})

test('DOOR-2: completion scripts and suggestions', async () => {
  const cwd = projectFolder()
  for (const shell of ['bash', 'zsh', 'fish', 'powershell']) {
    const { code, out } = await pawl({ cwd }, 'completion', shell)
    expect([code, out.includes('pawl')]).toEqual([0, true])
  }
  const { out } = await pawl({ cwd }, 'complete', '--', 'app')
  expect(out).toContain('approve\tApprove an item')
})
