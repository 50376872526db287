// Resolves a program to its path, so that a missing program is distinguishable from a failing one.

import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { PawlError } from '../../core/errors.ts'

export const standardPath = '/usr/local/bin:/usr/bin:/bin'

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

/** Returns the full path of a program: as named, or the first match in `path`. Throws if `cwd` is not a directory. */
export async function findProgram(file: string, path: string, cwd = process.cwd()): Promise<string> {
  const refuse = (why: string): never => {
    throw new PawlError('program_unavailable', why)
  }
  const folder = await stat(cwd).catch(() => undefined)
  if (!folder?.isDirectory()) return refuse(`The working directory ${JSON.stringify(cwd)} does not exist.`)
  const candidates = file.includes('/')
    ? [resolve(cwd, file)]
    : path
        .split(':')
        .filter(Boolean)
        .map((place) => resolve(cwd, join(place, file)))
  if (file !== '') for (const place of candidates) if (await isExecutable(place)) return place
  return refuse(
    file.includes('/')
      ? `${JSON.stringify(file)} is not an executable file.`
      : `There is no program ${JSON.stringify(file)} in the PATH ${JSON.stringify(path)}.`,
  )
}
