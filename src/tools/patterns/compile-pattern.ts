// Compiles a pattern for the linear-time engine: `^(a+)+$` on a long text would hang the built-in one. A pattern means
// what ECMAScript with the `u` flag means by it, or it is refused. Called for JSON Schema `pattern` and
// `patternProperties`, and for `matches` in policies.

import { createRequire } from 'node:module'
import type { RE2JS } from 're2js'
import { translatePattern, UnsupportedPattern } from './parse-pattern.ts'

export type CompiledPattern =
  | { readonly engine: RE2JS }
  /** Valid, but it cannot run in linear time. The text completes "because …". */
  | { readonly unsupported: string }
  | { readonly invalid: string }

let engine: typeof RE2JS | undefined

/**
 * Loaded with the first pattern: most programs have none, and it takes a third of Pawl's import time. It uses require()
 * because tools are defined synchronously.
 */
function loadEngine(): typeof RE2JS {
  engine ??= load().RE2JS
  return engine
}

/** Only a bundle has `require`. Bundlers follow it and not createRequire(), so there the engine is in the bundle. */
const load = (): { RE2JS: typeof RE2JS } =>
  (typeof require === 'undefined' ? createRequire(import.meta.url)('re2js') : require('re2js')) as never

export function compilePattern(source: string): CompiledPattern {
  let strict = source
  let problem = syntaxError(source)
  if (problem !== null && !namedClass.test(source)) {
    strict = escapeLiterals(source)
    problem = syntaxError(strict)
  }
  if (problem !== null) return { invalid: explain(source) ?? problem }
  let translated: string
  try {
    translated = translatePattern(strict)
  } catch (error) {
    if (!(error instanceof UnsupportedPattern)) throw error
    return { unsupported: error.message }
  }
  try {
    return { engine: loadEngine().compile(translated) }
  } catch {
    return { unsupported: 'it has too many repetitions; the limit is 1,000, nested ones multiplied' }
  }
}

/** Parsed by the built-in engine, never run. Flags of groups are removed first, because older Nodes do not know them. */
function syntaxError(source: string): string | null {
  try {
    void new RegExp(source.replaceAll(/\(\?(?=[ims-])[ims]*-?[ims]*:/g, '(?:'), 'u')
    return null
  } catch (error) {
    return (error as Error).message
  }
}

/**
 * Many schemas are written for engines without the `u` flag, with needless escapes (`\_`, `\"`), literal brackets and
 * `[\w-.]`. There is only one way to read them, so they are rewritten. Anything else stays as it is, and is refused:
 * `[\d-a-z]` too, which looks like a range and means the digits and the three characters `-`, `a` and `z`.
 */
function escapeLiterals(source: string): string {
  let inClass = false
  const token = /\\[dDsSwW]-(?=\\[dDsSwW]|(?:\\[^xuc]|[^\\\]-])(?!-[^\]]))|\\.|\{\d+(?:,\d*)?\}|[^]/gsu
  return source.replaceAll(token, (part, at: number) => {
    if (part.length > 2 && part.endsWith('-')) return inClass ? `${part.slice(0, 2)}\\-` : part
    if (part.length === 2 && /^\\[ !"#%&',:;<=>@_`~-]$/.test(part))
      return part === '\\-' && inClass ? part : (part[1] as string)
    if (part === '-' && inClass && /^-\\[dDsSwW]/.test(source.slice(at, at + 3))) return String.raw`\-`
    if (part === '[' && !inClass) {
      inClass = true
      return part
    }
    if (part === ']' && inClass) {
      inClass = false
      return part
    }
    return !inClass && /^[\]{}]$/.test(part) ? `\\${part}` : part
  })
}

/** Without the `u` flag a set of these letters and a bracket, which is not what the author meant. */
const namedClass = /\[\[:\^?\w+:\]/

/** Constructs of other engines, and what to write instead. The first that occurs is reported. */
const foreign: readonly (readonly [RegExp, string])[] = [
  [namedClass, 'has no named classes such as [[:alpha:]]; write the characters, such as [A-Za-z], or \\p{L}'],
  [/\(\?P[<=>]/, 'has no (?P…); write (?<name>…)'],
  [/\(\?[a-z-]+\)/i, 'has no flags for the rest of a pattern; write them for a group, such as (?i:…)'],
  [/\(\?>/, 'has no atomic groups; write (?:…)'],
  [/[*+?}]\+/, 'has no possessive quantifiers; leave out the last +'],
  [/\\A/, 'has no \\A; write ^'],
  [/\\[zZ]/, 'has no \\z and \\Z; write $'],
  [/\\[QE]/, 'has no \\Q…\\E; escape each special character with a backslash'],
  [/\\[pP](?!\{)/, 'needs braces for a property; write \\p{L}'],
  [/\\a/, 'has no \\a; write \\x07'],
  [/\\e/, 'has no \\e; write \\x1B'],
  [/\\h/i, 'has no \\h; write [ \\t]'],
  [/\\R/, 'has no \\R; write (?:\\r\\n|[\\n\\r\\u2028\\u2029])'],
  [/\\x\{/, 'has no \\x{…}; write \\u{…}'],
  [/\[[^\]]*\\[dDsSwW]-/, 'has no range that begins with a class; write the hyphen last, such as [\\da-z-]'],
  [/\\0\d|\\[1-9]/, 'has no octal escapes; write \\x00 to \\xFF'],
]

function explain(source: string): string | undefined {
  // Escaped backslashes begin no escape.
  const text = source.replaceAll('\\\\', '')
  const found = foreign.find(([shape]) => shape.test(text))
  return found && `ECMAScript ${found[1]}`
}
