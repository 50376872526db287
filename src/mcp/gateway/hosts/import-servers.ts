// `pawl mcp import`: moves the servers of a host to the servers file and points the host at the gateway. A plan is made
// first, so that a person can see it; nothing is written before.

import { isDeepStrictEqual } from 'node:util'
import type { McpServerConfig } from '../../client/server-config.ts'
import { changeObject } from '../json-edit.ts'
import { type JsonMember, JsonTextError, memberOf, parseJsonText } from '../json-text.ts'
import { readServersFile } from '../servers-file.ts'
import {
  digestOf,
  HostFileError,
  readTextFile,
  replaceTextFile,
  requireUnchanged,
  type TextFile,
} from './atomic-file.ts'
import { isGatewayEntry, readEntry, type StayingEntry, type TakenEntry } from './host-entries.ts'
import type { HostFile } from './host-files.ts'
import { type ImportRecord, readRecord, recordFiles, writeRecord } from './import-record.ts'

/** The name of the gateway among the servers of a host. */
export const gatewayName = 'pawl'

/** The plan of an import. */
export interface ImportPlan {
  readonly file: string
  readonly serversFile: string
  readonly backup: string
  readonly moved: readonly TakenEntry[]
  readonly staying: readonly StayingEntry[]
  /** The entry of the gateway. */
  readonly added: object
  /** Writes the backup, the servers file and the host's file, in this order. */
  apply(): void
}

export interface ImportOptions {
  readonly host: HostFile
  readonly serversFile: string
  /** The mode of a servers file that does not exist yet. */
  readonly serversMode: number
  readonly gatewayEntry: object
  /** False: only the gateway is added, and the servers of the host stay. */
  readonly moveServers: boolean
}

export function planImport({ host, serversFile, serversMode, gatewayEntry, moveServers }: ImportOptions): ImportPlan {
  const before = readTextFile(host.file, host.scope === 'user' ? 0o600 : 0o644)
  if (before.text === null && moveServers)
    throw new HostFileError(`There is no ${host.file}, so ${host.host} has no servers to import.`)
  const files = recordFiles(host)
  const earlier = readRecord(files)
  const text = before.text ?? ''
  const members = serversOf(text, host)
  const gateway = members.find((member) => isGatewayEntry(member))
  if (gateway) {
    const others = members.filter((member) => member !== gateway && 'config' in readEntry(text, member))
    throw new HostFileError(alreadyText(host, earlier, others.length))
  }
  const isTaken = members.some(({ key }) => key === gatewayName)
  if (isTaken) throw new HostFileError(`${host.file} has a server named '${gatewayName}' already. Rename it first.`)
  const entries = moveServers ? members.map((member) => readEntry(text, member)) : []
  const moved = entries.filter((entry) => 'config' in entry)
  const staying = entries.filter((entry) => 'why' in entry)
  if (moveServers && moved.length === 0) throw new HostFileError(nothingText(host, staying))
  const servers = readTextFile(serversFile, serversMode)
  const remove = moved.map(({ name }) => name)
  const hostText = changeObject(text, { path: [host.key], remove, add: [[gatewayName, gatewayEntry]] })
  const serversText = withServers(servers, moved, serversFile)
  const made = servers.text === null || earlier?.madeServersFile === digestOf(servers.text)
  const record: ImportRecord = {
    v: 1,
    host: host.host,
    file: before.path,
    mode: before.mode,
    original: before.text === null ? null : digestOf(before.text),
    written: digestOf(hostText),
    serversFile,
    madeServersFile: made ? digestOf(serversText) : null,
    entries: Object.fromEntries(moved.map(({ name, config }) => [name, config])),
  }
  return {
    file: host.file,
    serversFile,
    backup: files.backup,
    moved,
    staying,
    added: gatewayEntry,
    apply() {
      requireUnchanged(before, servers)
      writeRecord(files, record, before.text)
      // A file of a person's secrets must not become readable by others.
      if (serversText !== servers.text) replaceTextFile({ ...servers, mode: servers.mode & before.mode }, serversText)
      replaceTextFile(before, hostText)
    },
  }
}

export function serversOf(text: string, { file, key }: HostFile): readonly JsonMember[] {
  if (text.trim() === '') return []
  try {
    const root = parseJsonText(text)
    const servers = memberOf(root, key)
    if (root.kind !== 'object') throw new JsonTextError('it is no object')
    if (servers && servers.node.kind !== 'object') throw new JsonTextError(`\`${key}\` is no object`)
    return servers?.node.members ?? []
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error
    throw new HostFileError(`${file} cannot be edited: ${error.message}. Nothing was written.`)
  }
}

function withServers({ text }: TextFile, moved: readonly TakenEntry[], file: string): string {
  const present = new Map<string, McpServerConfig>()
  if (text !== null) for (const { name, config } of readServersFile(text, file).servers) present.set(name, config)
  const added = moved.filter(({ name, config }) => {
    if (!present.has(name)) return true
    // An import that was stopped has copied it already.
    if (isDeepStrictEqual({ ...present.get(name) }, { ...config })) return false
    throw new HostFileError(
      `${file} has a server '${name}' already, with other settings. Rename one of them. Nothing was written.`,
    )
  })
  return changeObject(text ?? '', {
    path: ['mcpServers'],
    remove: [],
    add: added.map(({ name, config }) => [name, config]),
  })
}

function alreadyText(host: HostFile, earlier: ImportRecord | null, others: number): string {
  const { file, host: name, scope } = host
  const flag = scope === 'user' && name !== 'claude-desktop' ? ' --user' : ''
  const restore = `\`pawl mcp restore ${name}${flag}\``
  const first = `${file} is imported already: it names the gateway.`
  if (earlier === null) return `${first} Nothing was written.`
  if (others > 0) return `${first} It has ${others} more. To move them too: ${restore}, then import again.`
  const user = scope === 'project' ? ' --user imports those of your account.' : ''
  return `${first} ${restore} undoes it.${user}`
}

function nothingText({ file }: HostFile, staying: readonly StayingEntry[]): string {
  const [first] = staying
  if (first === undefined) return `${file} names no MCP servers. Nothing was written.`
  const list = staying.map(({ name, why }) => `'${name.slice(0, 80)}': ${why}`).join('; ')
  return `The gateway can take no server of ${file}. Nothing was written. ${list}.`
}
