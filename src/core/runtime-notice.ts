// Runtime notices that a model reads. Each starts with a header that says that the user did not write it.

export const noticeHeader = (what: string): string => `[Runtime notice: this is not a message of the user. ${what}]`

/** Header of the result of a call that had a placeholder. */
export const endedCallHeader = (callId: string, name: string): string =>
  noticeHeader(`The call ${JSON.stringify(callId)} of '${name}' that was waiting has ended.`)

/** Characters that a reader does not see. White space is matched separately. */
const invisibleCharacters = /[\p{Cf}\p{Default_Ignorable_Code_Point}]|(?!\s)\p{Cc}/gu

/** Quotes text of a tool or of other people inside a notice, so that it cannot imitate the header of a notice. */
export function escapeNoticePrefix(text: string): string {
  const plain = text.normalize('NFKC').replaceAll(invisibleCharacters, '')
  if (!/\[\s*runtime\s*notice/i.test(plain)) return text
  return plain.replaceAll(/\[(?=\s*runtime\s*notice)/gi, '[Quoted: ')
}
