// Estimates the cost of compiling a pattern before it is compiled: `(a{1,50}){1,20}` has few characters and a thousand
// states, and a schema can hold thousands of patterns.

/** For the compiler itself, whatever the pattern. */
const fixedCost = 60
/** For the ranges of a property such as `\p{L}`: they are merged and written out. */
const propertyCost = 500
/** Characters of a class that cost nothing extra: `[A-Za-z0-9_.-]`. */
const longClass = 30
/** For each repetition of a class with a property. */
const propertyStates = 6
/** For a character outside ASCII whose case is ignored: the built-in engine finds the characters that fold to it. */
const foldCost = 600
/** For a range of such characters. */
const foldRangeCost = 2_000

/**
 * An upper bound of the states (characters, multiplied by the bounded repetitions that they are in) and the cost of
 * finding the characters of each class.
 */
export function patternCost(source: string): number {
  const ignoresCase = /\(\?[ms]*i/.test(source)
  // The cost of each open group, and of its last part, which a quantifier repeats.
  const groups = [{ total: 0, last: 0 }]
  let top = groups[0] as { total: number; last: number }
  for (let at = 0; at < source.length; at += 1) {
    const char = source[at] as string
    const times = char === '{' ? /^\{(\d+)(?:,(\d*))?\}/.exec(source.slice(at, at + 24)) : null
    if (times) {
      const most = Math.max(Number(times[1]), Number(times[2] || 0))
      top.total += top.last * Math.max(most - 1, 0)
      top.last *= Math.max(most, 1)
      at += times[0].length - 1
    } else if (char === '(') {
      top = { total: 1, last: 0 }
      groups.push(top)
    } else if (char === ')' && groups.length > 1) {
      const { total } = groups.pop() as { total: number }
      top = groups.at(-1) as { total: number; last: number }
      top.total += total
      top.last = total
    } else {
      const start = at
      if (char === '\\') at = escapeEnd(source, at)
      else if (char === '[') at = classEnd(source, at)
      const text = source.slice(start, at + 1)
      top.last = /\\p\{/i.test(text) ? propertyStates : 1
      top.total += top.last + charactersCost(text, ignoresCase)
    }
  }
  return fixedCost + groups.reduce((sum, { total }) => sum + total, 0)
}

/** The cost of a character or class before any repetition: it is read once. */
function charactersCost(text: string, ignoresCase: boolean): number {
  const count = (shape: RegExp): number => text.match(shape)?.length ?? 0
  const folds = ignoresCase
    ? foldCost * count(/[^\0-\x7f]|\\[ux]/gu) + foldRangeCost * count(/-(?:[^\0-\x7f]|\\[ux])/gu)
    : 0
  return Math.max(text.length - longClass, 0) + propertyCost * count(/\\p\{/gi) + folds
}

/** The braces of `\u{10400}` and `\p{Letter}` are not a quantifier. */
function escapeEnd(source: string, start: number): number {
  const braced = /^\\[upP]\{[^}]{0,60}\}/.exec(source.slice(start, start + 64))
  return start + (braced ? braced[0].length - 1 : 1)
}

function classEnd(source: string, start: number): number {
  for (let at = start + 1; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1
    else if (source[at] === ']') return at
  }
  return source.length
}
