// Opens the directory in which shell commands start. It is guaranteed to be inside the session's folder, even if
// another process swaps symbolic links at the same time.
//
// The directory is opened first, and its real path is read from the open handle. The program then starts in the handle,
// not in the path. Links that stay inside the folder are followed.

import { constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fail, type ToolFailure } from '../../core/outcome.ts'

export interface WorkingFolder {
  /** Path to start in; valid until close(). */
  readonly path: string
  /** Real path of the session's folder. */
  readonly root: string
  close(): Promise<void>
}

const { O_DIRECTORY, O_RDONLY } = constants

const invalidWorkingDir = (more = ''): ToolFailure =>
  fail(`working_dir must be a directory inside the workspace${more}`, {
    code: 'working_dir_invalid',
    class: 'invalid_request',
  })

export async function openWorkingFolder(folder: string, requested: string): Promise<WorkingFolder> {
  const root = await realpath(folder).catch((cause: unknown) => {
    throw fail('The workspace folder of this session does not exist', {
      code: 'workspace_unavailable',
      class: 'unavailable',
      cause,
    })
  })
  const path = join(root, workspacePath(requested))
  if (!isWithin(path, root)) throw invalidWorkingDir()
  let handle: FileHandle
  try {
    handle = await open(path, O_RDONLY | O_DIRECTORY)
  } catch (cause) {
    const note = requested.startsWith('/') ? '. Paths start at the top of the workspace, not of the machine' : ''
    throw fail(`There is no directory ${JSON.stringify(requested.slice(0, 200))} in the workspace${note}`, {
      code: 'working_dir_invalid',
      class: 'invalid_request',
      cause,
    })
  }
  try {
    const opened = `/proc/self/fd/${handle.fd}`
    // Without /proc the path is resolved again; a link that is swapped after that is not detected.
    const shown = await readlink(opened).catch(() => undefined)
    const real = shown ?? (await realpath(path))
    if (!isWithin(real, root)) throw invalidWorkingDir()
    return { path: shown === undefined ? real : opened, root, close: () => handle.close() }
  } catch (error) {
    await handle.close()
    throw error
  }
}

const isWithin = (path: string, root: string): boolean =>
  path === root || path.startsWith(root === sep ? sep : root + sep)

/** Control, format and line separator characters: a path with these reads differently from what it is. */
const hiddenCharacters = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

/**
 * `x`, `/x` and `/workspace/x` are the same path, as for the file tools. Throws if the path can never be a directory
 * inside the workspace.
 */
export function workspacePath(requested: string): string {
  if (hiddenCharacters.test(requested))
    throw invalidWorkingDir('; it must not contain line breaks, control characters or invisible characters')
  const parts = requested.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw invalidWorkingDir()
  if (requested.startsWith('/') && parts[0] === 'workspace') parts.shift()
  return parts.join('/')
}
