// The servers file of the gateway: `{ "mcpServers": { name: McpServerConfig }, "policy": { … } }`. The keys of an entry
// are those that hosts use. Everything is checked before a server starts, and a message names the file, server and key.

import { checkRequiredOptions, option, optionProblem, type OptionTable } from '../../core/check-options.ts'
import { PawlError } from '../../core/errors.ts'
import type { PolicyDefinition } from '../../index.ts'
import { type McpServerConfig, serverConfigOptions, readServerConfig } from '../client/server-config.ts'
import { inexactNumbers, type JsonNode, JsonTextError, memberOf, parseJsonText, valueOf } from './json-text.ts'

/** The content of a servers file. */
export interface ServersFile {
  readonly servers: readonly ConfiguredServer[]
  /** Rules of the project, added to those of the gateway. */
  readonly policy: FilePolicy
}

export interface ConfiguredServer {
  readonly name: string
  readonly config: McpServerConfig
}

/** The part of a policy that JSON can express. */
export type FilePolicy = Omit<PolicyDefinition, 'decide'>

/** A larger file is no configuration. */
export const maxServersFileBytes = 4 * 1024 * 1024
const maxServers = 200
const maxArguments = 1_000
/** The name comes before the names of the tools, which have 64 characters. */
const serverName = /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/

const fileOptions = {
  mcpServers: option.required(option.object),
  policy: option.nested({
    rules: option.array,
    default: option.oneOf('normal', 'careful'),
    approvals: option.object,
  }),
} satisfies OptionTable

/** Reads the text of a servers file. Throws config_invalid with the file, the server and the key. */
export function readServersFile(content: string, file: string): ServersFile {
  const root = parseFile(content, file)
  const value = valueOf(root) as Record<string, unknown>
  checkRequiredOptions(value, fileOptions, file)
  const [inexact] = inexactNumbers(content, root)
  if (inexact !== undefined) throw new PawlError('config_invalid', `${file}: ${inexactText(inexact)}`)
  const members = memberOf(root, 'mcpServers')?.node.members ?? []
  if (members.length > maxServers)
    throw new PawlError(
      'config_invalid',
      `${file} names ${members.length} servers; the gateway takes at most ${maxServers}.`,
    )
  const servers = members.map(({ key, node }) => ({ name: key, config: checkServer(key, valueOf(node), file) }))
  return { servers, policy: value.policy ?? {} }
}

function parseFile(content: string, file: string): JsonNode {
  if (content.length > maxServersFileBytes)
    throw new PawlError('config_invalid', `${file} has more than ${maxServersFileBytes / 1024 / 1024} MiB.`)
  try {
    return parseJsonText(content)
  } catch (error) {
    if (error instanceof JsonTextError) throw new PawlError('config_invalid', `${file} is no JSON: ${error.message}.`)
    throw error
  }
}

/** Checks one entry and returns it. */
export function checkServer(name: string, config: unknown, file: string): McpServerConfig {
  const problem = serverProblem(name, config)
  if (problem === undefined) return config as McpServerConfig
  throw new PawlError(
    'config_invalid',
    `${file}, server '${name.slice(0, 80)}': ${problem}${problem.endsWith('?') ? '' : '.'}`,
  )
}

/** The fault of an entry, without a full stop. */
export function serverProblem(name: string, config: unknown): string | undefined {
  if (!serverName.test(name))
    return 'the name must be 1 to 40 characters of A-Z a-z 0-9 _ -, beginning with a letter or digit'
  const problem = optionProblem(config, serverConfigOptions, name)
  if (problem !== undefined)
    return problem.replace(/^The options of `[^`]*` are (.*); they must/, 'the entry is $1; it must')
  const { command, url, args = [], tools = [], env, headers } = config as McpServerConfig
  if (command === undefined && url === undefined) return '`command` or `url` is missing'
  if (command !== undefined && url !== undefined) return '`command` and `url` exclude each other'
  if (args.length > maxArguments || tools.length > maxArguments)
    return `\`args\` and \`tools\` have at most ${maxArguments} entries`
  try {
    // Variables that are missing here may be set where the gateway runs.
    const withoutValues = { ...(env ? { env: {} } : {}), ...(headers ? { headers: {} } : {}) }
    readServerConfig(name, { ...(config as McpServerConfig), ...withoutValues })
    return undefined
  } catch (error) {
    return (error as Error).message.replace(/^The MCP server "[^"]*": /, '').replace(/\.$/, '')
  }
}

export const inexactText = (written: string): string =>
  `the number ${written} is larger than JavaScript can hold exactly (2^53). Write it as a string.`

/** The variables that an entry needs and this process does not have. */
export function missingVariables(
  { env = {}, headers = {} }: McpServerConfig,
  variables: Readonly<Record<string, string | undefined>>,
): string[] {
  const names = [...Object.values(env), ...Object.values(headers)].flatMap((value) =>
    [...value.matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g)].map(([, name = '']) => name),
  )
  return [...new Set(names)].filter((name) => (variables[name] ?? '') === '')
}
