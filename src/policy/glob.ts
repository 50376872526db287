// Names with `*` in policy rules. Used by the rules, and by the console to show the rules of a tool.

export type Glob = (text: string) => boolean

/** Finds the pieces between the stars from left to right: no backtracking, so no input makes it slow. */
export function glob(pattern: string): Glob {
  const pieces = pattern.split('*')
  const first = pieces[0] as string
  const last = pieces.at(-1) as string
  const middle = pieces.slice(1, -1)
  return (text) => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
    const end = text.length - last.length
    let at = first.length
    for (const piece of middle) {
      const found = text.indexOf(piece, at)
      if (found === -1 || found + piece.length > end) return false
      at = found + piece.length
    }
    return true
  }
}
