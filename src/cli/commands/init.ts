// `pawl init`: writes a first agent into the project.

import { existsSync, readFileSync, writeFileSync, mkdirSync } from 'node:fs'
import { dirname, extname, join, relative, resolve } from 'node:path'
import type { Run } from '../cli.ts'
import { CliError, type ExitCode, exitCodes } from '../exit-codes.ts'
import { providers, renderTemplate, type Template } from '../init-template.ts'
import { bold, cyan, dim, green, yellow } from '../output/output.ts'

interface InitFlags {
  readonly force?: boolean
  readonly template?: Template
}

export const init: Run<InitFlags> = async ({ output }, [given], { force = false, template }): Promise<ExitCode> => {
  const project = readProject(process.cwd())
  const typescript = given === undefined ? project.typescript : extname(given) === '.ts'
  const file = given ?? `agent.${typescript ? 'ts' : 'mjs'}`
  const path = resolve(file)
  if (!/^\.(?:ts|mts|mjs|js)$/.test(extname(path)))
    throw new CliError(exitCodes.usage, `'${file}' must end with .ts, .mjs or .js.`)
  if (existsSync(path) && !force)
    throw new CliError(exitCodes.conflict, `${file} exists. --force overwrites it. Nothing was written.`)
  const chosen = template ?? (project.packages.has('ai') ? 'ai-sdk' : 'plain')
  const provider = providers.find(({ pack }) => project.packages.has(pack)) ?? null
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, renderTemplate({ template: chosen, typescript, file, provider }))
  const missing = ['pawl', ...(chosen === 'ai-sdk' ? ['ai'] : [])].filter((name) => !project.packages.has(name))
  const commands = [
    ...(missing.length > 0 ? [`npm install ${missing.join(' ')}`] : []),
    `node ${relative(process.cwd(), path)}`,
    'npx pawl approve    # in another terminal, when it asks',
  ]
  output.result({ file: path, template: chosen, commands }, () => {
    output.line(green('✓'), ' Wrote ', bold(file), dim(`  ${chosen === 'ai-sdk' ? 'with the AI SDK' : 'plain'}`))
    output.line()
    for (const command of commands) output.line('  ', cyan(command))
    output.line()
    if (!project.ignoresStore) output.note(yellow('! '), 'Add .pawl/ to .gitignore: it holds the store and its key.')
  })
  return exitCodes.ok
}

interface Project {
  readonly packages: ReadonlySet<string>
  readonly typescript: boolean
  readonly ignoresStore: boolean
}

/** The nearest package.json, and what is beside it. */
function readProject(from: string): Project {
  let folder = from
  while (!existsSync(join(folder, 'package.json')) && dirname(folder) !== folder) folder = dirname(folder)
  const packages = packagesIn(join(folder, 'package.json'))
  const ignore = join(folder, '.gitignore')
  return {
    packages,
    typescript: packages.has('typescript') || existsSync(join(folder, 'tsconfig.json')),
    ignoresStore: existsSync(ignore) && /^\/?\.pawl\/?\s*$/m.test(readFileSync(ignore, 'utf8')),
  }
}

function packagesIn(file: string): ReadonlySet<string> {
  if (!existsSync(file)) return new Set()
  try {
    const { dependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object>
    return new Set([...Object.keys(dependencies), ...Object.keys(devDependencies)])
  } catch (error) {
    throw new CliError(exitCodes.usage, `${file} cannot be read: ${(error as Error).message}`)
  }
}
