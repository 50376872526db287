// The record of an import: what was moved from a host's file to the servers file, and the original as a backup beside
// it. It is written before anything else, so that `pawl mcp restore` can undo an import that stopped anywhere.

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { McpServerConfig } from '../../client/server-config.ts'
import { digestOf, HostFileError, readTextFile, removeTextFile, replaceTextFile } from './atomic-file.ts'
import type { HostFile } from './host-files.ts'

export interface ImportRecord {
  readonly v: 1
  readonly host: string
  /** The host's file, behind links. */
  readonly file: string
  readonly mode: number
  /** Digest of the original; null if there was no file. */
  readonly original: string | null
  /** Digest of what the import wrote. If the file has another one, someone changed it since. */
  readonly written: string
  readonly serversFile: string
  /** Digest of the servers file if the import made it; null if it existed before. */
  readonly madeServersFile: string | null
  readonly entries: Readonly<Record<string, McpServerConfig>>
}

export interface RecordFiles {
  readonly record: string
  readonly backup: string
}

export function recordFiles({ host, scope, folder }: HostFile): RecordFiles {
  const name = scope === 'user' && host !== 'claude-desktop' ? `${host}-user` : host
  const base = join(folder, '.pawl', 'imports', name)
  return { record: `${base}.json`, backup: `${base}.backup` }
}

export function readRecord({ record }: Pick<RecordFiles, 'record'>): ImportRecord | null {
  const { text } = readTextFile(record)
  if (text === null) return null
  let value: ImportRecord
  try {
    value = JSON.parse(text) as ImportRecord
  } catch {
    throw new HostFileError(`${record} is damaged: it is no JSON. The backup of the host's file is beside it.`)
  }
  if (value.v !== 1) throw new HostFileError(`${record} was written by a newer release of Pawl.`)
  return value
}

/** The backup comes first: a record without it could not be undone. */
export function writeRecord(files: RecordFiles, record: ImportRecord, original: string | null): void {
  if (original !== null) replaceTextFile({ ...readTextFile(files.backup), mode: 0o600 }, original)
  replaceTextFile({ ...readTextFile(files.record), mode: 0o600 }, `${JSON.stringify(record, null, 2)}\n`)
}

/** The original text; null if the host had no file. */
export function readBackup({ backup }: RecordFiles, { original, file }: ImportRecord): string | null {
  if (original === null) return null
  const { text } = readTextFile(backup)
  if (text !== null && digestOf(text) === original) return text
  throw new HostFileError(`The backup ${backup} is missing or was changed, so ${file} was left as it is.`)
}

export function removeRecord({ record, backup }: RecordFiles): void {
  removeTextFile(record)
  removeTextFile(backup)
}

/** The servers that other imports of this folder need. */
export function entriesOfOthers({ record }: RecordFiles, serversFile: string): ReadonlySet<string> {
  const folder = join(record, '..')
  if (!existsSync(folder)) return new Set()
  const names = readdirSync(folder).filter((name) => name.endsWith('.json') && join(folder, name) !== record)
  const others = names.flatMap((name) => readRecord({ record: join(folder, name) }) ?? [])
  return new Set(
    others.filter((each) => each.serversFile === serversFile).flatMap(({ entries }) => Object.keys(entries)),
  )
}
