// Text of models and tools cannot control the terminal: no raw control character of it reaches stdout or stderr.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { safeBlock, safeJson, safeLine } from '../../src/cli/output/terminal-safe.ts'
import { pawl, type PawlEnd, projectFolder, startPawl } from '../kit/run-pawl.ts'
import { esc, hostileStore, payloads, raw } from './hostile-payloads.ts'

test('DOOR-2: no invisible character hides text from the person who decides', () => {
  // Joiners and the selectors of emoji and of text are part of what is seen.
  const seen = /\u200c|\u200d|[\ufe00-\ufe0f]/
  const invisible = /\p{Default_Ignorable_Code_Point}|\p{Cf}/u
  for (let code = 0x20; code < 0x110000; code++) {
    const character = String.fromCodePoint(code)
    if (!invisible.test(character) || seen.test(character)) continue
    // Signs above a number and joiners of hieroglyphs are visible.
    if (/[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2]|[\u{110bd}\u{110cd}\u{13430}-\u{1343f}]/u.test(character))
      continue
    expect(safeLine(`pay${character}100`), code.toString(16)).not.toContain(character)
  }
})

test('DOOR-2: 100 hostile texts lose their control characters and stay readable', () => {
  expect(payloads.length).toBeGreaterThanOrEqual(100)
  for (const payload of payloads) {
    expect(safeLine(payload)).not.toMatch(raw)
    expect(safeLine(payload)).not.toContain('\n')
    expect(safeBlock(payload)).not.toMatch(raw)
    const json = safeJson(JSON.stringify({ payload }))
    expect(json).not.toMatch(raw)
    expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify({ payload })))
  }
  expect(safeLine('Größe 42 €, 表, 👩‍🔧')).toBe('Größe 42 €, 表, 👩‍🔧')
})

/** Colours of the CLI itself are the only escape sequences, and only if colours are forced. */
const unstyled = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- the colours of styleText
  text.replace(/\u001b\[\d+m/g, '')

test('DOOR-2: no command prints a raw control character of a hostile store', { timeout: 120_000 }, async () => {
  const cwd = projectFolder()
  await hostileStore(cwd)
  const commands = [
    ['inbox'],
    ['inbox', '--json'],
    ['inbox', '--jsonl'],
    ['sessions'],
    ['sessions', '--json'],
    ['sessions', 'evil', '--limit', '1000'],
    ['sessions', 'evil', '--json'],
    ['tasks', 'evil'],
    ['tasks', 'evil', '--jsonl'],
    ['health'],
    ['health', '--json'],
    ['export', 'evil'],
    ['deny', payloads.at(-7) ?? ''],
    ['tools', payloads.at(-7) ?? ''],
  ]
  const found: [string, string][] = []
  let printed = 0
  const check = (name: string, { out, err }: PawlEnd): void => {
    printed += out.length + err.length
    if (raw.test(out + err)) found.push([name, raw.exec(out + err)?.[0] ?? ''])
  }
  for (const args of commands) check(args.join(' '), await pawl({ cwd }, ...args))
  const { out } = await pawl({ cwd }, 'inbox', '--json')
  const items = JSON.parse(out) as { id: string }[]
  expect(items).toHaveLength(payloads.length)
  // The slow tier shows more items.
  for (const { id } of items.slice(-3)) check(`inbox ${id}`, await pawl({ cwd }, 'inbox', id))
  const coloured = await pawl({ cwd, env: { FORCE_COLOR: '1' } }, 'inbox')
  expect(coloured.out).toContain(`${esc}[33mapproval`)
  check('inbox in colour', { ...coloured, out: unstyled(coloured.out), err: unstyled(coloured.err) })
  expect(found).toEqual([])
  expect(printed).toBeGreaterThan(100_000)
  expect(readFileSync(join(cwd, '.pawl/pawl.db')).length).toBeGreaterThan(0)
})

test('DOOR-2: live commands escape hostile answers, results, errors and progress', { timeout: 60_000 }, async () => {
  const cwd = projectFolder({
    'payloads.json': JSON.stringify(payloads.map((each) => each.toWellFormed())),
    'pawl.config.mjs': `
      import { readFileSync } from 'node:fs'
      import { createRuntime, fail, jsonSchema, tool } from 'pawl'
      import { scriptedModel } from 'pawl/testing'
      const payloads = JSON.parse(readFileSync(new URL('payloads.json', import.meta.url), 'utf8'))
      const all = payloads.join('\\n')
      const about = { description: all, input: jsonSchema({ type: 'object' }), narrate: () => all }
      const echo = tool({ ...about, name: 'echo', execute: (_, ctx) => {
        for (const text of payloads) ctx.progress({ current: 1, total: 2, label: text })
        return payloads.map((text) => ({ [text]: text }))
      } })
      const plain = tool({ ...about, name: 'plain', execute: () => all })
      const broken = tool({ ...about, name: 'broken', execute: () => { throw fail(all) } })
      const model = scriptedModel([{ say: all, call: { name: 'echo', input: { [all]: all } } }, { say: all, call: { name: all, input: {} } }, all])
      export default { runtime: { tools: [echo, plain, broken], models: [model] } }`,
  })
  const found: string[] = []
  const check = (name: string, ...texts: string[]): void => {
    for (const text of texts) if (raw.test(text)) found.push(`${name}: ${JSON.stringify(raw.exec(text)?.[0])}`)
  }
  for (const args of [
    ['tools'],
    ['tools', '--json'],
    ['tools', 'echo'],
    ['call', 'echo'],
    ['call', 'plain'],
    ['call', 'broken'],
    ['call', 'broken', '--json'],
    ['turn', 'cli', 'hello'],
    ['turn', 'other', 'hello', '--json'],
  ]) {
    const { out, err } = await pawl({ cwd }, ...args)
    expect(`${out}${err}`, args.join(' ')).toContain('0 \\')
    check(args.join(' '), out, err)
  }
  for (const format of ['--quiet', '--jsonl']) {
    const tail = startPawl({ cwd }, 'tail', '--all', format)
    await tail.until(/turn\.(?:ended|failed)/)
    tail.signal('SIGINT')
    await tail.ended
    expect(tail.shown()).toContain('0 \\')
    check(`tail ${format}`, tail.shown())
  }
  expect(found).toEqual([])
})
