// A root folder with canary files beside it, and a check whether anything outside the root was touched.

import { createHash } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const secret = 'CANARY: nobody reads this from inside'

export interface Ground {
  readonly place: string
  readonly root: string
  readonly outside: string
  /** Digest of everything outside the root: names, contents, modes, modification times. */
  trace(): string
  end(): void
}

/** Links that lead out of the root, to themselves or nowhere: name in the root and target. */
export const escapeLinks = (outside: string, nowhere: string): Record<string, string> => ({
  'link-file': join(outside, 'canary'),
  'link-dir': outside,
  'link-abs': '/etc/passwd',
  'link-dangling': nowhere,
  'link-self': 'link-self',
  'link-up': '..',
  'd/link-up': '../../outside',
  'link-proc': '/proc/self',
})

export function ground(): Ground {
  // Uses /dev/shm if present: the tests check locations, not durability.
  const place = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'pawl-ground-'))
  const [root, outside, evil] = [join(place, 'root'), join(place, 'outside'), join(place, 'root-evil')]
  for (const each of [root, outside, evil, join(outside, 'deep')]) mkdirSync(each)
  for (const each of [
    join(outside, 'canary'),
    join(outside, 'deep/canary'),
    join(evil, 'canary'),
    join(place, 'canary'),
  ])
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
