// Kills the trees of a process that died, however it died: one small shell beside each process that has trees.
//
// It reads from a pipe that only we hold which trees are open. When we are gone, even by SIGKILL, the pipe ends, and the watcher
// kills what is still open. It is our own child and no part of any tree: no tree waits for it, and it never becomes an orphan.

import { type ChildProcess, spawn } from 'node:child_process'
import { PawlError } from '../kernel/errors.ts'
import { mark } from './marked.ts'
import { standardPath } from './program.ts'

/** Looks for marks several times: one that is just becoming another program shows none. */
const script = `
trap '' TERM INT HUP QUIT
open=
while read -r what pid run; do
  case $what in
    +) open="$open $pid:$run" ;;
    -) rest=
       for each in $open; do [ "\${each%%:*}" = "$pid" ] || rest="$rest $each"; done
       open=$rest ;;
  esac
done
for each in $open; do kill -9 "-\${each%%:*}"; done
for round in 1 2 3 4 5; do
  for each in $open; do
    for found in $(grep -ls "${mark}=\${each#*:}" /proc/[0-9]*/environ); do
      found=\${found#/proc/}
      kill -9 "\${found%/environ}"
    done
  done
  sleep 0.1
done
`

/** The open trees: the number of the group, and the mark of the run. */
const open = new Map<number, string>()
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
  for (const [pid, run] of open) mine.stdin?.write(`+ ${pid} ${run}\n`)
  return mine
}

/** From when this resolves the tree dies with us. */
export async function watch(pid: number, run: string): Promise<void> {
  const { stdin } = begin()
  open.set(pid, run)
  const error = await new Promise<Error | null | undefined>((resolve) => stdin?.write(`+ ${pid} ${run}\n`, resolve))
  if (error) throw new PawlError('program_unavailable', `The watcher of its processes is gone: ${error.message}.`, { cause: error })
}

export function unwatch(pid: number): void {
  if (open.delete(pid)) watcher?.stdin?.write(`- ${pid}\n`)
}
