// Processes that left their group are known by a mark in their environment, which they hand on to all they start.

import { readdir, readFile } from 'node:fs/promises'

/** The name of the variable that holds the mark of a run. */
export const mark = 'PAWL_RUN'

/** So many are looked at together: each takes a file handle. */
const together = 64

/** Kills whatever carries the mark of a run, and says whether there was anything. Where there is no /proc nothing is found. */
export async function killMarked(run: string): Promise<boolean> {
  const wanted = Buffer.from(`${mark}=${run}`)
  const names = await readdir('/proc').catch(() => [])
  const pids = names.filter((name) => /^\d+$/.test(name))
  let found = false
  for (let at = 0; at < pids.length; at += together) {
    const killed = await Promise.all(pids.slice(at, at + together).map((pid) => killIfMarked(pid, wanted)))
    found ||= killed.includes(true)
  }
  return found
}

/** Killed as soon as it is read, so that the number cannot have become another's. */
async function killIfMarked(pid: string, wanted: Buffer): Promise<boolean> {
  try {
    // Who is gone or not ours cannot be read; who has ended but was not yet fetched by its parent reads as empty.
    if (!(await readFile(`/proc/${pid}/environ`)).includes(wanted)) return false
    return process.kill(Number(pid), 'SIGKILL')
  } catch {
    return false
  }
}
