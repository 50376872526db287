// Processes that left their group are known by a mark in their environment, which they hand on to all they start. Linux tells it
// in /proc; where there is no /proc nothing is found.

import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'

/** The name of the variable that holds the mark of a run. */
export const mark = 'PAWL_RUN'

/** So many are looked at together: each takes a file handle. */
const together = 64
/** How often is looked, some milliseconds each: a killed process takes a moment to die. */
const mostLooks = 40
/** In between one may have started another and ended, so once is not enough to know that there are none. */
const looksWithoutAny = 2
/** A process that is young and shows no environment at all is not waited for longer than this. */
const mostUnclear = 10

/** When a process began, in ticks of the system; undefined when it is over or cannot be told. */
export function beganAt(pid: number): number | undefined {
  try {
    return statOf(readFileSync(`/proc/${pid}/stat`, 'utf8')).began
  } catch {
    return undefined
  }
}

/** Its name may hold spaces and brackets; what follows the last bracket is plain. */
function statOf(text: string): { over: boolean; began: number } {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { over: fields[0] === 'Z' || fields[0] === 'X', began: Number(fields[19]) }
}

/** Kills whatever carries the mark of a run that began at `since`, until nothing does. */
export async function killMarked(run: string, since: number | undefined): Promise<void> {
  if (since === undefined) return
  const wanted = Buffer.from(`${mark}=${run}`)
  for (let looks = 0, without = 0, unclear = 0; looks < mostLooks && without < looksWithoutAny; looks++) {
    const names = await readdir('/proc').catch(() => [])
    const pids = names.filter((name) => /^\d+$/.test(name))
    const found = new Set<string>()
    for (let at = 0; at < pids.length; at += together) {
      for (const what of await Promise.all(pids.slice(at, at + together).map((pid) => killIfMarked(pid, wanted, since)))) found.add(what)
    }
    without = found.has('killed') || (found.has('unclear') && ++unclear <= mostUnclear) ? 0 : without + 1
  }
}

async function killIfMarked(pid: string, wanted: Buffer, since: number): Promise<'killed' | 'unclear' | 'other'> {
  try {
    const environment = await readFile(`/proc/${pid}/environ`)
    if (environment.includes(wanted)) {
      // At once, so that the number cannot have become another's.
      process.kill(Number(pid), 'SIGKILL')
      return 'killed'
    }
    if (environment.length > 0) return 'other'
    // Nothing is shown of one that has ended, of a thread of the kernel, and of one that is just becoming another program:
    // that one may be ours.
    const { over, began } = statOf(await readFile(`/proc/${pid}/stat`, 'utf8'))
    return over || began < since ? 'other' : 'unclear'
  } catch {
    return 'other' // gone, or not ours to read
  }
}
