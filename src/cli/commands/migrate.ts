// `pawl migrate`: upgrades the tables of the store, or only looks whether they need it.

import { existsSync } from 'node:fs'
import type { Run } from '../cli.ts'
import { CliError, type ExitCode, exitCodes } from '../exit-codes.ts'
import { fileOf } from '../open-store.ts'
import { dim, green, yellow } from '../output/output.ts'

export const migrate: Run<{ check?: boolean }> = async (cli, _, { check = false }): Promise<ExitCode> => {
  const { output } = cli
  const { store } = await cli.requireLocal('migrate')
  const file = fileOf(store.value)
  if (file !== null && !existsSync(file)) throw new CliError(exitCodes.notFound, `There is no store ${file} yet.`)
  const { readSchemaVersions } = await import('../../store/schema-versions.ts')
  const { found, supported } = await readSchemaVersions(store.value)
  const isCurrent = found === supported
  if (!check && !isCurrent) await cli.local({ create: true }) // opening a store upgrades it, or says why it cannot
  const result = { found, supported, upgraded: !check && !isCurrent }
  output.result(result, () => {
    if (isCurrent) output.line(green('✓'), ` The tables are at version ${supported}, as this release needs.`)
    else if (check) {
      output.line(
        yellow('!'),
        ` The tables are ${found === null ? 'missing' : `at version ${found}`}; this release needs version ${supported}.`,
      )
      output.note(dim(found !== null && found > supported ? 'Upgrade Pawl.' : 'Upgrade them: pawl migrate'))
    } else output.line(green('✓'), ` Upgraded the tables from version ${found ?? 'none'} to ${supported}.`)
  })
  return check && !isCurrent ? exitCodes.failed : exitCodes.ok
}
