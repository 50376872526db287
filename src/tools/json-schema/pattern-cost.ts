// Estimates the cost of compiling a pattern before it is compiled: `(a{1,50}){1,20}` has few characters and a thousand
// states, and a schema can hold thousands of patterns.

/** For the compiler itself, whatever the pattern. */
const fixedCost = 60

/** An upper bound of the states: characters, multiplied by the bounded repetitions that they are in. */
export function patternCost(source: string): number {
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
      if (char === '\\') at += 1
      else if (char === '[') at = classEnd(source, at)
      top.total += 1
      top.last = 1
    }
  }
  return fixedCost + groups.reduce((sum, { total }) => sum + total, 0)
}

function classEnd(source: string, start: number): number {
  for (let at = start + 1; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1
    else if (source[at] === ']') return at
  }
  return source.length
}
