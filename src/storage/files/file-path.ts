// The canonical form of a file path. Every path from a caller is normalized or rejected here, and no other module
// parses path text: equal paths are one file, and no name in the result has a special meaning for any file system.

import { PawlError } from '../../core/errors.ts'
import { utf8Bytes } from '../../core/size-limits.ts'

export interface FilePath {
  /** The names from the root down, in Unicode normal form C; empty for the root. */
  readonly parts: readonly string[]
  /** The path as text; parsing it gives the same path again. */
  readonly path: string
}

/** The directory of the runtime's own files; read-only for everyone else. */
export const reservedDirectory = '.background'
/** The root under another name: `x`, `/x` and `/workspace/x` are the same file. */
const mount = 'workspace'

/** A path is part of a row key, and PostgreSQL limits index keys to 2,704 bytes. */
const maxPathBytes = 1024
/** Checked before any processing. */
const maxInputLength = 16_384
const maxNameBytes = 255
const maxDepth = 64

/** Prefix of temporary files: one that is left over belongs to an unfinished write and is removed. */
export const temporaryPrefix = '.pawl-unfinished-'

export const fileNotFound = ({ path }: FilePath): PawlError =>
  new PawlError('file_not_found', `There is no '${path}' in this session. List the directory to see its entries.`)

export function filePath(given: unknown): FilePath {
  const refuse = (why: string): never => {
    throw new PawlError('file_path_invalid', `The path ${why}.`, { details: { why } })
  }
  if (typeof given !== 'string') return refuse('is not a string')
  if (given.length > maxInputLength) return refuse(`has more than ${maxPathBytes} bytes`)
  if (!given.isWellFormed()) return refuse('contains a lone surrogate')
  const text = given.normalize('NFC')
  const parts: string[] = text.startsWith('/') ? [] : [mount]
  for (const name of text.split('/')) {
    if (name === '' || name === '.') continue
    // '..' at the root stays at the root.
    if (name === '..') {
      parts.pop()
      continue
    }
    const problem = nameProblem(name)
    if (problem) refuse(problem)
    parts.push(name)
  }
  if (parts[0] === mount) parts.shift()
  const path = pathOf(parts)
  const tooLong = lengthProblem(path)
  if (tooLong) refuse(tooLong)
  return path
}

/** The problem of a path that is too long or too deep; undefined if there is none. */
export function lengthProblem({ parts, path }: FilePath): string | undefined {
  if (parts.length > maxDepth) return `has more than ${maxDepth} names`
  return utf8Bytes(path) > maxPathBytes ? `has more than ${maxPathBytes} bytes` : undefined
}

/**
 * Builds a path from normalized names. Parsing removes one leading mount name, so if the first name equals the mount,
 * the mount is written in front of it.
 */
export const pathOf = (parts: readonly string[]): FilePath => ({
  parts,
  path: `/${(parts[0] === mount ? [mount, ...parts] : parts).join('/')}`,
})

export const parentOf = ({ parts }: FilePath): FilePath => pathOf(parts.slice(0, -1))
export const baseName = ({ parts }: FilePath): string => parts.at(-1) ?? '/'

/** All directories above a path, without the root. */
export const ancestorsOf = ({ parts }: FilePath): FilePath[] =>
  parts.slice(0, -1).map((_, at) => pathOf(parts.slice(0, at + 1)))

/** Ignores case, because in a case-insensitive folder another spelling would be the same directory. */
export const isReserved = ({ parts }: FilePath): boolean => parts[0]?.toLowerCase() === reservedDirectory

export const isWithin = (inner: FilePath, outer: FilePath): boolean =>
  inner.parts.length >= outer.parts.length && outer.parts.every((name, at) => inner.parts[at] === name)

/** Control, invisible and bidirectional characters: with them two names could look the same. */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u
/** Windows opens a device for these names in any folder, with any extension. Rejected everywhere, for portability. */
const windowsDevice = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|$)/i

/** Why a string is not a valid file or directory name; undefined if it is. */
export function nameProblem(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..' || name.includes('/')) return 'contains an invalid name'
  if (!name.isWellFormed() || name.normalize('NFC') !== name)
    return 'contains a name that is not in Unicode normal form C'
  const hidden = invisible.exec(name)?.[0]
  if (hidden !== undefined) return `contains the invisible character ${codeOf(hidden)}`
  if (name.includes('\\')) return 'contains a backslash; separate names with /'
  if (/[\s.]$/u.test(name)) return 'contains a name that ends in a space or a dot'
  if (/^\s/u.test(name)) return 'contains a name that begins with a space'
  if (windowsDevice.test(name)) return `contains a name that is a device on Windows ('${name}')`
  if (name.toLowerCase().startsWith(temporaryPrefix)) return `contains a name that begins with '${temporaryPrefix}'`
  if (utf8Bytes(name) > maxNameBytes) return `contains a name of more than ${maxNameBytes} bytes`
  return undefined
}

const codeOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
