// The entries of a host's configuration: which of them the gateway can take, and how they are shown. What the gateway
// cannot do stays with the host, with the reason: an entry that is copied in part would be another server.

import type { McpServerConfig } from '../../client/server-config.ts'
import { inexactNumbers, type JsonMember, valueOf } from '../json-text.ts'
import { inexactText, serverProblem } from '../servers-file.ts'

export interface TakenEntry {
  readonly name: string
  readonly config: McpServerConfig
}

export interface StayingEntry {
  readonly name: string
  /** Completes "It stays with the host: …". */
  readonly why: string
}

const copiedKeys = ['command', 'args', 'env', 'cwd', 'url', 'headers', 'disabled'] as const
/** Approvals and descriptions of hosts; the policy of the gateway takes their place. */
const droppedKeys = new Set(['type', 'alwaysAllow', 'autoApprove', 'description'])
const transports = new Set(['stdio', 'http', 'streamable-http', 'streamableHttp'])

export function readEntry(text: string, { key: name, node }: JsonMember): TakenEntry | StayingEntry {
  const value = valueOf(node)
  const stays = (why: string): StayingEntry => ({ name, why })
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return stays('it is no object')
  const entry = value as Readonly<Record<string, unknown>>
  const [inexact] = inexactNumbers(text, node)
  if (inexact !== undefined) return stays(inexactText(inexact).replace(/\.$/, ''))
  const { type } = entry
  if (type !== undefined && (typeof type !== 'string' || !transports.has(type)))
    return stays(`the gateway has no transport ${JSON.stringify(type).slice(0, 80)}`)
  const unknown = Object.keys(entry).find((key) => !droppedKeys.has(key) && !copiedKeys.some((each) => each === key))
  if (unknown !== undefined) return stays(`the gateway does not know its key \`${unknown.slice(0, 80)}\``)
  const copied = copiedKeys.flatMap((key) => (entry[key] === undefined ? [] : [[key, plainVariables(entry[key])]]))
  const config = Object.fromEntries(copied) as McpServerConfig
  const problem = serverProblem(name, config) ?? variableProblem(config)
  return problem === undefined ? { name, config } : stays(problem)
}

/** Cursor writes `${env:NAME}` for `${NAME}`. */
function plainVariables(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      typeof each === 'string' ? each.replaceAll(/\$\{env:(\w+)\}/g, '${$1}') : each,
    ]),
  )
}

function variableProblem({ command = '', args = [], cwd = '', url = '', env = {}, headers = {} }: McpServerConfig) {
  if ([command, ...args, cwd, url].some((each) => each.includes('${')))
    return 'it has ${…} in a key other than `env` and `headers`, which the gateway does not replace'
  const values = [...Object.values(env), ...Object.values(headers)]
  return values.some((each) => each.replaceAll(/\$\{[A-Za-z_]\w*\}/g, '').includes('${'))
    ? 'it has a ${…} that is more than the name of a variable'
    : undefined
}

/** Whether an entry starts Pawl's gateway. Importing it would make the gateway call itself. */
export function isGatewayEntry({ node }: JsonMember): boolean {
  const { command, args } = (valueOf(node) ?? {}) as Record<string, unknown>
  const words = [command, ...(Array.isArray(args) ? (args as unknown[]) : [])].map(String)
  return words.includes('mcp') && words.some((word) => /(?:^|[/\\])(?:pawl(?:\.cmd)?|cli[/\\]main\.[jt]s)$/.test(word))
}

/** The entry without what may be secret: values of `env` and `headers`, and the query and password of an address. */
export function maskedEntry({ env, headers, url, args, ...rest }: McpServerConfig): McpServerConfig {
  const masked = (values: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, /^\$\{\w+\}$/.test(value) ? value : '****']))
  return {
    ...rest,
    ...(args === undefined ? {} : { args: maskedArguments(args) }),
    ...(url === undefined ? {} : { url: maskedAddress(url) }),
    ...(env === undefined ? {} : { env: masked(env) }),
    ...(headers === undefined ? {} : { headers: masked(headers) }),
  }
}

const secretFlag = /^--?[\w-]*(?:key|token|secret|pass|auth|header)[\w-]*/i
/** An assignment such as that of `docker run -e`, a header, or both in the command line of a shell. */
const secretAssignment =
  /([\w-]{0,64}(?:key|token|secret|pass|auth|credential|cookie)[\w-]{0,64}\s{0,9}[=:]\s{0,9})\S.*/gis
/** A variable that is set for a program: its name does not say what it is. */
const variableFlag = /^(?:-e|--env)$/

function maskedArguments(args: readonly string[]): string[] {
  return args.map((arg, index) => {
    const [flag = '', value] = arg.split('=', 2)
    if (secretFlag.test(arg) && value !== undefined) return `${flag}=****`
    if (variableFlag.test(flag) && value !== undefined) return `${flag}=${value}=****`
    if (value !== undefined && variableFlag.test(args[index - 1] ?? '')) return `${flag}=****`
    const before = args[index - 1] ?? ''
    if (secretFlag.test(before) && !before.includes('=') && !arg.startsWith('-')) return '****'
    return /^\w+:\/\//.test(arg) ? maskedAddress(arg) : arg.replace(secretAssignment, '$1****')
  })
}

function maskedAddress(address: string): string {
  if (!URL.canParse(address)) return '****'
  const url = new URL(address)
  if (url.password !== '') url.password = '****'
  if (url.username !== '') url.username = '****'
  // Also a query that is nothing but a secret.
  if (url.search !== '') url.search = url.search.replaceAll(/(?<=[?&])([^=&]*=)?[^&]*/g, '$1****')
  if (url.hash !== '') url.hash = '****'
  return url.href
}
