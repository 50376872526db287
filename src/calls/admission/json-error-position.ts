// Finds the first error in a JSON text. JSON.parse reports a position only for some texts and never says whether the
// text was merely cut off; a model needs both to fix it.

interface JsonError {
  /** Index of the first invalid character; the length of the text if it is only too short. */
  readonly at: number
  readonly atEnd: boolean
  readonly expected: string
}

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const partialNumber = /-?(?:0|[1-9]\d*)(?:\.\d*)?(?:(?<=\d)[eE][+-]?\d*)?$/y
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const partialEscape = /\\(?:u[0-9a-fA-F]{0,3})?$/y
const literals = ['true', 'false', 'null'] as const

/** Undefined if the text is valid JSON. */
export function findJsonError(text: string): JsonError | undefined {
  let at = 0
  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = at
    const found = pattern.test(text)
    if (found) at = pattern.lastIndex
    return found
  }
  const skipSpace = (): void => {
    for (
      let unit = text.charCodeAt(at);
      unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
      unit = text.charCodeAt(at)
    )
      at += 1
  }
  const stop = (expected: string): JsonError => ({ at, atEnd: at >= text.length, expected })

  const string = (what: string): JsonError | undefined => {
    if (text[at] !== '"') return stop(what)
    at += 1
    // Skip to the closing quote or to the first character that a string may not contain.
    for (let unit = text.charCodeAt(at); unit !== 0x22 && unit >= 0x20; unit = text.charCodeAt(at)) {
      if (unit !== 0x5c) at += 1
      else if (!skip(escape)) break
    }
    if (text[at] === '"') return void (at += 1)
    partialEscape.lastIndex = at
    if (partialEscape.test(text)) at = text.length
    return stop(
      text[at] === '\\'
        ? 'a valid escape'
        : at < text.length
          ? 'no raw control character in a string (write \\n for a line break)'
          : 'the end of a string',
    )
  }

  const scalar = (): JsonError | undefined => {
    if (text[at] === '"') return string('a string')
    const begin = at
    if (skip(number)) {
      // `12.` at the very end is cut off; `12.x` breaks at the dot.
      if (!/[.eE]/.test(text[at] ?? '')) return undefined
      partialNumber.lastIndex = begin
      if (!partialNumber.test(text)) return undefined
      at = text.length
    } else if (text[at] === '-' && at + 1 === text.length) at = text.length
    else {
      for (const literal of literals) {
        if (text.startsWith(literal, at)) return void (at += literal.length)
        if (at < text.length && literal.startsWith(text.slice(at, at + 6))) at = text.length
      }
    }
    return stop('a value')
  }

  const closers: ('}' | ']')[] = []
  for (;;) {
    skipSpace()
    const opened = text[at] === '{' ? '}' : text[at] === '[' ? ']' : undefined
    if (opened) {
      at += 1
      closers.push(opened)
      skipSpace()
      if (text[at] !== opened) {
        const wrong = opened === '}' ? member(`a property name in double quotes or '}'`) : undefined
        if (wrong) return wrong
        continue
      }
    } else {
      const wrong = scalar()
      if (wrong) return wrong
    }
    // After a value: closing brackets, then a comma.
    for (skipSpace(); closers.length > 0 && text[at] === closers.at(-1); skipSpace()) {
      closers.pop()
      at += 1
    }
    const open = closers.at(-1)
    if (open === undefined) return at < text.length ? stop('nothing after the value') : undefined
    if (text[at] !== ',') return stop(`',' or '${open}'`)
    at += 1
    skipSpace()
    const wrong = open === '}' ? member('a property name in double quotes') : undefined
    if (wrong) return wrong
  }

  function member(what: string): JsonError | undefined {
    const wrong = string(what)
    if (wrong) return wrong
    skipSpace()
    if (text[at] !== ':') return stop("':' after the property name")
    at += 1
    return undefined
  }
}
