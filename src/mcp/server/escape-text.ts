// Makes text of a tool or a model safe to show in a form of the host: nothing is invisible, reorders the text or is
// taken for markup.

/** Controls, line separators, formatting, direction marks and invisible characters. */
const hidden = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|(?! )\p{Zs}/gu
/** Beginnings of HTML, of its character references, and of code and links of Markdown. */
const markup = /[<>`]|\](?=\()|&(?=#?\w{1,32};)/g

const escapeUnit = (text: string): string =>
  Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`).join('')

/** On one line. */
export const escapeLine = (text: string): string =>
  text
    .replaceAll('\n', String.raw`\n`)
    .replace(hidden, escapeUnit)
    .replace(markup, escapeUnit)

/** With its line breaks. */
export const escapeLines = (text: string): string => text.split('\n').map(escapeLine).join('\n')

/** Indented JSON that means the same value. */
export const escapeJson = (value: unknown): string => escapeLines(JSON.stringify(value, null, 2) ?? 'null')
