// Loaded with --import: writes the modules that the program loaded to the file in MODULES, when it exits.

import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'

const loaded: string[] = []
registerHooks({
  load(url, context, next) {
    loaded.push(url)
    return next(url, context)
  },
})
process.on('exit', () => writeFileSync(process.env.MODULES ?? '', JSON.stringify(loaded)))
