// SHELL: the directory that commands begin in: inside the session's folder, whatever links there are and whoever changes them meanwhile.
//
// It is opened first, and what was opened says where it is; then the program begins in what was opened, not in what its path means by then. Links that stay
// inside are followed: what a shell could enter with `cd` is no secret to it.

import { constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fail, type ToolFailure } from '../../core/outcome.ts'

export interface WorkingFolder {
  /** To begin in, while it is open. */
  readonly path: string
  /** Where the session's folder really is. */
  readonly root: string
  close(): Promise<void>
}

const { O_DIRECTORY, O_RDONLY } = constants

const outside = (): ToolFailure =>
  fail('working_dir must be a directory inside the workspace', {
    code: 'working_dir_invalid',
    class: 'invalid_request',
  })

export async function openWorkingFolder(folder: string, given: string): Promise<WorkingFolder> {
  const root = await realpath(folder).catch((cause: unknown) => {
    throw fail('The workspace folder of this session does not exist', {
      code: 'workspace_unavailable',
      class: 'unavailable',
      cause,
    })
  })
  const path = join(root, inWorkspace(given))
  if (!isWithin(path, root)) throw outside()
  let handle: FileHandle
  try {
    handle = await open(path, O_RDONLY | O_DIRECTORY)
  } catch (cause) {
    throw fail(`There is no directory ${JSON.stringify(given.slice(0, 200))} in the workspace`, {
      code: 'working_dir_invalid',
      class: 'invalid_request',
      cause,
    })
  }
  try {
    const opened = `/proc/self/fd/${handle.fd}`
    // Where there is no /proc the path is looked at once more: a link that is swapped right after that is not seen.
    const shown = await readlink(opened).catch(() => undefined)
    const real = shown ?? (await realpath(path))
    if (!isWithin(real, root)) throw outside()
    return { path: shown === undefined ? real : opened, root, close: () => handle.close() }
  } catch (error) {
    await handle.close()
    throw error
  }
}

const isWithin = (path: string, root: string): boolean =>
  path === root || path.startsWith(root === sep ? sep : root + sep)

/** `x`, `/x` and `/workspace/x` are the same, as for files. */
function inWorkspace(given: string): string {
  if (given.includes('\0')) throw outside()
  const parts = given.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw outside()
  if (given.startsWith('/') && parts[0] === 'workspace') parts.shift()
  return parts.join('/')
}
