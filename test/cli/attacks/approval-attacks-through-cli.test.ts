// Every attack on approvals through the CLI, on a local store and on a server. SQLite and PostgreSQL are in the slow tier.

import { describe } from 'vitest'
import { attackThroughCli } from './attack-through-cli.ts'

describe.each(['local store', 'server'] as const)('approval attacks through the CLI on a %s', (where) =>
  attackThroughCli('memory', where),
)
