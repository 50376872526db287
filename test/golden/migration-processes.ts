// Starts many processes that open one store at the same time, or one that dies during the migration.

import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Opening } from './child-open-store.ts'

interface Ended {
  readonly said: string
  readonly errors: string
  readonly how: number | string | null
}

function start(opening: Opening): { ready: Promise<void>; go(): Promise<Ended>; child: ChildProcess } {
  const child = fork(join(import.meta.dirname, 'child-open-store.ts'), {
    execArgv: ['--conditions=@pawl/source'],
    env: { ...process.env, PAWL_OPEN: JSON.stringify(opening) },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let [said, errors] = ['', '']
  child.stdout?.on('data', (text) => (said += String(text)))
  child.stderr?.on('data', (text) => (errors += String(text)))
  const ended = new Promise<Ended>((resolve) =>
    child.once('close', (code, signal) => resolve({ said, errors, how: signal ?? code })),
  )
  const ready = new Promise<void>((resolve) => child.once('message', () => resolve()))
  return { ready, child, go: () => (child.send('go'), ended) }
}

/** Starts all processes before any of them opens the store; all must print the same. */
export async function openAtOnce(opening: Opening, how: { many: number; says: string }): Promise<void> {
  const all = Array.from({ length: how.many }, () => start(opening))
  await Promise.all(all.map(({ ready }) => ready))
  const ended = await Promise.all(all.map(({ go }) => go()))
  expect(ended).toEqual(all.map(() => ({ said: how.says, errors: '', how: 0 })))
}

/** True if the process was killed before it finished. */
export async function openAndDie(opening: Opening): Promise<boolean> {
  const { ready, go } = start(opening)
  await ready
  const { how, errors } = await go()
  expect(errors).toBe('')
  return how === 'SIGKILL'
}
