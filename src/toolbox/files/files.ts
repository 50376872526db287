// toolbox.files(): tools for the files of the session, whether they are in the store or in a real folder.
//
// Reading tools run concurrently. Writing tools are exclusive within the session, and each may rerun after a crash.

import type { Tool } from '../../tools/tool.ts'
import { deleteFile } from './delete-file.ts'
import { editFile } from './edit-file.ts'
import { grepFiles } from './grep-files.ts'
import { listDirectory } from './list-directory.ts'
import { readFile } from './read-file.ts'
import { statFile } from './stat-file.ts'
import { writeFile } from './write-file.ts'

export const files = (): Tool[] => [readFile, writeFile, editFile, listDirectory, grepFiles, deleteFile, statFile]
