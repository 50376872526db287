// `pawl/box`: tools that are ready to be given to a model (BOX-1), and what such tools are made of.
//
// Each capability is a folder: its tools, a file each, and the function that gives them. A new one joins by a line in `parts`; one that must
// be asked for by name (a shell) by a line in `box` alone.

import { readOutputTool } from '../tools/read-output-tool.ts'
import type { Tool } from '../tools/tool.ts'
import { echo } from './samples/echo.ts'
import { files } from './files/files.ts'
import { math } from './samples/math.ts'
import { progress } from './progress/progress.ts'
import { questionTools as questions } from './questions/questions.ts'
import { secretTools as secrets } from './secrets/secrets.ts'
import { time } from './time/time.ts'
import { todos } from './todos/todos.ts'
import { shellTools as shell } from './shell/shell.ts'
import { valueTools as values } from './values/values.ts'
import { weather } from './samples/weather.ts'
import { webTools as web } from './web/web.ts'

export { type ProcessEnd, type ProcessOptions, runProcess } from './processes/run-process.ts'

export type { SecretToolOptions } from './secrets/secrets.ts'
export type { ShellOptions } from './shell/shell.ts'
export type { WebOptions } from './web/web.ts'

const parts = { time, echo, progress, math, weather, todos, files, web }

/** How a model reads on in results that were too long to be shown whole (VAL-7). */
const outputs = (): Tool[] => [readOutputTool()]

/** For who asks for them: what a session remembers, and who may be asked; the whole of long results; a shell. */
const byCapability = { values, secrets, questions, outputs, shell }

/** All default tools: `createRuntime({ tools: box() })`. Its parts are `box.files()`, `box.web()` and so on; those by capability only there. */
export const box = Object.assign((): Tool[] => Object.values(parts).flatMap((part): readonly Tool[] => part()), {
  ...parts,
  ...byCapability,
})
