// Time for a tool under test: it stands still while anything is under way in this process, and jumps to what is due next when nothing is. So a
// sleep of a week costs no time, and a slow disk or a slow answer from outside runs nobody into a timeout. It goes on where the process
// before left it.

import { readFileSync, writeFileSync } from 'node:fs'
import { type Clock, systemClock } from '../../core/clock.ts'

export interface JumpingClock extends Clock {
  /** What keeps this process alive now is no work under way. Until this is said, time stands. */
  begin(): void
  /** What can be done instead of letting time pass: tells whether it did something. */
  insteadOfWaiting(attempt: () => Promise<boolean>): void
  stop(): void
}

const lookEveryMs = 2

export function jumpingClock(options: { from: number; file: string; busy: () => boolean }): JumpingClock {
  const { from, file, busy } = options
  let now = Math.max(from, Number(readIfThere(file)))
  let order = 0
  let trying = false
  let instead: (() => Promise<boolean>) | null = null
  const timers = new Map<number, { at: number; fire: () => void }>()
  const chores = new Map<number, { ms: number; last: number; chore: () => void }>()
  // Both exist from the beginning, so that a first word printed is no new thing that keeps the process alive.
  void [process.stdout, process.stderr]
  let known: Map<string, number> | null = null
  let quietBefore = false

  const jump = (): void => {
    const next = [...timers].toSorted((a, b) => a[1].at - b[1].at || a[0] - b[0])[0]
    if (next) {
      now = Math.max(now, next[1].at)
      // Whoever comes after a crash must not find itself earlier.
      writeFileSync(file, String(now))
    }
    for (const each of chores.values()) {
      // With nothing set there is nothing to wait for but what others do: chores look for that.
      if (next && now - each.last < each.ms) continue
      each.last = now
      each.chore()
    }
    if (!next) return
    timers.delete(next[0])
    next[1].fire()
  }

  const look = async (): Promise<void> => {
    if (trying) return
    const before = known
    const quiet =
      before !== null && !busy() && [...resources()].every(([type, count]) => count <= (before.get(type) ?? 0))
    // Quiet twice: between two looks everything that could run has run.
    if (!quiet || !quietBefore) return void (quietBefore = quiet)
    quietBefore = false
    trying = true
    try {
      if (!(await instead?.())) jump()
    } finally {
      trying = false
    }
  }
  const letGo = systemClock.hold()
  const callOff = systemClock.every(lookEveryMs, () => void look())

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
      known = resources()
    },
    insteadOfWaiting(attempt) {
      instead = attempt
    },
    stop() {
      callOff()
      letGo()
    },
  }
}

/** What keeps this process alive: requests and files under way, sockets, timers of the tool's own. */
function resources(): Map<string, number> {
  const counts = new Map<string, number>()
  for (const type of process.getActiveResourcesInfo()) counts.set(type, (counts.get(type) ?? 0) + 1)
  return counts
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return '0'
  }
}
