// All scripts of a hostile model with one or a few calls. Large batches are in call-floods.test.ts.

import { badArguments } from './argument-scripts.ts'
import { bodies } from './nested-call-and-replay-scripts.ts'
import { names } from './tool-name-scripts.ts'
import type { Script } from './attack-script.ts'
import { words } from './forged-text-scripts.ts'

export const scripts: readonly Script[] = [...names, ...badArguments, ...words, ...bodies]
