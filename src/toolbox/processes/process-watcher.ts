// Kills the trees of a process that died, however it died: one small shell beside each process that has trees.
//
// It reads from a pipe that only we hold which trees are open. When we are gone, even by SIGKILL, the pipe ends, and the watcher
// kills what is still open. It is our own child and no part of any tree: no tree waits for it, and it never becomes an orphan.

import { type ChildProcess, spawn } from 'node:child_process'
import { PawlError } from '../../core/errors.ts'
import { mark } from './process-marks.ts'
import { standardPath } from './find-program.ts'

/** Looks for marks several times: one that is just becoming another program shows none. */
const script = `
trap '' TERM INT HUP QUIT
open=
while read -r what pid run; do
  case $what in
    +) open="$open $pid:$run" ;;
    -) rest=
       for each in $open; do [ "\${each#*:}" = "$run" ] || rest="$rest $each"; done
       open=$rest ;;
  esac
done
for each in $open; do
  case $each in none:*) ;; *) kill -9 "-\${each%%:*}" ;; esac
done
for round in 1 2 3 4 5; do
  for each in $open; do
    for found in $(grep -ls "${mark}=\${each#*:}" /proc/[0-9]*/environ; grep -ls "locks.* \${each#*:} " /proc/[0-9]*/limits); do
      found=\${found#/proc/}
      kill -9 "\${found%/*}"
    done
  done
  sleep 0.1
done
`

/** The open trees: the mark of the run, and the number of the group while it may be there. */
const open = new Map<string, number | 'none'>()
let watcher: ChildProcess | undefined

function begin(): ChildProcess {
  if (watcher) return watcher
  const mine = spawn('/bin/sh', ['-c', script], {
    cwd: '/',
    env: { PATH: standardPath },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher = mine
  // Neither it nor its pipe keeps a finished program alive.
  mine.unref()
  ;(mine.stdin as { unref?: () => void } | null)?.unref?.()
  mine.stdin?.on('error', () => {})
  const lost = (): void => {
    if (watcher !== mine) return
    watcher = undefined
    if (open.size > 0) begin()
  }
  mine.once('exit', lost)
  mine.once('error', () => void (watcher = watcher === mine ? undefined : watcher))
  for (const [run, pid] of open) mine.stdin?.write(`+ ${pid} ${run}\n`)
  return mine
}

/** From when this resolves the tree dies with us. */
export async function watch(pid: number, run: string): Promise<void> {
  const { stdin } = begin()
  open.set(run, pid)
  const error = await new Promise<Error | null | undefined>((resolve) => stdin?.write(`+ ${pid} ${run}\n`, resolve))
  if (error)
    throw new PawlError('program_unavailable', `The watcher of its processes is gone: ${error.message}.`, {
      cause: error,
    })
}

/** Nothing is left of it. */
export function unwatch(run: string): void {
  if (open.delete(run)) watcher?.stdin?.write(`- none ${run}\n`)
}

/** The group is no more, but what has left it may be. */
export function unwatchGroup(run: string): void {
  open.set(run, 'none')
  watcher?.stdin?.write(`- none ${run}\n+ none ${run}\n`)
}
