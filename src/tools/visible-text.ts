// Text of a stranger, for people to read: what would not be seen, or would change how the rest is seen, is shown by its number.

/** Controls, bidi and zero-width characters, tags, fillers, private and unassigned ones, lone halves; spaces that are not the space. */
const unseen = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu
/** Letters and marks of other scripts; among Latin ones they may be taken for them. */
const foreign = /(?!\p{Script=Latin})\p{L}|\p{M}/gu
const latin = /\p{Script=Latin}/u
const mostNamed = 8

export const visible = (text: string): string => text.replaceAll(unseen, (each) => `<${numberOf(each)}>`)

/** The characters that look like Latin ones and may not be, as a note; '' if the text is all of one kind. */
export function lookalikes(text: string): string {
  if (!latin.test(text)) return ''
  const found = [...new Set(text.match(foreign))].map((each) => numberOf(each))
  if (found.length === 0) return ''
  return ` (not Latin: ${found.slice(0, mostNamed).join(' ')}${found.length > mostNamed ? ` and ${found.length - mostNamed} more` : ''})`
}

const numberOf = (each: string): string =>
  `U+${(each.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`
