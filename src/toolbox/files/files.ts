// box.files(): the files of the session, wherever the host keeps them (in the store, or in a real folder).
//
// Reading tools run side by side. Those that change something exclude each other within the session, and each may run again after a crash.

import type { Tool } from '../../tools/tool.ts'
import { deleteFile } from './delete-file.ts'
import { editFile } from './edit-file.ts'
import { grepFiles } from './grep-files.ts'
import { listDirectory } from './list-directory.ts'
import { readFile } from './read-file.ts'
import { statFile } from './stat-file.ts'
import { writeFile } from './write-file.ts'

export const files = (): Tool[] => [readFile, writeFile, editFile, listDirectory, grepFiles, deleteFile, statFile]
