// A process that swaps directories and files of a folder for links to the outside and back, as fast as it can.

import { renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'

const [root = '', outside = ''] = process.argv.slice(2)
let swaps = 0

/** Ignores failures caused by concurrent operations; the next round tries again. */
const attempt = (work: () => void): void => {
  try {
    work()
  } catch {}
}

function swap(name: string, target: string): void {
  const [path, aside, link] = [join(root, name), join(root, `${name}-aside`), join(root, `${name}-link`)]
  attempt(() => symlinkSync(target, link))
  attempt(() => renameSync(path, aside))
  attempt(() => renameSync(link, path))
  attempt(() => unlinkSync(path))
  try {
    renameSync(aside, path)
  } catch {
    // A new entry was created at the path meanwhile; from now on that one is swapped.
    rmSync(aside, { recursive: true, force: true })
  }
  swaps++
}

function round(): void {
  for (let n = 0; n < 200; n++) {
    swap('d', outside)
    swap('d/deep', join(outside, 'deep'))
    swap('f', join(outside, 'canary'))
  }
  setImmediate(round)
}

process.on('message', () => process.send?.({ swaps }))
process.on('disconnect', () => process.exit())
process.send?.({ swaps })
round()
