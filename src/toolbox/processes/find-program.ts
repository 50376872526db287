// Where a program is, so that one that is missing is told from one that fails.

import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { PawlError } from '../../core/errors.ts'

export const standardPath = '/usr/local/bin:/usr/bin:/bin'

async function runs(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}

/** The full path of a program: as named, or the first of that name in `path`. Checks the folder it is to run in as well. */
export async function findProgram(file: string, path: string, cwd = process.cwd()): Promise<string> {
  const refuse = (why: string): never => {
    throw new PawlError('program_unavailable', why)
  }
  const folder = await stat(cwd).catch(() => undefined)
  if (!folder?.isDirectory()) return refuse(`There is no folder ${JSON.stringify(cwd)} to run it in.`)
  const places = file.includes('/')
    ? [resolve(cwd, file)]
    : path
        .split(':')
        .filter(Boolean)
        .map((place) => resolve(cwd, join(place, file)))
  if (file !== '') for (const place of places) if (await runs(place)) return place
  return refuse(
    file.includes('/')
      ? `${JSON.stringify(file)} is not a file that may be run.`
      : `There is no program ${JSON.stringify(file)} in the PATH ${JSON.stringify(path)}.`,
  )
}
