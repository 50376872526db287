// Everything a hostile model tries, one call or a few at a time; what it tries in crowds is in hostile-crowd.test.ts.

import { badArguments } from './argument-scripts.ts'
import { bodies } from './nested-call-and-replay-scripts.ts'
import { names } from './tool-name-scripts.ts'
import type { Script } from './attack-script.ts'
import { words } from './forged-text-scripts.ts'

export const scripts: readonly Script[] = [...names, ...badArguments, ...words, ...bodies]
