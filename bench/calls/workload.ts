// The workload of all subjects: a no-op tool, called with the same small object and validated by the same schema. The
// remaining time of a call is the overhead of its runtime.

import { z } from 'zod'

export interface Opened {
  /** Runs a batch of `size` concurrent calls to completion and throws unless all succeed. */
  batch(size: number): Promise<void>
  close(): Promise<void>
}

export interface Subject {
  readonly name: string
  /** Batch sizes that fit into the time of the bench. */
  readonly sizes: readonly number[]
  /** True if a stub model requests the calls; a batch of 0 measures the share of the model, which is subtracted. */
  readonly hasModel: boolean
  /** Called for every slice, so that records accumulated in one slice do not slow the next. */
  open(): Promise<Opened>
}

export const sizes = [1, 8, 64, 512] as const

export const schema = z.object({ city: z.string(), days: z.int().min(1), units: z.enum(['c', 'f']) })
export const input: z.input<typeof schema> = { city: 'Oslo', days: 3, units: 'c' }
export const inputText = JSON.stringify(input)
export const result = { ok: true, text: 'x'.repeat(78) } // 100 bytes of JSON
export const noop = async (_input: unknown): Promise<typeof result> => result

/** Caches one value per size: preparing the request is not part of the measurement. */
export function perSize<T>(make: (size: number) => T): (size: number) => T {
  const made = new Map<number, T>()
  return (size) => {
    const known = made.get(size)
    if (known !== undefined) return known
    const fresh = make(size)
    made.set(size, fresh)
    return fresh
  }
}

export const many = <T>(size: number, item: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => item(index))

export function expectAll(who: string, done: number, size: number): void {
  if (done !== size) throw new Error(`${who}: ${done} of ${size} calls succeeded.`)
}
