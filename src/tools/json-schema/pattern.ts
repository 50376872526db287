// The patterns of a schema, charged to the step budget of the validation.

import { compilePattern } from '../patterns/compile-pattern.ts'
import type { ValidationRun } from './validation-state.ts'

export type Pattern = (text: string, run: ValidationRun) => boolean

/** Characters times engine states per step of the validation budget. */
const matchesPerStep = 100
const maxProgram = 5000

export type PatternResult = { readonly test: Pattern } | { readonly unsupported: string } | { readonly invalid: string }

export function linearPattern(source: string): PatternResult {
  const compiled = compilePattern(source)
  if (!('engine' in compiled)) return compiled
  const { engine } = compiled
  const states = engine.programSize()
  if (states > maxProgram) return { unsupported: 'it has too many repetitions' }
  return {
    test(text, run) {
      run.spend(Math.ceil((text.length * states) / matchesPerStep))
      return engine.test(text)
    },
  }
}
