// FILES: the one form of a path. Whatever a caller gives is turned into it or refused here, and nothing else of Pawl looks at path text:
// what is equal here is one file, and what comes out has only names that mean nothing to any file system but themselves.

import { PawlError } from '../../core/errors.ts'
import { bytesIn } from '../../core/size-limits.ts'

export interface FilePath {
  /** The names from the root down; none for the root itself. In normal form C. */
  readonly parts: readonly string[]
  /** What people and models read, and may give back: it means the same path again. */
  readonly path: string
}

/** What the runtime keeps for itself: others may read there. */
export const reserved = '.background'
/** The root under another name: `x`, `/x` and `/workspace/x` are the same file. */
const mount = 'workspace'

/** A path is the key of a row: PostgreSQL has no longer keys in an index than 2,704 bytes. */
const mostBytes = 1024
/** Before anything is made of it. */
const mostGiven = 16_384
const mostNameBytes = 255
const mostDepth = 64

/** A name that begins so is a write that was not finished: files of nobody. */
export const unfinished = '.pawl-unfinished-'

export function filePath(given: unknown): FilePath {
  const refuse = (why: string): never => {
    throw new PawlError('file_path_invalid', `The path ${why}.`, { details: { why } })
  }
  if (typeof given !== 'string') return refuse('is not a text')
  if (given.length > mostGiven) return refuse(`has more than ${mostBytes} bytes`)
  if (!given.isWellFormed()) return refuse('has half a character in it')
  const text = given.normalize('NFC')
  const parts: string[] = text.startsWith('/') ? [] : [mount]
  for (const name of text.split('/')) {
    if (name === '' || name === '.') continue
    // At the root it stays there.
    if (name === '..') {
      parts.pop()
      continue
    }
    const problem = problemOf(name)
    if (problem) refuse(problem)
    parts.push(name)
  }
  if (parts[0] === mount) parts.shift()
  const path = pathOf(parts)
  const tooLong = tooLongIn(path)
  if (tooLong) refuse(tooLong)
  return path
}

/** Why a path is longer than one may be; undefined if it is not. */
export function tooLongIn({ parts, path }: FilePath): string | undefined {
  if (parts.length > mostDepth) return `has more than ${mostDepth} names`
  return bytesIn(path) > mostBytes ? `has more than ${mostBytes} bytes` : undefined
}

/** Of names that are in form already. One that is called as the root is, inside the root, is told with both. */
export const pathOf = (parts: readonly string[]): FilePath => ({
  parts,
  path: `/${(parts[0] === mount ? [mount, ...parts] : parts).join('/')}`,
})

export const parentOf = ({ parts }: FilePath): FilePath => pathOf(parts.slice(0, -1))
export const nameIn = ({ parts }: FilePath): string => parts.at(-1) ?? '/'

/** All the directories above a path, the root not among them. */
export const aboveOf = ({ parts }: FilePath): FilePath[] =>
  parts.slice(0, -1).map((_, at) => pathOf(parts.slice(0, at + 1)))

/** By whatever case: a folder that ignores case must not have it beside ours. */
export const isReserved = ({ parts }: FilePath): boolean => parts[0]?.toLowerCase() === reserved

export const isWithin = (inner: FilePath, outer: FilePath): boolean =>
  inner.parts.length >= outer.parts.length && outer.parts.every((name, at) => inner.parts[at] === name)

/** Controls, and what nobody sees or what turns the text around it: two names that look the same would be two files. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u
/** Windows opens a device for these in any folder, with any ending. Refused everywhere, so that files may move between machines. */
const device = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.|$)/i

/** Why this cannot be the name of a file or directory; undefined if it can. */
export function problemOf(name: string): string | undefined {
  if (name === '' || name === '.' || name === '..' || name.includes('/')) return 'has a name in it that is no name'
  if (!name.isWellFormed() || name.normalize('NFC') !== name) return 'has a name in it that is not in normal form C'
  const hidden = unseen.exec(name)?.[0]
  if (hidden !== undefined) return `has the character ${codeOf(hidden)} in it, which cannot be seen`
  if (name.includes('\\')) return 'has a backslash in it; names are parted by /'
  if (/[\s.]$/u.test(name)) return 'has a name in it that ends in a space or a dot'
  if (/^\s/u.test(name)) return 'has a name in it that begins with a space'
  if (device.test(name)) return `has a name in it that is a device on Windows ('${name}')`
  if (name.toLowerCase().startsWith(unfinished)) return `has a name in it that begins with '${unfinished}'`
  if (bytesIn(name) > mostNameBytes) return `has a name in it of more than ${mostNameBytes} bytes`
  return undefined
}

const codeOf = (character: string): string =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
