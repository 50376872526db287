// Makes untrusted text safe to display: characters that are invisible, or that change how the rest is displayed, are
// shown as code points.

/**
 * Control, bidi, zero-width, tag, filler, private and unassigned characters, lone surrogates, and spaces other than
 * U+0020.
 */
const invisible = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu
/** Letters and marks of other scripts, which may be mistaken for Latin ones. */
const nonLatin = /(?!\p{Script=Latin})\p{L}|\p{M}/gu
const latin = /\p{Script=Latin}/u
const maxNamed = 8

export const showInvisible = (text: string): string => text.replaceAll(invisible, (each) => `<${codePointText(each)}>`)

/** A note that lists non-Latin letters in a Latin text; '' if there are none. */
export function lookalikeNote(text: string): string {
  if (!latin.test(text)) return ''
  const found = [...new Set(text.match(nonLatin))].map((each) => codePointText(each))
  if (found.length === 0) return ''
  return ` (not Latin: ${found.slice(0, maxNamed).join(' ')}${found.length > maxNamed ? ` and ${found.length - maxNamed} more` : ''})`
}

const codePointText = (each: string): string =>
  `U+${(each.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`
