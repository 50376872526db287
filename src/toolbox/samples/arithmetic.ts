// The common definition of add, subtract, multiply and divide: two numbers in, one number out.

import { fail } from '../../core/outcome.ts'
import { type Narration, narrate } from '../../tools/narration/narration-templates.ts'
import { type Tool, tool } from '../../tools/tool.ts'
import { number, object, text } from '../tool-schema-fields.ts'

interface Numbers {
  readonly a: number
  readonly b: number
}

export interface Operation {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly a: string
  readonly b: string
  readonly words: { readonly en: Narration; readonly de: Narration }
  readonly sign: string
  readonly examples: readonly Numbers[]
  readonly of: (a: number, b: number) => number
}

export const operation = ({ name, title, description, a, b, words, sign, examples, of }: Operation): Tool =>
  tool({
    name,
    title,
    description,
    input: object<Numbers>({ a: number(a), b: number(b) }),
    output: object({ result: number('What comes out'), operation: text('What was done'), a: number(a), b: number(b) }),
    hints: { readOnly: true, idempotent: true },
    narrate: narrate<Numbers>(words, (given) => `${given.a} ${sign} ${given.b}`),
    examples,
    execute: (given) => ({ result: requireExact(of(given.a, given.b)), operation: name, a: given.a, b: given.b }),
  })

/** Throws if JSON cannot carry the result exactly: an infinite number, or an integer that was rounded. */
function requireExact(result: number): number {
  if (!Number.isFinite(result)) throw fail('The result is too large for a number', { code: 'out_of_range' })
  if (Number.isInteger(result) && !Number.isSafeInteger(result) && Math.abs(result) < 1e21)
    throw fail(`The result is about ${result.toExponential(6)}, a whole number too large to be told exactly`, {
      code: 'out_of_range',
    })
  return result === 0 ? 0 : result
}
