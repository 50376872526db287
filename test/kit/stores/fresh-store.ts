import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Logger, PawlError } from 'pawl'
import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Change, Store, Written } from '../../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../../src/testing/manual-clock.ts'

export const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} }
export const freshDir = (): string => mkdtempSync(join(tmpdir(), 'pawl-adv-'))

export interface Faults {
  /** Called before a commit; throw or return a rejected promise to fail it (nothing is written). */
  onCommit?: (change: Change) => void
  on?: Partial<Record<keyof Store, () => void>>
}
/** Throws the error of a store that does not answer. */
export const lost = (): never => {
  throw new PawlError('store_unavailable', 'planted')
}
export function faulty(store: Store, faults: Faults): Store {
  const out: Record<string, unknown> = { ...store }
  for (const name of Object.keys(store)) {
    const method = (store as unknown as Record<string, unknown>)[name]
    if (typeof method !== 'function' || name === 'commit' || name === 'write') continue
    out[name] = (...args: unknown[]) => {
      faults.on?.[name as keyof Store]?.()
      return (method as (...a: unknown[]) => unknown)(...args)
    }
  }
  out.commit = async (change: Change) => {
    faults.onCommit?.(change)
    return store.commit(change)
  }
  out.write = (change: Change, heard: (answer: Written) => void, how?: { ride: boolean }) => {
    try {
      faults.onCommit?.(change)
    } catch (failed) {
      return queueMicrotask(() => heard({ failed }))
    }
    store.write(change, heard, how)
  }
  return out as unknown as Store
}

export const freshMemory = (): { clock: ManualClock; store: Store } => {
  const clock = manualClock()
  return { clock, store: memoryStore({ clock }) }
}
export const freshSqlite = (): { clock: ManualClock; store: Store; file: string } => {
  const clock = manualClock()
  const file = join(freshDir(), 'a.db')
  return { clock, file, store: sqliteStore({ file, clock, commit: 'process' }) }
}

/** The result of a promise after the clock has moved (default: ten minutes in steps of 10 s). */
export async function after<T>(
  promise: Promise<T>,
  clock: ManualClock,
  ms = 600_000,
  step = 10_000,
): Promise<{ value: T } | { error: unknown } | 'hangs'> {
  let end: { value: T } | { error: unknown } | 'hangs' = 'hangs'
  promise.then(
    (value) => (end = { value }),
    (error: unknown) => (end = { error }),
  )
  for (let t = 0; t < ms && end === 'hangs'; t += step) await clock.advance(step)
  return end
}
