// The console of the packed package, served by its `pawl serve` in a project without this repository.

import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { openBrowser } from '../kit/console/browser.ts'
import { expectAccessible, openScreen, patience } from '../kit/console/screen.ts'
import { environment, node } from '../kit/run-pawl.ts'
import { freshDir } from '../kit/stores/fresh-store.ts'

const root = join(import.meta.dirname, '../..')
const run = promisify(execFile)

/** A project with the packed package and its dependencies. */
async function installed(): Promise<string> {
  const project = freshDir()
  const modules = join(project, 'node_modules')
  mkdirSync(modules)
  const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', project], { cwd: root })
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }]
  await run('tar', ['-xzf', join(project, filename), '-C', modules])
  renameSync(join(modules, 'package'), join(modules, 'pawl'))
  const manifest = readFileSync(join(modules, 'pawl/package.json'), 'utf8')
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> }
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  writeFileSync(join(project, 'package.json'), '{"type":"module"}')
  return project
}

test('DOOR-1 DOOR-6: the packed console approves a refund whose worker is killed', { timeout: 300_000 }, async () => {
  const project = await installed()
  const args = [join(project, 'node_modules/pawl/dist/cli/main.js'), 'serve', '--demo', '--port', '0']
  const child = spawn(node, args, { cwd: project, env: environment() })
  let shown = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => void (shown += text))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const browser = await openBrowser()
  try {
    const link = /http:\S+\/login\?code=\S+/
    await vi.waitUntil(() => link.test(shown) || child.exitCode !== null, { timeout: patience })
    const login = new URL(link.exec(shown)?.[0] ?? '')
    const start = { url: login.origin, token: '', path: `${login.pathname}${login.search}` }
    const { page, errors } = await openScreen(browser, start)
    await page.getByRole('button', { name: /^Approve: Refund/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click()
    const decided = page.getByRole('region', { name: 'What you decided' })
    await decided.getByText('The worker stopped during attempt 1. Another one continued with attempt 2.').waitFor()
    await decided.getByText('Succeeded').waitFor()
    await expectAccessible(page)
    expect(errors).toEqual([])
  } finally {
    await browser.close()
    child.kill('SIGTERM')
    await ended
  }
})
