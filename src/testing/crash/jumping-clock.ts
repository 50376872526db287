// The clock of a crash test. It stands still while this process is busy and jumps to the next timer when it is idle. So
// a sleep of a week takes no time, and a slow disk or external service causes no timeout. A new process continues at
// the time of the previous one.

import { readFileSync, writeFileSync } from 'node:fs'
import { type Clock, systemClock } from '../../core/clock.ts'

export interface JumpingClock extends Clock {
  /** Takes the active resources of this moment as the idle baseline. Time does not move before this call. */
  begin(): void
  /** Sets a function that is called before time jumps; if it resolves to true, time does not jump. */
  insteadOfWaiting(attempt: () => Promise<boolean>): void
  stop(): void
}

const checkEveryMs = 2

export function jumpingClock(options: { from: number; file: string; busy: () => boolean }): JumpingClock {
  const { from, file, busy } = options
  let now = Math.max(from, Number(readOrZero(file)))
  let order = 0
  let trying = false
  let beforeJump: (() => Promise<boolean>) | null = null
  const timers = new Map<number, { at: number; fire: () => void }>()
  const chores = new Map<number, { ms: number; last: number; chore: () => void }>()
  // Open both streams now, so that the first output does not appear as a new active resource.
  void [process.stdout, process.stderr]
  let baseline: Map<string, number> | null = null
  let quietBefore = false

  const jump = (): void => {
    const next = [...timers].toSorted((a, b) => a[1].at - b[1].at || a[0] - b[0])[0]
    if (next) {
      now = Math.max(now, next[1].at)
      // The process after a crash must not start at an earlier time.
      writeFileSync(file, String(now))
    }
    for (const each of chores.values()) {
      // With no timer left, only another process can make progress, so every interval runs to check for that.
      if (next && now - each.last < each.ms) continue
      each.last = now
      each.chore()
    }
    if (!next) return
    timers.delete(next[0])
    next[1].fire()
  }

  const check = async (): Promise<void> => {
    if (trying) return
    const before = baseline
    const quiet =
      before !== null && !busy() && [...activeResources()].every(([type, count]) => count <= (before.get(type) ?? 0))
    // Idle in two consecutive checks: everything that could run in between has run.
    if (!quiet || !quietBefore) return void (quietBefore = quiet)
    quietBefore = false
    trying = true
    try {
      if (!(await beforeJump?.())) jump()
    } finally {
      trying = false
    }
  }
  const releaseHold = systemClock.hold()
  const stopChecking = systemClock.every(checkEveryMs, () => void check())

  return {
    now: () => now,
    monotonic: () => now,
    timer(ms, fire) {
      const id = ++order
      timers.set(id, { at: now + Math.max(0, ms), fire })
      return () => void timers.delete(id)
    },
    every(ms, chore) {
      const id = ++order
      chores.set(id, { ms, last: now, chore })
      return () => void chores.delete(id)
    },
    hold: () => () => {},
    begin() {
      baseline = activeResources()
    },
    insteadOfWaiting(attempt) {
      beforeJump = attempt
    },
    stop() {
      stopChecking()
      releaseHold()
    },
  }
}

/** Counts the resources that keep this process alive: requests, files, sockets, timers of the tool. */
function activeResources(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1)
  return counts
}

function readOrZero(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '0'
  }
}
