// The form in which commands are described. The table has no implementation: a command's module is loaded when it runs.

import type { Run } from './cli.ts'

/** An argument: `<name>` is required, `[name]` is not, `[name...]` takes the rest. */
export type ArgumentSpec = readonly [form: string, description: string]

/** An option, such as `-o, --output <file>`. */
export type OptionSpec = readonly [form: string, description: string, choices?: readonly string[]]

export interface CommandSpec {
  /** With the name of its group: 'tokens create'. */
  readonly name: string
  readonly alias?: string
  /** One line. */
  readonly summary: string
  /** Further sentences for the help of the command. */
  readonly more?: string
  readonly args?: readonly ArgumentSpec[]
  readonly options?: readonly OptionSpec[]
  readonly examples: readonly string[]
  /** `--config` with a name that ends with .json is the servers file of the gateway; it becomes the flag `servers`. */
  readonly takesServersFile?: true
  readonly load: () => Promise<Run<never>>
}
