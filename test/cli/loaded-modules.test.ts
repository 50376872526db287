// Commands load only what they need: starting `pawl` is felt with every command.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { environment, main, node, pawl, shopProject } from '../kit/run-pawl.ts'

const recorder = join(import.meta.dirname, 'child-record-modules.ts')

/** The packages and the folders of src that a command loads. */
function loadedBy(cwd: string, ...args: string[]): { packages: string[]; folders: string[]; files: string[] } {
  const file = join(cwd, 'modules.json')
  execFileSync(node, ['--conditions=@pawl/source', '--import', recorder, main, ...args], {
    cwd,
    env: environment({ MODULES: file }),
    stdio: 'pipe',
  })
  const urls = JSON.parse(readFileSync(file, 'utf8')) as string[]
  const inside = urls.flatMap((url) => /\/src\/(.+)$/.exec(url)?.[1] ?? [])
  const packages = urls.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [])
  return {
    packages: [...new Set(packages)].toSorted(),
    folders: [...new Set(inside.map((path) => path.split('/')[0] as string))].toSorted(),
    files: inside,
  }
}

test.for([['--help'], ['inbox', '--help'], ['version'], ['completion', 'zsh'], ['complete', '--', 'in']])(
  'DOOR-2: pawl %j loads no part of the runtime',
  (args) => {
    const { packages, folders } = loadedBy(shopProject(), ...args)
    const tab = args[0]?.startsWith('comple') ? ['@bomb.sh/tab'] : []
    expect({ packages, folders }).toEqual({ packages: [...tab, 'commander'], folders: ['cli', 'core'] })
  },
)

test('DOOR-2: inbox on a local store loads no server, schema, model or prompt code', async () => {
  const cwd = shopProject()
  await pawl({ cwd }, 'call', 'look_up_order', '{"order":"A1"}')
  const { packages, folders, files } = loadedBy(cwd, 'inbox', '--json')
  const heavy = ['zod', 'hono', '@hono/node-server', '@clack/prompts', '@clack/core', '@bomb.sh/tab', 'pg', 're2js']
  expect(packages.filter((name) => heavy.includes(name))).toEqual([])
  expect(folders.filter((name) => ['adapters', 'testing', 'toolbox', 'client'].includes(name))).toEqual([])
  expect(files.filter((path) => /^server\/(?!operations\/|endpoints|permissions)/.test(path))).toEqual([])
})
