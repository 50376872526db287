// Kills the process trees of this process after its death, even by SIGKILL: one small shell per process that has trees.
//
// The watcher reads from a pipe which trees are open. Only this process holds the write end; when it dies, the pipe
// ends and the watcher kills the trees that are still open. It is our direct child and belongs to no tree, so no tree
// waits for it and it never becomes an orphan.

import { type ChildProcess, spawn } from 'node:child_process'
import { asSentence, PawlError } from '../../core/errors.ts'
import { runVariable } from './process-marks.ts'
import { standardPath } from './find-program.ts'

/** Scans for marks several times: a process in the middle of exec shows none. */
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
    for found in $(grep -ls "${runVariable}=\${each#*:}" /proc/[0-9]*/environ; grep -ls "locks.* \${each#*:} " /proc/[0-9]*/limits); do
      found=\${found#/proc/}
      kill -9 "\${found%/*}"
    done
  done
  sleep 0.1
done
`

/** Open trees: run id to process group id, or 'none' once the group is dead. */
const openTrees = new Map<string, number | 'none'>()
let watcher: ChildProcess | undefined

function startWatcher(): ChildProcess {
  if (watcher) return watcher
  const child = spawn('/bin/sh', ['-c', script], {
    cwd: '/',
    env: { PATH: standardPath },
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher = child
  // Neither the watcher nor its pipe keeps a finished program alive.
  child.unref()
  ;(child.stdin as { unref?: () => void } | null)?.unref?.()
  child.stdin?.on('error', () => {})
  const onExit = (): void => {
    if (watcher !== child) return
    watcher = undefined
    if (openTrees.size > 0) startWatcher()
  }
  child.once('exit', onExit)
  child.once('error', () => void (watcher = watcher === child ? undefined : watcher))
  for (const [run, pid] of openTrees) child.stdin?.write(`+ ${pid} ${run}\n`)
  return child
}

/** Registers a tree. After this resolves, the watcher kills the tree when this process dies. */
export async function watchTree(pid: number, run: string): Promise<void> {
  const { stdin } = startWatcher()
  openTrees.set(run, pid)
  const error = await new Promise<Error | null | undefined>((resolve) => stdin?.write(`+ ${pid} ${run}\n`, resolve))
  if (error)
    throw new PawlError('program_unavailable', asSentence(`The process watcher is not running: ${error.message}`), {
      cause: error,
    })
}

/** Removes a tree that has no processes left. */
export function unwatchTree(run: string): void {
  if (openTrees.delete(run)) watcher?.stdin?.write(`- none ${run}\n`)
}

/** Marks the group as dead; processes that left the group may still run and stay watched by their marks. */
export function unwatchGroup(run: string): void {
  openTrees.set(run, 'none')
  watcher?.stdin?.write(`- none ${run}\n+ none ${run}\n`)
}
