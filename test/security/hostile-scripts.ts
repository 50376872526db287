// Everything a hostile model tries, one call or a few at a time; what it tries in crowds is in hostile-crowd.test.ts.

import { badArguments } from './hostile-arguments.ts'
import { bodies } from './hostile-bodies.ts'
import { names } from './hostile-names.ts'
import type { Script } from './hostile-script.ts'
import { words } from './hostile-words.ts'

export const scripts: readonly Script[] = [...names, ...badArguments, ...words, ...bodies]
