// All commands, in the order of the help page.

import type { CommandSpec } from '../command-spec.ts'
import { mcpCommands } from './mcp-commands.ts'
import { operatorCommands } from './operator-commands.ts'
import { peopleCommands } from './people-commands.ts'
import { projectCommands } from './project-commands.ts'
import { backgroundCommands } from './background-commands.ts'
import { workCommands } from './work-commands.ts'

export const commandTable: readonly CommandSpec[] = [
  ...projectCommands,
  ...workCommands,
  ...peopleCommands,
  ...backgroundCommands,
  ...mcpCommands,
  ...operatorCommands,
]
