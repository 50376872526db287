// Process trees to be ended, and how to see that nothing of them is left: every process of a tree carries a mark of the test.

import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** Shell programs; each says 'up' when its tree stands. */
export const trees = {
  'background sleeps': 'sleep 999 & echo up; sleep 999',
  'three levels': 'sh -c "sh -c \'sleep 999 & sleep 999\' & sleep 999" & echo up; wait',
  'a pipeline': 'yes 2>/dev/null | cat >/dev/null & echo up; wait',
  'a leader that ignores SIGTERM': 'trap "" TERM; sleep 999 & echo up; while :; do sleep 1; done',
  'a child that ignores SIGTERM': 'sh -c \'trap "" TERM; while :; do sleep 1; done\' & echo up; sleep 999',
  'a child that ignores SIGTERM and writes elsewhere':
    'sh -c \'trap "" TERM; while :; do sleep 1; done\' >/dev/null 2>&1 & echo up; sleep 999',
  'a session of its own': 'setsid sh -c "sleep 999 & sleep 999" & echo up; sleep 999',
  'a daemon that writes elsewhere': '(setsid sh -c "sleep 999 & sleep 999" </dev/null >/dev/null 2>&1 &); echo up; sleep 999',
  'one that keeps forking': 'echo up; while :; do sleep 999 & sleep 0.01; done',
} as const

/** The processes that carry a mark; those that have ended and only wait for their parent do not count. */
export function alive(value: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`).includes(value)
      } catch {
        return false
      }
    })
    .map(Number)
}

/**
 * Programs that outlive their shell and carry no mark of a test: they have wiped their environment. Each says 'up' when it stands; they are known by how
 * long they sleep.
 */
export const wiped = (sleep: string): Record<string, string> => ({
  'env -i setsid': `env -i setsid ${sleep} >/dev/null 2>&1 & sleep 0.3; echo up`,
  'env -i setsid, and the end at once': `env -i setsid -f ${sleep} >/dev/null 2>&1; echo up`,
  'env -i and a double fork': `(env -i sh -c 'setsid ${sleep} >/dev/null 2>&1 &'); sleep 0.3; echo up`,
  'env -i and a double fork, and the end at once': `(env -i sh -c 'setsid ${sleep} >/dev/null 2>&1 &'); echo up`,
  'a daemon that has forgotten all': `(env -i setsid sh -c 'cd /; exec </dev/null >/dev/null 2>&1; (${sleep} & ${sleep} & ) & ${sleep}' &); echo up`,
  'exec -c, three sessions deep': `bash -c "exec -c setsid -f setsid -f setsid -f ${sleep}" >/dev/null 2>&1; echo up`,
})

let sleeps = 0
/** A sleep that nobody else sleeps. */
export const someSleep = (): string => `sleep ${999_000 + (process.pid % 1000)}.${++sleeps}${Math.trunc(performance.now())}`

/** The processes that run a program with just these words. */
export function running(words: string): number[] {
  const wanted = words.split(' ').join('\0')
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8') === `${wanted}\0` && runs(Number(pid))
      } catch {
        return false
      }
    })
    .map(Number)
}

/** Whether a process runs; one that has ended and only waits for its parent does not. */
export function runs(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** The watcher that a process has beside it. */
export function watcherOf(parent: number): number | undefined {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .find((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1] === String(parent) &&
          readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('while read -r what')
        )
      } catch {
        return false
      }
    })
}

/** Ends what a failed test left, one by one; again while there are any, because some fork. */
export function clean(value: string): void {
  for (let round = 0; round < 50; round++) {
    const left = alive(value)
    if (left.length === 0) return
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {}
    }
  }
}

/** Looks at the outside world until it is so; processes of the system tell nobody. */
export async function until(what: string, so: () => boolean, within = 60_000): Promise<void> {
  const started = performance.now()
  while (!so()) {
    if (performance.now() - started > within) throw new Error(`not within ${within} ms: ${what}`)
    await pause(5)
  }
}
