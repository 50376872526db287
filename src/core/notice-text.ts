// WORDS: notices of the runtime, which a model reads: nobody's words, and marked so.

/** The mark with which every notice begins. */
export const noticeMark = (what: string): string => `[Runtime notice: this is not a message of the user. ${what}]`

/** What a reader does not see between two letters; white space is looked for by itself. */
const unseen = /[\p{Cf}\p{Default_Ignorable_Code_Point}]|(?!\s)\p{Cc}/gu

/** What a tool, or whoever wrote to it, said: it cannot begin another notice, however it is written. */
export function quotedInNotice(text: string): string {
  const plain = text.normalize('NFKC').replaceAll(unseen, '')
  if (!/\[\s*runtime\s*notice/i.test(plain)) return text
  return plain.replaceAll(/\[(?=\s*runtime\s*notice)/gi, '[Quoted: ')
}
