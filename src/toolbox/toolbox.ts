// `pawl/toolbox`: the default tools for models, whole or by capability.
//
// Each capability is a folder with a file per tool and one function that returns its tools. A new capability is added
// to `defaults`; one that an application must ask for by name (a shell) is added to `onRequest`.

import { readOutputTool } from '../tools/read-output-tool.ts'
import type { Tool } from '../tools/tool.ts'
import { files } from './files/files.ts'
import { progress } from './progress/progress.ts'
import { questionTools as questions } from './questions/questions.ts'
import { secretTools as secrets } from './secrets/secrets.ts'
import { time } from './time/time.ts'
import { todos } from './todos/todos.ts'
import { shellTools as shell } from './shell/shell.ts'
import { valueTools as values } from './values/values.ts'
import { samples } from './samples/samples.ts'
import { webTools as web } from './web/web.ts'

export { type ProcessEnd, type ProcessOptions, runProcess } from './processes/run-process.ts'

export type { SecretToolOptions } from './secrets/secrets.ts'
export type { ShellOptions } from './shell/shell.ts'
export type { WebOptions } from './web/web.ts'

const defaults = { time, progress, todos, files, web }

/** Reads the rest of a result that was too long to show in full. */
const outputs = (): Tool[] => [readOutputTool()]

/** Not among the default tools: session values, secrets, questions to people, long results, a shell, samples. */
const onRequest = { values, secrets, questions, outputs, shell, samples }

const toolsOf = (parts: Readonly<Record<string, () => readonly Tool[]>>): Tool[] =>
  Object.values(parts).flatMap((part) => part())

/**
 * The default tools: `createRuntime({ tools: toolbox() })`. Its parts can be taken alone: `toolbox.files()`,
 * `toolbox.web()` and so on. `toolbox.all()` returns the default tools and the samples.
 */
export const toolbox = Object.assign((): Tool[] => toolsOf(defaults), {
  ...defaults,
  ...onRequest,
  all: (): Tool[] => toolsOf({ ...defaults, samples }),
})
