// Makes text from models and tools harmless for a terminal: control characters become visible escapes instead of moving
// the cursor, changing the title, writing the clipboard or reversing the reading direction. Everything that the CLI
// prints passes through here (output.ts).

/**
 * C0 and C1 controls, DEL, marks that change the direction of text, line separators, invisible characters that hide
 * text (tags, fillers, most variation selectors, the byte order mark), and halves of surrogate pairs.
 */
const unsafe = new RegExp(
  [
    String.raw`[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e]`,
    String.raw`[\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]`,
    String.raw`\p{Surrogate}`,
  ].join('|'),
  'gu',
)

const visible = (character: string): string => {
  const code = character.codePointAt(0) as number
  if (code === 0x0a) return '\\n'
  if (code === 0x0d) return '\\r'
  if (code === 0x09) return '\\t'
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, '0')}`
  return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
}

/** The text on one line. */
export const safeLine = (text: string): string => text.replace(unsafe, visible)

/** The text with its line breaks and tabs. A Windows line break becomes a plain one. */
export const safeBlock = (text: string): string =>
  text
    .replaceAll('\r\n', '\n')
    .replace(unsafe, (character) => (character === '\n' || character === '\t' ? character : visible(character)))

/** JSON.stringify escapes C0 only. The other characters can occur only inside strings, where an escape is equal. */
export const safeJson = (json: string): string =>
  json.replace(unsafe, (character) => {
    if (character === '\n') return character // between the lines of an indented document
    let escaped = ''
    for (let at = 0; at < character.length; at++)
      escaped += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`
    return escaped
  })

/** Columns that the (safe) text takes on a terminal. */
export function textWidth(text: string): number {
  let width = 0
  for (const character of text) width += widthOf(character)
  return width
}

const combining = /^(?:\p{Mn}|\p{Me}|\u200c|\u200d|\p{Variation_Selector})$/u
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]$/u
const widthOf = (character: string): number => {
  if (character < '\u0300') return 1
  if (combining.test(character)) return 0
  return wide.test(character) ? 2 : 1
}

/** The text in at most `width` columns, with an ellipsis if it was cut. */
export function cutToWidth(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  let cut = ''
  let used = 0
  for (const character of text) {
    used += widthOf(character)
    if (used > width - 1) break
    cut += character
  }
  return `${cut}…`
}
