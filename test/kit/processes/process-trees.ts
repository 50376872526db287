// Process trees for termination tests, and checks that none of their processes is left. Every process of a tree carries
// a marker of the test in its environment.

import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** Shell programs; each prints 'up' when its tree is complete. */
export const trees = {
  'background sleeps': 'sleep 999 & echo up; sleep 999',
  'three levels': 'sh -c "sh -c \'sleep 999 & sleep 999\' & sleep 999" & echo up; wait',
  'a pipeline': 'yes 2>/dev/null | cat >/dev/null & echo up; wait',
  'a leader that ignores SIGTERM': 'trap "" TERM; sleep 999 & echo up; while :; do sleep 1; done',
  'a child that ignores SIGTERM': 'sh -c \'trap "" TERM; while :; do sleep 1; done\' & echo up; sleep 999',
  'a child that ignores SIGTERM and writes elsewhere':
    'sh -c \'trap "" TERM; while :; do sleep 1; done\' >/dev/null 2>&1 & echo up; sleep 999',
  'a session of its own': 'setsid sh -c "sleep 999 & sleep 999" & echo up; sleep 999',
  'a daemon that writes elsewhere':
    '(setsid sh -c "sleep 999 & sleep 999" </dev/null >/dev/null 2>&1 &); echo up; sleep 999',
  'one that keeps forking': 'echo up; while :; do sleep 999 & sleep 0.01; done',
} as const

/** The processes that carry a marker, without zombies. */
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
 * Programs that outlive their shell and carry no marker, because they cleared their environment. Each prints 'up' when
 * it runs; they are identified by the duration of their sleep.
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
/** A sleep command with a unique duration. */
export const someSleep = (): string =>
  `sleep ${999_000 + (process.pid % 1000)}.${++sleeps}${Math.trunc(performance.now())}`

/** The processes that run exactly this command line. */
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

/** True if the process runs and is not a zombie. */
export function runs(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

/** The watcher process of this parent. */
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

/** Kills the processes left by a failed test, repeatedly because some fork. */
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

/** Polls until the condition holds, because the operating system does not notify us about processes. */
export async function until(what: string, so: () => boolean, within = 60_000): Promise<void> {
  const started = performance.now()
  while (!so()) {
    if (performance.now() - started > within) throw new Error(`not within ${within} ms: ${what}`)
    await pause(5)
  }
}
