// Patterns of a schema, on an engine whose time is linear in the text: `^(a+)+$` on a long text would hang the built-in one.

import type { RE2JS } from 're2js'
import { linearEngine } from '../re2.ts'
import type { Run } from './validation-run.ts'

export type Pattern = (text: string, run: Run) => boolean

/** Characters times states that one step of the budget pays for. */
const matchesPerStep = 100
const maxProgram = 5000

export type PatternFound = { readonly test: Pattern } | { readonly cannot: string } | { readonly invalid: string }

export function linearPattern(source: string): PatternFound {
  let engine: RE2JS
  try {
    const linear = linearEngine()
    engine = linear.compile(linear.translateRegExp(source))
  } catch {
    // Look-around, back-references, some classes: a regular expression all the same, only not a linear one.
    const problem = notRegex(source)
    return problem
      ? { invalid: problem }
      : { cannot: 'it uses what a linear-time engine cannot do, such as look-around or back-references' }
  }
  const states = engine.programSize()
  if (states > maxProgram) return { cannot: 'its repetitions are too many' }
  return {
    test(text, run) {
      run.spend(Math.ceil((text.length * states) / matchesPerStep))
      return engine.test(text)
    },
  }
}

/** The standard asks for the `u` flag, yet many schemas have escapes that only pass without it. Parsed here, never run. */
function notRegex(source: string): string | undefined {
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
