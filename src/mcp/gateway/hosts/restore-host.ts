// `pawl mcp restore`: undoes an import, whole or stopped anywhere. An unchanged file gets its original bytes back. In a
// file that was changed since, only the gateway's entry is replaced by the original ones.

import { isDeepStrictEqual } from 'node:util'
import type { McpServerConfig } from '../../client/server-config.ts'
import { changeObject, RawJson } from '../json-edit.ts'
import { memberOf, parseJsonText } from '../json-text.ts'
import { readServersFile } from '../servers-file.ts'
import {
  digestOf,
  discardTemporary,
  HostFileError,
  readTextFile,
  removeTextFile,
  replaceTextFile,
  requireUnchanged,
} from './atomic-file.ts'
import { isGatewayEntry } from './host-entries.ts'
import { type HostFile, serversFilesOf } from './host-files.ts'
import {
  entriesOfOthers,
  type ImportRecord,
  readBackup,
  readRecord,
  type RecordFiles,
  recordFiles,
  removeRecord,
} from './import-record.ts'
import { serversOf } from './import-servers.ts'

export interface RestorePlan {
  readonly file: string
  readonly serversFile: string
  /** `original`: the file gets its bytes back. `merged`: it was changed since. `unchanged`: it is as it was. */
  readonly result: 'original' | 'merged' | 'unchanged'
  /** Servers that return to the host. */
  readonly returned: readonly string[]
  /** Servers that stay in the servers file too, with the reason. */
  readonly kept: readonly { readonly name: string; readonly why: string }[]
  apply(): void
}

export function planRestore(host: HostFile): RestorePlan {
  const files = recordFiles(host)
  const record = readRecord(files)
  if (record === null)
    throw new HostFileError(`${host.file} was not imported, or is restored already. Nothing was written.`)
  requireOwnPaths(host, record)
  const original = readBackup(files, record)
  const current = readTextFile(record.file, record.mode)
  const hostText = restoredText(host, record, current.text, original)
  const servers = readTextFile(record.serversFile)
  const { text: serversText, kept } = withoutEntries(files, record, servers.text)
  return {
    file: record.file,
    serversFile: record.serversFile,
    result: hostText === current.text ? 'unchanged' : hostText === original ? 'original' : 'merged',
    returned: Object.keys(record.entries),
    kept,
    apply() {
      requireUnchanged(current, servers)
      // The host first: a server must not be in neither file when this stops in between.
      if (hostText === null) removeTextFile(current.path)
      else if (hostText !== current.text) replaceTextFile({ ...current, mode: current.mode }, hostText)
      if (serversText === null) removeTextFile(servers.path)
      else if (serversText !== servers.text) replaceTextFile(servers, serversText)
      for (const path of [current.path, servers.path, files.record, files.backup]) discardTemporary(path)
      removeRecord(files)
    },
  }
}

/** A record may come with a project of someone else, and must not direct a write to another file. */
function requireOwnPaths(host: HostFile, { file, serversFile }: ImportRecord): void {
  const own = [readTextFile(host.file).path, ...serversFilesOf(host)]
  for (const path of [file, serversFile])
    if (!own.includes(path))
      throw new HostFileError(`The record of the import names ${path}, which is not a file of it. Nothing was written.`)
}

/** The text that the host's file gets; null removes it. */
function restoredText(
  host: HostFile,
  { file, written, entries }: ImportRecord,
  current: string | null,
  original: string | null,
): string | null {
  if (current === null || current === original || digestOf(current) === written) return original
  const target = { ...host, file }
  const members = serversOf(current, target)
  const gateway = members.filter((member) => isGatewayEntry(member)).map(({ key }) => key)
  const present = new Set(members.map(({ key }) => key))
  const add = originalEntries(original ?? '', target).filter(([name]) => name in entries && !present.has(name))
  return changeObject(current, { path: [host.key], remove: gateway, add })
}

function originalEntries(text: string, host: HostFile): [string, RawJson][] {
  return serversOf(text, host).map((member) => {
    const lineStart = text.lastIndexOf('\n', member.start) + 1
    const margin = /^[ \t]*/.exec(text.slice(lineStart, member.start))?.[0] ?? ''
    return [member.key, new RawJson(text.slice(member.node.start, member.node.end), margin)]
  })
}

function withoutEntries(
  files: RecordFiles,
  { entries, serversFile, madeServersFile }: ImportRecord,
  text: string | null,
): { readonly text: string | null; readonly kept: RestorePlan['kept'] } {
  if (text === null) return { text, kept: [] }
  const present = new Map<string, McpServerConfig>()
  for (const { name, config } of readServersFile(text, serversFile).servers) present.set(name, config)
  const others = entriesOfOthers(files, serversFile)
  const kept: { name: string; why: string }[] = []
  const remove = Object.entries(entries).flatMap(([name, config]) => {
    const now = present.get(name)
    if (now === undefined) return []
    if (others.has(name)) kept.push({ name, why: 'another host needs it' })
    else if (isDeepStrictEqual({ ...now }, { ...config })) return [name]
    else kept.push({ name, why: 'it was changed since' })
    return []
  })
  const rest = changeObject(text, { path: ['mcpServers'], remove, add: [] })
  const root = parseJsonText(rest)
  const isEmpty = root.members.length === 1 && memberOf(root, 'mcpServers')?.node.members.length === 0
  return { text: isEmpty && digestOf(text) === madeServersFile ? null : rest, kept }
}
