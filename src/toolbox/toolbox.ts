// `pawl/toolbox`: the default tools for models, whole or by capability.
//
// Each capability is a folder with a file per tool, and a function here that returns its tools. A new capability is added
// to `defaults`; one that an application must ask for by name (a shell) is added to `onRequest`.

import { readOutputTool } from '../tools/read-output-tool.ts'
import { markBuiltIn } from '../tools/tool-brand.ts'
import type { Tool } from '../tools/tool.ts'
import { deleteFile } from './files/delete-file.ts'
import { editFile } from './files/edit-file.ts'
import { grepFiles } from './files/grep-files.ts'
import { listDirectory } from './files/list-directory.ts'
import { readFile } from './files/read-file.ts'
import { statFile } from './files/stat-file.ts'
import { writeFile } from './files/write-file.ts'
import { reportProgress } from './progress/report-progress.ts'
import { askUser } from './questions/ask-user.ts'
import { secretStore, type SecretToolOptions } from './secrets/secret-store-tool.ts'
import { getCurrentTime } from './time/get-current-time.ts'
import { writeTodos } from './todos/write-todos.ts'
import { kvStore } from './values/kv-store-tool.ts'
import { shellTools as shell } from './shell/shell.ts'
import { samples } from './samples/samples.ts'
import { webTools as web } from './web/web.ts'

export { type ProcessEnd, type ProcessOptions, runProcess } from './processes/run-process.ts'

export type { SecretToolOptions }
export type { ShellOptions } from './shell/shell.ts'
export type { WebOptions } from './web/web.ts'

/** Marks the tools of a part as Pawl's own. */
const part =
  <Args extends unknown[]>(tools: (...args: Args) => readonly Tool[]) =>
  (...args: Args): Tool[] =>
    markBuiltIn(tools(...args))

const defaults = {
  /** The current time, which a model does not know by itself. */
  time: part(() => [getCurrentTime]),
  /** The model reports its progress to people. */
  progress: part(() => [reportProgress]),
  /** The model keeps a to-do list that people can see. */
  todos: part(() => [writeTodos]),
  /**
   * The files of the session, in the store or in a real folder. Reading tools run concurrently. Writing tools are
   * exclusive within the session, and each may rerun after a crash.
   */
  files: part(() => [readFile, writeFile, editFile, listDirectory, grepFiles, deleteFile, statFile]),
  /** `web_fetch`, which reads pages of the public internet; see WebOptions. */
  web: part(web),
}

/** Not among the default tools. */
const onRequest = {
  /** The model stores values in the session. */
  values: part(() => [kvStore]),
  /** The model stores secrets and passes them to tools by reference. Throws `config_invalid` for invalid options. */
  secrets: part((options: SecretToolOptions = {}) => [secretStore(options)]),
  /** The model asks its user questions. */
  questions: part(() => [askUser]),
  /** Reads the rest of a result that was too long to show in full. */
  outputs: part(() => [readOutputTool()]),
  /** `run_shell` and its companions, which run commands on this machine; see ShellOptions. */
  shell: part(shell),
  /** Small tools for tests and demos: arithmetic, echo and sample weather. */
  samples: part(samples),
}

const toolsOf = (parts: Readonly<Record<string, () => readonly Tool[]>>): Tool[] =>
  Object.values(parts).flatMap((each) => each())

/**
 * The default tools: `createRuntime({ tools: toolbox() })`. Its parts can be taken alone: `toolbox.files()`,
 * `toolbox.web()` and so on. `toolbox.all()` returns the default tools and the samples.
 */
export const toolbox = Object.assign((): Tool[] => toolsOf(defaults), {
  ...defaults,
  ...onRequest,
  all: (): Tool[] => toolsOf({ ...defaults, samples: onRequest.samples }),
})
