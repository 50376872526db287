// Every attack on approvals through the CLI on SQLite and PostgreSQL.

import { describe } from 'vitest'
import { attackThroughCli } from './attack-through-cli.ts'

describe.each([
  ['sqlite', 'local store'],
  ['sqlite', 'server'],
  ['postgres', 'local store'],
] as const)('approval attacks through the CLI on %s, %s', attackThroughCli)
