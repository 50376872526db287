// The work everybody does here: a tool that does nothing, asked for with the same small object, checked by the same schema. What is
// left of the time of a call is what its runtime adds.

import { z } from 'zod'

export interface Opened {
  /** Runs a batch of `size` calls at once, to the end, and throws unless all of them succeeded. */
  batch(size: number): Promise<void>
  close(): Promise<void>
}

export interface Subject {
  readonly name: string
  /** The batches it can be asked for within the time of a bench. */
  readonly sizes: readonly number[]
  /** It asks a stub model for its calls: a batch of 0 is the model's share, which is taken off. */
  readonly hasModel: boolean
  /** Anew for every slice, so that a record that has grown in one is not paid for in the next. */
  open(): Promise<Opened>
}

export const sizes = [1, 8, 64, 512] as const

export const schema = z.object({ city: z.string(), days: z.int().min(1), units: z.enum(['c', 'f']) })
export const input: z.input<typeof schema> = { city: 'Oslo', days: 3, units: 'c' }
export const inputText = JSON.stringify(input)
export const result = { ok: true, text: 'x'.repeat(78) } // 100 bytes of JSON
export const noop = async (_input: unknown): Promise<typeof result> => result

/** Made once per size: asking is the caller's work, not the runtime's. */
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

export const many = <T>(size: number, item: (index: number) => T): T[] => Array.from({ length: size }, (_, index) => item(index))

export function expectAll(who: string, done: number, size: number): void {
  if (done !== size) throw new Error(`${who}: ${done} of ${size} calls succeeded.`)
}
