// Processes that left their group are known by two marks, which they hand on to all they start: a variable of their environment,
// and a limit that no system has heeded for twenty years, on how many file locks there may be (RLIMIT_LOCKS). An environment is wiped
// easily (`env -i`); a limit goes through that, and only root may raise it. Linux tells both in /proc; where there is no /proc nothing
// is found.

import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { systemClock } from '../../core/clock.ts'

/** The name of the variable that holds the mark of a run. */
export const mark = 'PAWL_RUN'

/** A name for a run: a number, so that it can be a limit, of always as many digits, so that none begins with another. */
export const newRun = (): string => String(randomInt(1e14, 2 ** 48 - 1))

/** Shell words that put the limit on whoever says them; bash has another letter for it than dash and busybox. Where there is none, so be it. */
export const limitLocks = (run: string): string => `{ ulimit -x ${run} || ulimit -w ${run}; } 2>/dev/null`

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
  const wanted = { variable: Buffer.from(`${mark}=${run}`), limit: Buffer.from(run) }
  const others = new Set<string>()
  for (let looks = 0, without = 0, unclear = 0; looks < mostLooks; looks++) {
    const found = await lookOnce(wanted, since, others)
    // Where processes come and go, numbers may be used again.
    if (found.has('killed')) others.clear()
    without =
      found.has('killed') || found.has('unread') || (found.has('unclear') && ++unclear <= mostUnclear) ? 0 : without + 1
    if (without === looksWithoutAny) return true
    if (found.has('unread')) await new Promise<void>((resolve) => void systemClock.timer(pauseUnread, resolve))
  }
  return false
}

type Found = 'killed' | 'unclear' | 'other' | 'unread'

interface Wanted {
  readonly variable: Buffer
  readonly limit: Buffer
}

/** Those that were seen to be others' are not looked at again, and are added to. */
async function lookOnce(wanted: Wanted, since: number, others: Set<string>): Promise<Set<Found>> {
  let pids: string[]
  try {
    pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && !others.has(name))
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
        if (what === 'other') others.add(some[nth] as string)
      }
    }
    pids = unread
  }
  return found
}

async function killIfMarked(pid: string, wanted: Wanted, since: number): Promise<Found> {
  try {
    const { over, began } = statOf(await readFile(`/proc/${pid}/stat`, 'utf8'))
    if (over || began < since) return 'other'
    const environment = await environmentOf(pid)
    if (environment?.includes(wanted.variable) || (await readFile(`/proc/${pid}/limits`)).includes(wanted.limit)) {
      // At once, so that the number cannot have become another's.
      process.kill(Number(pid), 'SIGKILL')
      return 'killed'
    }
    // Nothing is shown of a thread of the kernel, and of one that is just becoming another program: that one may be ours.
    return environment === null || environment.length > 0 ? 'other' : 'unclear'
  } catch (error) {
    return isGone(error) || notOurs.has(codeOf(error)) ? 'other' : 'unread'
  }
}

/** Null where it is not for us to read: its limits are for everybody. */
async function environmentOf(pid: string): Promise<Buffer | null> {
  try {
    return await readFile(`/proc/${pid}/environ`)
  } catch (error) {
    if (notOurs.has(codeOf(error))) return null
    throw error
  }
}
