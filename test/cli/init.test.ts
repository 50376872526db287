// `pawl init`: the files that it writes run, and it overwrites nothing.

import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { environment, node, pawl, projectFolder } from '../kit/run-pawl.ts'

const root = join(import.meta.dirname, '../..')

/** A project with these dependencies, which are those of the repository. */
function project(dependencies: readonly string[], files: Record<string, string> = {}): string {
  const listed = Object.fromEntries(dependencies.map((name) => [name, '*']))
  const cwd = projectFolder({ 'package.json': JSON.stringify({ type: 'module', dependencies: listed }), ...files })
  for (const name of dependencies) {
    const link = join(cwd, 'node_modules', name)
    mkdirSync(join(link, '..'), { recursive: true })
    if (name !== 'pawl') symlinkSync(join(root, 'node_modules', name), link)
  }
  return cwd
}

test.for([
  { dependencies: ['pawl'], files: {}, file: 'agent.mjs', template: 'plain' },
  { dependencies: ['pawl', 'typescript'], files: {}, file: 'agent.ts', template: 'plain' },
  { dependencies: ['pawl', 'ai'], files: { 'tsconfig.json': '{}' }, file: 'agent.ts', template: 'ai-sdk' },
  { dependencies: ['pawl', 'ai', '@ai-sdk/anthropic'], files: {}, file: 'agent.mjs', template: 'ai-sdk' },
])(
  'DOOR-2: init in a project with $dependencies writes $file, which runs to its end',
  { timeout: 60_000 },
  async ({ dependencies, files, file, template }) => {
    const cwd = project(dependencies, files)
    const { code, out } = await pawl({ cwd }, 'init', '--json')
    expect(code).toBe(0)
    const { commands } = JSON.parse(out) as { commands: string[] }
    expect(JSON.parse(out)).toMatchObject({ file: join(cwd, file), template })
    expect(commands[0]).toBe(`node ${file}`)
    const child = spawn(node, ['--conditions=@pawl/source', file], { cwd, env: environment() })
    let shown = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => void (shown += text))
    const ended = new Promise((resolve) => child.once('close', resolve))
    const waiting = async (): Promise<string | undefined> => {
      expect(child.exitCode, shown).toBeNull()
      const listed = await pawl({ cwd }, 'inbox', '--json')
      return listed.code === 0 ? (JSON.parse(listed.out) as { id: string }[])[0]?.id : undefined
    }
    const item = await vi.waitUntil(waiting, { timeout: 30_000, interval: 50 })
    expect((await pawl({ cwd }, 'approve', item)).code).toBe(0)
    expect([await ended, shown]).toEqual([0, expect.stringContaining('Done: 42.00 € are on their way.')])
    expect(shown).not.toContain('pawl:') // no warning of the runtime
  },
)

test('DOOR-2: init overwrites a file only with --force', async () => {
  const cwd = project(['pawl'])
  writeFileSync(join(cwd, 'agent.mjs'), 'mine')
  const { code, err } = await pawl({ cwd }, 'init')
  expect([code, readFileSync(join(cwd, 'agent.mjs'), 'utf8')]).toEqual([6, 'mine'])
  expect(err).toContain('--force')
  expect((await pawl({ cwd }, 'init', '--force')).code).toBe(0)
  expect(readFileSync(join(cwd, 'agent.mjs'), 'utf8')).toContain('createRuntime')
})
