// Processes that left their group are known by a mark in their environment, which they hand on to all they start. Linux tells it
// in /proc; where there is no /proc nothing is found.

import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { systemClock } from '../kernel/time.ts'

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
/** Between two looks when not everything could be read. */
const pauseUnread = 25

/** When a process began, in ticks of the system; 0, as if ever since, when that cannot be read now; undefined where there is no /proc. */
export function beganAt(pid: number): number | undefined {
  try {
    return statOf(readFileSync(`/proc/${pid}/stat`, 'utf8')).began
  } catch (error) {
    return isGone(error) ? undefined : 0
  }
}

/** Its name may hold spaces and brackets; what follows the last bracket is plain. */
function statOf(text: string): { over: boolean; began: number } {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { over: fields[0] === 'Z' || fields[0] === 'X', began: Number(fields[19]) }
}

const gone = new Set(['ENOENT', 'ESRCH'])
const notOurs = new Set(['EACCES', 'EPERM'])
const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''
const isGone = (error: unknown): boolean => gone.has(codeOf(error))

/**
 * Kills whatever carries the mark of a run that began at `since`, until nothing does. False if something may be left: there was always another one, or
 * not everything could be read, say because no file handle was free.
 */
export async function killMarked(run: string, since: number | undefined): Promise<boolean> {
  if (since === undefined) return true
  const wanted = Buffer.from(`${mark}=${run}`)
  for (let looks = 0, without = 0, unclear = 0; looks < mostLooks; looks++) {
    const found = await lookOnce(wanted, since)
    without = found.has('killed') || found.has('unread') || (found.has('unclear') && ++unclear <= mostUnclear) ? 0 : without + 1
    if (without === looksWithoutAny) return true
    if (found.has('unread')) await new Promise<void>((resolve) => void systemClock.timer(pauseUnread, resolve))
  }
  return false
}

type Found = 'killed' | 'unclear' | 'other' | 'unread'

async function lookOnce(wanted: Buffer, since: number): Promise<Set<Found>> {
  let pids: string[]
  try {
    pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  } catch {
    return new Set(['unread'])
  }
  const found = new Set<Found>()
  // What could not be read is tried again with fewer handles, at last with one.
  for (let width = together; pids.length > 0; width = width >> 2) {
    const unread: string[] = []
    for (let at = 0; at < pids.length; at += width) {
      const some = pids.slice(at, at + width)
      for (const [nth, what] of (await Promise.all(some.map((pid) => killIfMarked(pid, wanted, since)))).entries()) {
        if (what === 'unread' && width > 1) unread.push(some[nth] as string)
        else found.add(what)
      }
    }
    pids = unread
  }
  return found
}

async function killIfMarked(pid: string, wanted: Buffer, since: number): Promise<Found> {
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
  } catch (error) {
    return isGone(error) || notOurs.has(codeOf(error)) ? 'other' : 'unread'
  }
}
