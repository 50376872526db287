// A folder for files with something beside it that nobody may reach, and how to see whether anybody did.

import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const secret = 'CANARY: nobody reads this from inside'

export interface Ground {
  readonly place: string
  readonly root: string
  readonly outside: string
  /** Of all there is beside the root: names, contents, modes, times of change. */
  trace(): string
  end(): void
}

export function ground(): Ground {
  // In memory where there is such a place: what is tested here is where things go, not that they last.
  const place = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'pawl-ground-'))
  const [root, outside, evil] = [join(place, 'root'), join(place, 'outside'), join(place, 'root-evil')]
  for (const each of [root, outside, evil, join(outside, 'deep')]) mkdirSync(each)
  for (const each of [join(outside, 'canary'), join(outside, 'deep/canary'), join(evil, 'canary'), join(place, 'canary')])
    writeFileSync(each, secret)
  symlinkSync(join(outside, 'canary'), join(outside, 'link'))
  const traceOf = (path: string): string => {
    const stats = lstatSync(path)
    const own = `${path} ${stats.mode} ${stats.nlink} ${stats.size} ${stats.mtimeMs} ${stats.ctimeMs}`
    if (stats.isFile()) return `${own} ${readFileSync(path, 'utf8')}`
    if (!stats.isDirectory()) return own
    const names = readdirSync(path).filter((name) => join(path, name) !== root)
    return [path === place ? names.join() : own, ...names.map((name) => traceOf(join(path, name)))].join('\n')
  }
  return {
    place,
    root,
    outside,
    trace: () => createHash('sha256').update(traceOf(place)).digest('hex'),
    end: () => rmSync(place, { recursive: true, force: true }),
  }
}
