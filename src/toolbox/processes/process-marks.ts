// Finds and kills processes that left their process group. Every process of a run carries two marks that its children
// inherit: an environment variable, and RLIMIT_LOCKS, a limit that kernels have ignored for twenty years. `env -i`
// wipes the variable; the limit survives it, and only root may raise it. Linux shows both in /proc; without /proc
// nothing is found.

import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { systemClock } from '../../core/clock.ts'

/** The environment variable that holds the id of a run. */
export const runVariable = 'PAWL_RUN'

/** A run id is a number, so that it can be a limit, with a fixed digit count, so that no id is a prefix of another. */
export const newRunId = (): string => String(randomInt(1e14, 2 ** 48 - 1))

/**
 * A shell command that sets the limit. bash uses another letter than dash and busybox; shells without it are ignored.
 */
export const lockLimitCommand = (run: string): string => `{ ulimit -x ${run} || ulimit -w ${run}; } 2>/dev/null`

/** Processes inspected concurrently: each takes a file handle. */
const readsAtOnce = 64
/** A scan takes a few milliseconds, and a killed process needs a moment to disappear. */
const maxScans = 40
/** One empty scan proves nothing: during it a process may have started another and exited. */
const emptyScansNeeded = 2
/** Maximum number of extra scans for a new process whose environment is still empty. */
const maxUnclearScans = 10
/** Pause between two scans when some entries could not be read. */
const unreadPauseMs = 25

/** Start time of a process in clock ticks; 0 if it cannot be read now; undefined if there is no /proc entry. */
export function processStartTicks(pid: number): number | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).began
  } catch (error) {
    return isGone(error) ? undefined : 0
  }
}

/** The process name may contain spaces and parentheses, so the fields are read after the last parenthesis. */
function parseStat(text: string): { over: boolean; began: number } {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return { over: fields[0] === 'Z' || fields[0] === 'X', began: Number(fields[19]) }
}

const goneCodes = new Set(['ENOENT', 'ESRCH'])
const deniedCodes = new Set(['EACCES', 'EPERM'])
const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''
const isGone = (error: unknown): boolean => goneCodes.has(codeOf(error))

/**
 * Kills every process with the marks of a run that began at `since`, until none is left. Returns false if some may
 * remain: new ones kept appearing, or /proc could not be read completely, for example without a free file handle.
 */
export async function killMarkedProcesses(run: string, since: number | undefined): Promise<boolean> {
  if (since === undefined) return true
  const wanted = { variable: Buffer.from(`${runVariable}=${run}`), limit: Buffer.from(run) }
  const others = new Set<string>()
  for (let scans = 0, emptyScans = 0, unclear = 0; scans < maxScans; scans++) {
    const found = await scanOnce(wanted, since, others)
    // After a kill the system may reuse pids.
    if (found.has('killed')) others.clear()
    emptyScans =
      found.has('killed') || found.has('unread') || (found.has('unclear') && ++unclear <= maxUnclearScans)
        ? 0
        : emptyScans + 1
    if (emptyScans === emptyScansNeeded) return true
    if (found.has('unread')) await new Promise<void>((resolve) => void systemClock.timer(unreadPauseMs, resolve))
  }
  return false
}

type ScanResult = 'killed' | 'unclear' | 'other' | 'unread'

interface RunMarks {
  readonly variable: Buffer
  readonly limit: Buffer
}

/** Skips the pids in `others`, which belong to other runs, and adds those it finds. */
async function scanOnce(wanted: RunMarks, since: number, others: Set<string>): Promise<Set<ScanResult>> {
  let pids: string[]
  try {
    pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && !others.has(name))
  } catch {
    return new Set(['unread'])
  }
  const found = new Set<ScanResult>()
  // Retry unreadable entries with fewer concurrent handles, finally with one.
  for (let width = readsAtOnce; pids.length > 0; width = width >> 2) {
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

async function killIfMarked(pid: string, wanted: RunMarks, since: number): Promise<ScanResult> {
  try {
    const { over, began } = parseStat(await readFile(`/proc/${pid}/stat`, 'utf8'))
    if (over || began < since) return 'other'
    const environment = await environmentOf(pid)
    if (environment?.includes(wanted.variable) || (await readFile(`/proc/${pid}/limits`)).includes(wanted.limit)) {
      // Kill immediately, before the pid can be reused.
      process.kill(Number(pid), 'SIGKILL')
      return 'killed'
    }
    // The environment is empty for kernel threads and for a process in the middle of exec, which may be ours.
    return environment === null || environment.length > 0 ? 'other' : 'unclear'
  } catch (error) {
    return isGone(error) || deniedCodes.has(codeOf(error)) ? 'other' : 'unread'
  }
}

/** Null if access is denied. The limits file is readable for all users. */
async function environmentOf(pid: string): Promise<Buffer | null> {
  try {
    return await readFile(`/proc/${pid}/environ`)
  } catch (error) {
    if (deniedCodes.has(codeOf(error))) return null
    throw error
  }
}
