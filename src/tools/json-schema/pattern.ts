// Runs the patterns of a schema on a linear-time engine: `^(a+)+$` on a long text would hang the built-in one.

import type { RE2JS } from 're2js'
import { loadRe2 } from '../re2.ts'
import type { ValidationRun } from './validation-state.ts'

export type Pattern = (text: string, run: ValidationRun) => boolean

/** Characters times engine states per step of the validation budget. */
const matchesPerStep = 100
const maxProgram = 5000

export type PatternResult = { readonly test: Pattern } | { readonly unsupported: string } | { readonly invalid: string }

export function linearPattern(source: string): PatternResult {
  let engine: RE2JS
  try {
    const linear = loadRe2()
    engine = linear.compile(linear.translateRegExp(source))
  } catch {
    // It may be a valid regular expression that the engine does not support (look-around, back-references, some
    // classes).
    const problem = syntaxErrorIn(source)
    return problem
      ? { invalid: problem }
      : {
          unsupported:
            'it uses a feature that a linear-time engine does not support, such as look-around or back-references',
        }
  }
  const states = engine.programSize()
  if (states > maxProgram) return { unsupported: 'it has too many repetitions' }
  return {
    test(text, run) {
      run.spend(Math.ceil((text.length * states) / matchesPerStep))
      return engine.test(text)
    },
  }
}

/**
 * The standard requires the `u` flag, but many schemas have escapes that are only valid without it. Parsed here, never
 * run.
 */
function syntaxErrorIn(source: string): string | undefined {
  try {
    return void new RegExp(source, 'u')
  } catch {
    try {
      return void new RegExp(source)
    } catch (error) {
      return (error as Error).message
    }
  }
}
