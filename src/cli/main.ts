#!/usr/bin/env node
// The bin `pawl`. It checks the Node version before it loads anything else: an older Node would fail at a random import.

// A namespace import: a named one that an older Node lacks would fail before the check.
import * as module from 'node:module'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`Pawl needs Node 22.18 or newer; this is Node ${process.versions.node}.`)
  process.exitCode = 2
} else {
  // Compiled code is kept between runs, so that the next command starts faster.
  module.enableCompileCache()
  const { runCli } = await import('./run.ts')
  await runCli(process.argv.slice(2))
}
